"""einsum: a sum of products, written with a letter for each dimension.

    einsum("ij,jk->ik", x, y)       z[i, k] = Σ over j of x[i, j] y[j, k]

It calls permute, reshape and bmm, and autograd differentiates those. It contracts two operands at a time, from the left:

    letters of x and y are     batch    in both, and needed later       (b)
                               summed   in both, and not needed         (s)
                               own      in one of them                  (m, n)

    x  ->  [b, m, s]        y  ->  [b, s, n]        bmm  ->  [b, m, n]      and back to one dimension per letter

Mirrors ``aten/src/ATen/native/Linear.cpp`` (einsum, sumproduct_pair).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from minigrad._core.graph.tensor import TensorBase
from minigrad.errors import ArgumentError, TensorTypeError, TensorValueError
from minigrad.ops.base.arguments import tensor_argument
from minigrad.ops.base.autocast import cast_operands
from minigrad.ops.elementwise.arithmetic import mul
from minigrad.ops.linalg.matrix import bmm, check_same_dtype
from minigrad.ops.reduce.reduction import sum as total
from minigrad.ops.shape.strided import diagonal
from minigrad.ops.shape.views import permute, reshape, squeeze, unsqueeze

if TYPE_CHECKING:
    from typing import Any

    from minigrad.types import Tensor

__all__ = ["einsum"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(equation: str | Tensor, *operands: Any) -> Tensor:
    """The sum of products that `equation` describes. Mirrors ``torch.einsum``.

    Args:
        equation (str): a letter for each dimension of each operand, with a comma between operands; ``...`` stands for any
            number of dimensions. After ``->`` come the letters of the result; the other letters are summed over. Without
            ``->`` the result has the letters that occur once, in alphabetical order.
        operands (Tensor): one for each part of the equation, or one sequence of them.

    The other form is ``einsum(x, [0, 1], y, [1, 2], [0, 2])``: numbers from 0 to 51 instead of letters, and `Ellipsis`.

    Raises:
        RuntimeError: the equation does not fit the operands, or their dtypes differ.
        ValueError: there is no operand, or a number is outside [0, 52).

    >>> x = mg.tensor([[1., 2.], [3., 4.]])
    >>> mg.einsum("ij,j->i", x, mg.tensor([1., 10.])), mg.einsum("ii", x)
    (tensor([21., 43.]), tensor(5.))
    """
    if isinstance(equation, TensorBase):
        equation, operands = spell_equation(equation, *operands)
    elif not isinstance(equation, str):
        raise TensorTypeError("MG-E201", f"einsum(): the first argument must be an equation or a Tensor, not "
                              f"{type(equation).__name__}")
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    if not operands:
        raise TensorValueError("MG-E320", "einsum(): must provide at least one operand")
    for i, x in enumerate(operands):
        tensor_argument("einsum", x, "operands", i + 2)
    parts, result = read_equation(equation, tuple([x.ndim for x in operands]))
    found = [take_diagonals(x, part, i, equation) for i, (x, part) in enumerate(zip(operands, parts))]
    return contract(found, result, equation)


@lru_cache
def read_equation(equation, dims):
    """Return (the letters of each operand, the letters of the result), each a list; `dims` are the operands' numbers of dimensions.

    Numbers in a list are dimensions of an ellipsis. Cached: reading takes as long as the product of two small matrices.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(dims):
        more = "more" if len(dims) > len(parts) else "fewer"
        raise einsum_error(f"{more} operands were provided than specified in the equation", equation)
    parts = [letters_of(part, equation) for part in parts]
    around = max([n - len(part) + 1 for part, n in zip(parts, dims) if ... in part], default=0)
    parts = [expand_ellipsis(part, n, i, around, equation) for i, (part, n) in enumerate(zip(parts, dims))]
    seen = [letter for part in parts for letter in dict.fromkeys(part)]
    flat = [letter for part in parts for letter in part]
    if arrow:
        result = []
        for letter in letters_of(right, equation):
            result += list(range(around)) if letter is ... else [letter]
        check_result(result, seen, equation)
    else:
        result = [*range(around), *sorted([x for x in set(flat) if isinstance(x, str) and flat.count(x) == 1])]
    return parts, result


def einsum_error(what, equation, **more):
    """Return the error for a wrong equation."""
    return ArgumentError("MG-E320", f"einsum(): {what}", found=f"equation {equation!r}", **more)


def spell_equation(*arguments):
    """Return (equation, operands) for arguments in the other form, ``(x, [0, 1], y, [1, 2], [0])``."""
    *pairs, last = arguments if len(arguments) % 2 else (*arguments, None)
    operands = pairs[::2] if last is not None else arguments[::2]
    lists = pairs[1::2] if last is not None else list(arguments[1::2])
    equation = ",".join([letters_for(numbers) for numbers in lists])
    return equation if last is None else f"{equation}->{letters_for(last)}", tuple(operands)


def letters_for(numbers):
    """Return the letters for a list of numbers, as a string."""
    if not isinstance(numbers, (tuple, list)):
        raise TensorTypeError("MG-E201", f"einsum(): subscripts must be a list of int and Ellipsis, not {type(numbers).__name__}")
    found = ""
    for number in numbers:
        if number is not ... and not (isinstance(number, int) and 0 <= number < len(LETTERS)):
            raise TensorValueError("MG-E320", f"einsum(): subscript in subscript list is not within the valid range [0, 52): "
                                   f"{number}")
        found += "..." if number is ... else LETTERS[number]
    return found


def letters_of(part, equation):
    """Return the letters of one operand as a list, with `...` for an ellipsis."""
    found = []
    while part:
        if part.startswith("..."):
            if ... in found:
                raise einsum_error("found '.' for which an ellipsis was already found", equation)
            found.append(...)
            part = part[3:]
        elif part[0] in LETTERS:
            found.append(part[0])
            part = part[1:]
        else:
            raise einsum_error(f"invalid subscript given: {part[0]!r}; subscripts must be in [a-zA-Z]", equation)
    return found


def expand_ellipsis(part, dims, i, around, equation):
    """Return the letters, with the ellipsis replaced by numbers: one for each dimension it stands for, aligned at the right."""
    if ... not in part:
        if len(part) != dims:
            raise einsum_error(f"the number of subscripts in the equation ({len(part)}) does not match the number of dimensions "
                               f"({dims}) for operand {i} and no ellipsis was given", equation)
        return part
    at = part.index(...)
    covered = dims - len(part) + 1
    if covered < 0:
        raise einsum_error(f"the number of subscripts in the equation ({len(part) - 1}) is more than the number of dimensions "
                           f"({dims}) for operand {i}", equation)
    return [*part[:at], *range(around - covered, around), *part[at + 1:]]


def check_result(result, seen, equation):
    """Raise unless every letter of the result is in an operand, and is once in the result."""
    for letter in result:
        if result.count(letter) > 1:
            raise einsum_error(f"output subscript {letter} appears more than once in the output", equation)
        if isinstance(letter, str) and letter not in seen:
            raise einsum_error(f"output subscript {letter} does not appear in the equation for any input operand", equation)


def take_diagonals(x, part, i, equation):
    """Return (x with one dimension for each letter, its letters). Where a letter is repeated, we take the diagonal."""
    part = list(part)
    for letter in dict.fromkeys(part):
        while part.count(letter) > 1:
            a = part.index(letter)
            b = part.index(letter, a + 1)
            if x.shape[a] != x.shape[b]:
                raise einsum_error(f"subscript {letter} is repeated for operand {i} but the sizes don't match, {x.shape[b]} != "
                              f"{x.shape[a]}", equation)
            x = diagonal(x, 0, a, b)
            part = [*part[:a], *part[a + 1:b], *part[b + 1:], letter]
    order = list(dict.fromkeys(part))
    return x, order


def contract(operands, result, equation):
    """Multiply the operands, two at a time, and sum; the dimensions of the output are the letters of `result`."""
    sizes = {}
    for x, order in operands:
        for letter, n in zip(order, x.shape):
            if sizes.setdefault(letter, n) == 1:
                sizes[letter] = n
            elif n not in (1, sizes[letter]):
                raise einsum_error(f"operands do not broadcast with remapped shapes: subscript {letter} has sizes "
                              f"{sizes[letter]} and {n}",
                              equation)
    x, order = operands[0]
    for at in range(1, len(operands)):
        y, other = operands[at]
        x, order = contract_pair(x, order, y, other, dict.fromkeys([*result, *[a for _, o in operands[at + 1:] for a in o]]))
    alone = tuple([d for d, letter in enumerate(order) if letter not in result])
    if alone:
        x = total(x, alone)
        order = [letter for letter in order if letter in result]
    for letter in result:               # an ellipsis that stands for no dimension in any operand
        if letter not in order:
            x, order = unsqueeze(x, 0), [letter, *order]
    if order != result or x is operands[0][0]:       # never the operand itself: as in PyTorch, a view of it
        x = permute(x, tuple([order.index(letter) for letter in result]))
    return x


def contract_pair(x, order, y, other, later):
    """Return (Σ x y over the letters that are not needed later, its letters), computed by one `bmm`, or by `mul` without a sum."""
    x, order = sum_out(x, order, [a for a in order if a not in later and (a not in other or y.shape[other.index(a)] == 1)])
    y, other = sum_out(y, other, [a for a in other if a not in later and (a not in order)])
    # A letter with size 1 in one operand is dropped there, and so becomes a letter of the other operand alone.
    thin = [a for a in order if a in other and x.shape[order.index(a)] == 1 != y.shape[other.index(a)]]
    x, order = drop_dims(x, order, thin)
    y, other = sum_out(y, other, [a for a in thin if a not in later])
    y, other = drop_dims(y, other, [a for a in other if a in order and y.shape[other.index(a)] == 1 != x.shape[order.index(a)]])
    batch = [a for a in order if a in other and a in later]
    summed = [a for a in order if a in other and a not in later]
    own, others = [a for a in order if a not in other], [a for a in other if a not in order]
    if not summed:
        letters = [a for a in later if a in order or a in other]        # in the order of the result
        return mul(spread(x, order, letters), spread(y, other, letters)), letters
    letters = [*batch, *own, *others]
    if x.dtype is not y.dtype:
        x, y = cast_operands("bmm", x, y)
        check_same_dtype("einsum", x, y)
    n = {**dict(zip(order, x.shape)), **dict(zip(other, y.shape))}
    z = bmm(group_dims(x, order, batch, own, summed, n), group_dims(y, other, batch, summed, others, n))
    return reshape(z, tuple([n[a] for a in letters])), letters


def spread(x, order, letters):
    """Return x with a dimension for each of `letters`: of size 1 where x has none."""
    x = permute(x, tuple([order.index(a) for a in letters if a in order]))
    for dim, letter in enumerate(letters):
        if letter not in order:
            x = unsqueeze(x, dim)
    return x


def group_dims(x, order, first, second, third, n):
    """Return x as a batch of matrices: its three dimensions are the letters of the three groups."""
    x = permute(x, tuple([order.index(a) for a in (*first, *second, *third)])) if order else x
    return reshape(x, (size_product(first, n), size_product(second, n), size_product(third, n)))


def size_product(letters, n):
    """The product of the sizes of these letters."""
    size = 1
    for letter in letters:
        size *= n[letter]
    return size


def sum_out(x, order, letters):
    """Return (x summed over `letters`, the other letters)."""
    if not letters:
        return x, order
    return total(x, tuple([order.index(a) for a in letters])), [a for a in order if a not in letters]


def drop_dims(x, order, letters):
    """Return (x without `letters`, whose dimensions have size 1, the other letters)."""
    if not letters:
        return x, order
    return squeeze(x, tuple([order.index(a) for a in letters])), [a for a in order if a not in letters]
