"""Why minigrad lacks a name of PyTorch, and what to use instead: one reason for each, by patterns of names.

``docs/from-pytorch.md`` shows them as a table, and ``python -m minigrad.run --check`` prints them. A test holds that each public
name of PyTorch is there or has a reason here.
"""

import re
from functools import cache

__all__ = ["REASONS", "reason"]

ANY = ".*"
ROOT, TENSOR = r"torch", r"torch|torch\.Tensor"

# (module of PyTorch, names), two regular expressions -> the reason. The first line that fits counts.
REASONS = {
    (ROOT, r".*Type|Script.*|LiteScript.*|ConcreteModule.*|.*ScriptModule.*|AliasDb|Argument.*|Benchmark.*|Block|BufferDict|"
           r"CallStack|Capsule|Code|CompilationUnit|CompleteArgumentSpec|DeepCopyMemoTable|ErrorReport|ExecutionPlan|"
           r"FatalError|FileCheck|FunctionSchema|Gradient|Graph.*|IODescriptor|JITException|.*Logger|ModuleDict|Node|OperatorInfo|"
           r"ParameterDict|PyTorchFile.*|(Des|S)erializationStorageContext|StaticModule|Throughput.*|TracingState|Type|Use|Value|AVG|SUM|Tag|"
           r"import_ir.*|merge_type.*|parse_.*|unify_type_list|fork|wait|export|cond|Future|init_num_threads|thread_safe_generator"):
        "part of PyTorch's compiler. minigrad runs Python as it is: `jit.script` and `compile` return the function itself",
    (ROOT, r"Sym.*|sym_.*|Dispatch.*|DisableTorchFunction.*|ExcludeDispatch.*|AcceleratorError|has_.*|cpp|get_device_module|"
           r"is_vulkan_available"):
        "part of PyTorch's dispatcher and of its builds. minigrad has `utils._python_dispatch`",
    (ANY, r".*quant.*|q_.*|q(u?)int.*|qscheme|qat|fake_.*|fbgemm.*|int_repr|intrinsic|fused_moving.*|choose_qparams.*"):
        "quantized numbers: `ao.quantization` and `fake_quantize_per_tensor_affine` simulate them with float32",
    (ANY, r"cudnn_.*|miopen_.*|mkldnn_.*|native_.*|batch_norm_.*|.*_with_indices|boolean_dispatch|convolution|conv_tbc|"
          r"grid_sampler.*|affine_grid_generator|norm_except_dim|to_mkldnn|(scaled_)?grouped_mm|scaled_mm|constant_pad_nd"):
        "the function of one backend, behind a public one: use the function of `nn.functional`",
    (ANY, r".*sparse.*|.*_indices(_copy)?|indices|values|values_copy|indices_copy|h?spmm|hsmm|smm|d?smm|sspaddmm|saddmm|coalesce|"
          r"is_coalesced|dense_dim"):
        "a layout of sparse tensors: `sparse_coo_tensor` and `to_sparse` are there, and make dense tensors",
    (ROOT, r".*autocast.*"):
        "older names of `amp.autocast` for single devices: use `amp.autocast`",
    (ROOT, r"(bit|float\d|u?int[1-7]$|uint(16|32|64)$|complex32|quint).*"):
        "a dtype that NumPy lacks or PyTorch hardly uses: int64, uint8 or float16 do",
    (ROOT, r".*_copy"):
        "a copy of a view: call clone() on the view, such as `x.t().clone()` for `t_copy(x)`",
    (ROOT, r"(lstm|gru|rnn_\w+)(_cell)?"):
        "use `nn.LSTM`, `nn.GRU`, `nn.RNN` and their cells",
    (TENSOR, r"i?stft|kaiser_window"):
        "transforms of short windows are not there yet: `fft.rfft` of `x.unfold(-1, n, step) * hann_window(n)`",
    (ROOT, r".*_loss|kl_div|binary_cross_entropy_with_logits|embedding_bag|rrelu_?|feature_.*dropout_?|embedding_renorm_|"
           r"adaptive_max_pool1d"):
        "use the function of this name in `nn.functional`, if it is there",
    (ROOT, r".*Storage"):
        "a typed storage, deprecated in PyTorch: use `x.untyped_storage()` or `x.numpy()`",
    (TENSOR, r"geqrf|orgqr|ormqr|eig|symeig|lstsq|solve|triangular_solve|lobpcg|lu(_solve)?|nuclear_norm|frobenius_norm"):
        "an older name: use `linalg` (`linalg.qr`, `linalg.eigh`, `linalg.lstsq`, `linalg.solve_triangular`, `linalg.matrix_norm`)",
    (TENSOR, r"is_(distributed|ipu|maia|mtia|xla|mps|vulkan|xpu|quantized|nested|mkldnn|sparse_csr)|ipu|mtia|xpu|"
             r"to_padded_tensor"):
        "a kind of device or of memory that minigrad does not have",
    (TENSOR, r"(\w+)_"):
        "the form in place is not there: write `x.copy_(...)`",
    (TENSOR, ANY):
        "rarely used, and not there yet",
    (r"torch\.nn(\.functional)?", r".*[Ff]ractional.*|.*CrossEntropy(Loss|Options)|linear_cross_entropy|CrossMapLRN2d|"
                                  r".*[Rr]relu_?|RReLU|EmbeddingBag|embedding_bag|.*[Mm]ulti.?[Ll]abel.?[Mm]argin.*|Adaptive.*|"
                                  r"TripletMarginWith.*|triplet_margin_with.*|Softmax2d|SyncBatchNorm|NLLLoss2d|Container"):
        "a layer that few programs use, and not there yet",
    (r"torch\.nn", r"factory_kwargs|attention|grad|quantizable|common_types"): "helpers of PyTorch's own layers",
    (r"torch\.nn\.functional", ANY): "a helper of PyTorch's own functions",
    (r"torch\.nn\.utils", ANY): "for memory formats, which minigrad does not have",
    (r"torch\.optim(\.lr_scheduler)?", ANY): "an optimiser or schedule that is not there yet",
    (r"torch\.autograd(\.\w+)?", ANY): "for the compiled autograd of PyTorch, or deprecated there",
    (r"torch\.func", ANY): "works on PyTorch's compiled graphs: minigrad has none",
    (r"torch\.utils\.data", ANY): "a data pipe, deprecated in PyTorch: use `Dataset`, `IterableDataset` and `DataLoader`",
    (r"torch\.utils\.checkpoint", ANY): "for several devices: the random numbers of the CPU are kept with `preserve_rng_state`",
    (r"torch\.linalg", ANY): "a factorization that few programs use: `linalg.solve`, `linalg.lu_factor` and `linalg.qr` are there",
    (r"torch\.special", ANY): "a function without a derivative in PyTorch, or rarely used; SciPy has it for `x.numpy()`",
    (r"torch\.library", ANY): "registers kernels with PyTorch's dispatcher: use `library.custom_op`",
}


@cache
def reason(module, name):
    """The reason for which minigrad lacks a name of a module of PyTorch."""
    for (of_module, of_name), why in REASONS.items():
        if re.fullmatch(of_module, module) and re.fullmatch(of_name, name):
            return why
    return "not there yet"
