"""Instructions of a GPU that numba does not offer: those of the tensor cores, and asynchronous copies.

    copy_later(room, at, x, i, n)           room[at : at + 8] = x[i : i + 8]; reads n bytes of x, and fills the rest with zeros
    commit(), make_wait(n)()                end a group of copies; wait until at most the last n groups are under way
    load_blocks(room, at)                   load a 16 x 16 block of halves by the rows of shared memory: four registers
    load_blocks_transposed(room, at)        the same, by its columns
    multiply_add(a, b, c)                   c + a b, for a of 16 x 16 halves, b of 16 x 8, and c of 16 x 8 float32

The 32 threads of a warp execute the last three together: see Note [Fragments] in tensor_cores.py. An `intrinsic` emits code where a
kernel calls it. Here that is one instruction of PTX, the language that NVIDIA's compiler translates for each GPU. Its manual,
"Parallel Thread Execution ISA", describes each instruction in sections 9.7.9.25 and 9.7.14. The simulator has no warps and no PTX:
there tests/cuda/warps.py does, slowly, what the manual says.
"""

from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["commit", "copy_later", "load_blocks", "load_blocks_transposed", "make_wait", "multiply_add"]

if SIMULATED:
    commit = copy_later = load_blocks = load_blocks_transposed = multiply_add = make_wait = None
else:
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    WORD, LONG, FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
    SHARED = 3      # LLVM's number for shared memory

    def emit(builder, result, code, constraints, args, moves=True):
        """Emit an instruction. One that `moves` numbers in memory keeps its place among the other instructions."""
        form = ir.FunctionType(result, [arg.type for arg in args])
        constraints = ",".join([*constraints, *["~{memory}"] * moves])
        return builder.call(ir.InlineAsm(form, code, constraints, side_effect=moves), args)

    def address(context, builder, kind, x, i):
        return builder.gep(context.make_array(kind)(context, builder, x).data, [i])

    def shared_address(context, builder, kind, x, i):
        """The 32-bit address of x[i] in shared memory."""
        found = address(context, builder, kind, x, i)
        return builder.ptrtoint(builder.addrspacecast(found, ir.PointerType(found.type.pointee, SHARED)), WORD)

    @intrinsic
    def copy_later(typing, room, at, x, i, n):
        def build(context, builder, signature, args):
            room, at, x, i, n = args
            to = shared_address(context, builder, signature.args[0], room, at)
            source = builder.ptrtoint(address(context, builder, signature.args[2], x, i), LONG)
            emit(builder, ir.VoidType(), "cp.async.cg.shared.global [$0], [$1], 16, $2;", "rlr", [to, source, n])
            return context.get_dummy_value()
        return types.void(room, types.int64, x, types.int64, types.int32), build

    @intrinsic
    def commit(typing):
        def build(context, builder, signature, args):
            emit(builder, ir.VoidType(), "cp.async.commit_group;", "", [])
            return context.get_dummy_value()
        return types.void(), build

    def make_wait(n):
        @intrinsic
        def wait(typing):
            def build(context, builder, signature, args):
                emit(builder, ir.VoidType(), f"cp.async.wait_group {n};", "", [])
                return context.get_dummy_value()
            return types.void(), build
        return wait

    def make_load(how):
        @intrinsic
        def load(typing, room, at):
            def build(context, builder, signature, args):
                found = emit(builder, ir.LiteralStructType([WORD] * 4),
                             f"ldmatrix.sync.aligned.m8n8.x4{how}.shared.b16 {{$0, $1, $2, $3}}, [$4];", ["=r"] * 4 + ["r"],
                             [shared_address(context, builder, signature.args[0], *args)])
                return context.make_tuple(builder, signature.return_type, [builder.extract_value(found, i) for i in range(4)])
            return types.UniTuple(types.int32, 4)(room, types.int64), build
        return load

    load_blocks, load_blocks_transposed = make_load(""), make_load(".trans")

    @intrinsic
    def multiply_add(typing, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        def build(context, builder, signature, args):
            found = emit(builder, ir.LiteralStructType([FLOAT] * 4), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};",
                         ["=f"] * 4 + ["r"] * 6 + list("0123"), args, moves=False)
            return context.make_tuple(builder, signature.return_type, [builder.extract_value(found, i) for i in range(4)])
        return types.UniTuple(types.float32, 4)(*[types.int32] * 6, *[types.float32] * 4), build
