"""Instructions of a GPU that numba has no name for: those of the tensor cores, and copies that nobody waits for.

    copy_later(room, at, x, i, n)           room[at : at + 8] = x[i : i + 8], of which only n bytes are read, the rest being zeros
    commit(), waiting(n)()                  the copies until now are a group; wait until at most the last n groups are under way
    load_blocks(room, at)                   a 16 x 16 block of halves, as its rows lie in shared memory: four registers
    load_blocks_transposed(room, at)        the same, as its columns do
    multiply_add(a, b, c)                   c + a b, for a of 16 x 16 halves, b of 16 x 8, and c of 16 x 8 float32

The last three are done by the 32 threads of a warp together: see Note [Fragments] in tensor_cores.py. An `intrinsic` writes the
code where a kernel calls it, here one instruction of PTX, the language that NVIDIA's compiler translates for each GPU; its manual,
"Parallel Thread Execution ISA", sections 9.7.9.25 and 9.7.14, says what each does. The simulator has neither warps nor
PTX: tests/cuda/warps.py does there, slowly, what the manual says.
"""

from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["commit", "copy_later", "load_blocks", "load_blocks_transposed", "multiply_add", "waiting"]

if SIMULATED:
    commit = copy_later = load_blocks = load_blocks_transposed = multiply_add = waiting = None
else:
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    WORD, LONG, FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
    SHARED = 3      # LLVM's number of that kind of memory

    def written(builder, result, code, constraints, args, moves=True):
        """The call of an instruction; one that `moves` numbers in memory keeps its place among the others."""
        form = ir.FunctionType(result, [arg.type for arg in args])
        constraints = ",".join([*constraints, *["~{memory}"] * moves])
        return builder.call(ir.InlineAsm(form, code, constraints, side_effect=moves), args)

    def address(context, builder, kind, x, i):
        return builder.gep(context.make_array(kind)(context, builder, x).data, [i])

    def in_shared(context, builder, kind, x, i):
        """The 32 bits that say where in shared memory x[i] lies."""
        found = address(context, builder, kind, x, i)
        return builder.ptrtoint(builder.addrspacecast(found, ir.PointerType(found.type.pointee, SHARED)), WORD)

    @intrinsic
    def copy_later(typing, room, at, x, i, n):
        def build(context, builder, signature, args):
            room, at, x, i, n = args
            to = in_shared(context, builder, signature.args[0], room, at)
            source = builder.ptrtoint(address(context, builder, signature.args[2], x, i), LONG)
            written(builder, ir.VoidType(), "cp.async.cg.shared.global [$0], [$1], 16, $2;", "rlr", [to, source, n])
            return context.get_dummy_value()
        return types.void(room, types.int64, x, types.int64, types.int32), build

    @intrinsic
    def commit(typing):
        def build(context, builder, signature, args):
            written(builder, ir.VoidType(), "cp.async.commit_group;", "", [])
            return context.get_dummy_value()
        return types.void(), build

    def waiting(n):
        @intrinsic
        def wait(typing):
            def build(context, builder, signature, args):
                written(builder, ir.VoidType(), f"cp.async.wait_group {n};", "", [])
                return context.get_dummy_value()
            return types.void(), build
        return wait

    def loading(how):
        @intrinsic
        def load(typing, room, at):
            def build(context, builder, signature, args):
                found = written(builder, ir.LiteralStructType([WORD] * 4),
                                f"ldmatrix.sync.aligned.m8n8.x4{how}.shared.b16 {{$0, $1, $2, $3}}, [$4];", ["=r"] * 4 + ["r"],
                                [in_shared(context, builder, signature.args[0], *args)])
                return context.make_tuple(builder, signature.return_type, [builder.extract_value(found, i) for i in range(4)])
            return types.UniTuple(types.int32, 4)(room, types.int64), build
        return load

    load_blocks, load_blocks_transposed = loading(""), loading(".trans")

    @intrinsic
    def multiply_add(typing, a0, a1, a2, a3, b0, b1, c0, c1, c2, c3):
        def build(context, builder, signature, args):
            found = written(builder, ir.LiteralStructType([FLOAT] * 4), "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                            "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};",
                            ["=f"] * 4 + ["r"] * 6 + list("0123"), args, moves=False)
            return context.make_tuple(builder, signature.return_type, [builder.extract_value(found, i) for i in range(4)])
        return types.UniTuple(types.float32, 4)(*[types.int32] * 6, *[types.float32] * 4), build
