"""Packs: neighbouring numbers that are read and written together, 16 bytes by one instruction.

    load, store = pack(4)
    a = load(x, at)             four numbers, x[at] ... x[at + 3]         LDG.E.128 for float32
    store(z, at, a)             the other direction                     STG.E.128

A thread that reads one float32 at a time has 4 bytes under way for each instruction. A GPU needs about 16 KB under way on each
multiprocessor, or its memory waits (3 TB/s times 0.7 us). With packs a quarter of the instructions and threads is enough.

Note [Packs are made by the compiler's builder]
    Numba has no type for four numbers together. For x[at], x[at + 1], ... its compiler emits four reads: it cannot know that the
    address is a multiple of 16, and if it is not, the GPU stops with an error. So the functions here are *intrinsics*, which emit
    LLVM's instruction themselves: a load of ``<4 x float>``, with the alignment that the caller promises. In the simulator they are
    the two lines of Python below, which also say what the intrinsics do.

The caller ensures that the address of x[at] is a multiple of the bytes of the pack. For a pack of more than 16 bytes, which takes
several instructions, a multiple of 16 is enough. `aligned` tests this for the first element of an array.

`quotient(i, n)` is an intrinsic too: i // n for numbers below 2^32. Numba divides 64 bits, which takes a GPU about 70 instructions;
32 bits take about 15.

Mirrors ``aten/src/ATen/native/cuda/MemoryAccess.cuh`` (aligned_vector). Read next: ``expressions.py``.
"""

from functools import cache

from minigrad.kernels.cuda.runtime.streams import SIMULATED

__all__ = ["aligned", "load", "pack", "quotient", "store"]

BYTES = 16      # the most that one instruction moves


def aligned(x, n, start=None):
    """Whether packs of n numbers can begin at the first element of a CudaArray, or at element `start` of its block."""
    address = x.address if start is None else x.block.address + start * x.itemsize
    return address % min(n * x.itemsize, BYTES) == 0


if SIMULATED:
    def load(x, at):
        """Read the 16 bytes at element `at` of a 1-d array, as a tuple of numbers."""
        return tuple([x[at + k] for k in range(BYTES // x.dtype.itemsize)])

    def store(z, at, values):
        """Write a tuple of numbers of 16 bytes in all, at element `at` of a 1-d array."""
        for k, value in enumerate(values):
            z[at + k] = value

    def quotient(i, n):
        """i // n, for numbers from 0 to 2^32 - 1."""
        return i // n

    @cache
    def pack(n):
        """(load, store) for n numbers, a power of 2: load(x, at) is a tuple, store(z, at, values) takes any tuple."""
        return lambda x, at: tuple([x[at + k] for k in range(n)]), store
else:
    from llvmlite import ir
    from numba.cuda import cgutils, types
    from numba.cuda.extending import intrinsic

    def parts_of(context, dtype):
        """The parts of a number in memory: (LLVM's type, bytes, how many parts); a complex number has two parts."""
        if isinstance(dtype, types.Complex):
            return context.get_data_type(dtype.underlying_float), dtype.bitwidth // 16, 2
        kind = context.get_data_type(dtype)
        return kind, context.get_abi_sizeof(kind), 1

    def moves(n, size):
        """(numbers per instruction, instructions) for n numbers of `size` bytes."""
        each = min(n, BYTES // size)
        return each, n // each

    def pointer_at(context, builder, array_type, x, at, kind, width):
        """A pointer to LLVM's type `kind` at element `at`, which has `width` parts."""
        data = context.make_array(array_type)(context, builder, value=x).data
        return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())

    def as_words(kind, size, each):
        """LLVM's type for `each` numbers that move together: a vector of them; if they have less than 4 bytes, 32-bit words."""
        total = size * each
        if size >= 4:
            return ir.VectorType(kind, each)
        return ir.VectorType(ir.IntType(32), total // 4) if total > 4 else ir.IntType(8 * total)

    @cache
    def pack(n):
        """(load, store) for n numbers, a power of 2: load(x, at) is a tuple, store(z, at, values) takes any tuple."""
        @intrinsic
        def load(typing, x, at):
            return types.UniTuple(x.dtype, n)(x, types.int64), lambda *args: load_code(n, x, *args)

        @intrinsic
        def store(typing, z, at, values):
            return types.void(z, types.int64, types.UniTuple(z.dtype, n)), lambda *args: store_code(n, z, *args)
        return load, store

    def load_code(n, array_type, context, builder, signature, args):
        """Emit instructions that read n numbers; return LLVM's value of the tuple."""
        dtype = array_type.dtype
        kind, size, width = parts_of(context, dtype)
        each, times = moves(n * width, size)
        moved = as_words(kind, size, each)
        start = pointer_at(context, builder, array_type, *args, moved, width)
        parts = []
        for k in range(times):
            found = builder.load(builder.gep(start, [ir.Constant(ir.IntType(32), k)]), align=size * each)
            found = builder.bitcast(found, ir.VectorType(kind, each))
            parts += [builder.extract_element(found, ir.Constant(ir.IntType(32), i)) for i in range(each)]
        if width == 2:
            values = []
            for k in range(n):
                number = context.make_complex(builder, dtype)
                number.real, number.imag = parts[2 * k:2 * k + 2]
                values.append(number._getvalue())
        else:
            values = [context.data_model_manager[dtype].from_data(builder, part) for part in parts]
        return context.make_tuple(builder, signature.return_type, values)

    def store_code(n, array_type, context, builder, signature, args):
        """Emit instructions that write n numbers."""
        z, at, values = args
        dtype = array_type.dtype
        kind, size, width = parts_of(context, dtype)
        each, times = moves(n * width, size)
        moved = as_words(kind, size, each)
        start = pointer_at(context, builder, array_type, z, at, moved, width)
        parts = []
        for value in cgutils.unpack_tuple(builder, values, n):
            if width == 2:
                number = context.make_complex(builder, dtype, value=value)
                parts += [number.real, number.imag]
            else:
                parts.append(context.data_model_manager[dtype].as_data(builder, value))
        for k in range(times):
            whole = ir.Constant(ir.VectorType(kind, each), ir.Undefined)
            for i in range(each):
                whole = builder.insert_element(whole, parts[k * each + i], ir.Constant(ir.IntType(32), i))
            builder.store(builder.bitcast(whole, moved), builder.gep(start, [ir.Constant(ir.IntType(32), k)]), align=size * each)
        return context.get_dummy_value()

    def full(array_type):
        """The number of elements of an array in 16 bytes."""
        dtype = array_type.dtype
        return BYTES if dtype is types.boolean else BYTES * 8 // dtype.bitwidth

    @intrinsic
    def load(typing, x, at):
        """Read the 16 bytes at element `at` of a 1-d array, as a tuple of numbers."""
        n = full(x)
        return types.UniTuple(x.dtype, n)(x, types.int64), lambda *args: load_code(n, x, *args)

    @intrinsic
    def store(typing, z, at, values):
        """Write a tuple of numbers of 16 bytes in all, at element `at` of a 1-d array."""
        n = full(z)
        return types.void(z, types.int64, types.UniTuple(z.dtype, n)), lambda *args: store_code(n, z, *args)

    @intrinsic
    def quotient(typing, i, n):
        """i // n, for numbers from 0 to 2^32 - 1."""
        def code(context, builder, signature, args):
            i, n = [builder.trunc(arg, ir.IntType(32)) for arg in args]
            return builder.zext(builder.udiv(i, n), ir.IntType(64))
        return types.int64(types.int64, types.int64), code
