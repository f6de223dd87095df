"""The discrete Fourier transform, as products with constant matrices.

    X[k] = sum of x[n] * w^(n k), w = exp(-2 pi i / N)

Complex numbers lie side by side as pairs, so a transform of short signals is one product of real
matrices. Of N = P Q, with n = Q p + q and k = r + P s, it is two transforms with factors between:

    X[r + P s] = sum over q of  w_Q^(q s) * w_N^(q r) * (sum over p of x[Q p + q] * w_P^(p r))
"""

from __future__ import annotations

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Concat, Node
from treadle.jit.kernel.views import moved_axis, same
from treadle.jit.lowering.operators.matmul import product
from treadle.jit.lowering.operators.padding import padded
from treadle.jit.lowering.registry import Attributes, Operands, lowers

_MAX_DIRECT = 48
"""Elements of a signal up to which one product is quicker than two."""
_MAX_PRODUCT = 512
"""Elements of a signal in one product; longer ones without divisors are a host call."""


@lowers("DFT", 17)
def dft_17(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The axis is an attribute."""
    signal, length = (*operands, None)[:2]
    return _dft(builder, signal, length, attributes["axis"], attributes)


@lowers("DFT", 20)
def dft(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The axis is an operand."""
    signal, length, along = (*operands, None, None)[:3]
    axis = -2 if along is None else _known(builder, along, "the axis of a transform")
    return _dft(builder, signal, length, axis, attributes)


def _known(builder: KernelBuilder, node: Node, what: str) -> int:
    (found,) = builder.elements(node, what)
    if not isinstance(found, int):
        raise Declined(f"{what} that is not constant")
    return found


def _dft(
    builder: KernelBuilder, signal: Node, length: Node | None, axis: int, attributes: Attributes
) -> Node:
    """The transform of [..., n, ..., 1 or 2] along an axis: [..., k, ..., 2]."""
    rank, shape = len(signal.shape), extents_of(signal)
    axis = axis + rank if axis < 0 else axis
    inverse, is_half = bool(attributes["inverse"]), bool(attributes["onesided"])
    if signal.dtype not in (DType.FLOAT32, DType.FLOAT64) or rank < 2 or not 0 <= axis < rank - 1:
        raise Declined(f"a transform of {signal.dtype} of rank {rank} along axis {axis}")
    if shape[-1] not in (1, 2) or (is_half and (inverse or shape[-1] == 2)) or 0 in shape:
        raise Declined("a transform of other numbers than real or complex ones, or half of it")
    count = shape[axis] if length is None else _known(builder, length, "the length of a transform")
    if count < 1:
        raise Declined(f"a transform of {count} elements")
    signals = moved_axis(builder, _of_length(builder, signal, axis, count), axis, rank - 2)
    made = _transformed(builder, signals, inverse=inverse)
    if is_half:
        half = (*extents_of(made)[:-2], count // 2 + 1, 2)
        made = builder.view(made, half, [same(k) for k in range(rank)])
    return moved_axis(builder, made, rank - 2, axis)


def _of_length(builder: KernelBuilder, signal: Node, axis: int, count: int) -> Node:
    """Truncate the signals to `count` elements, or pad them with zeros."""
    given = extents_of(signal)
    if given[axis] < count:
        ends = [(0, count - given[axis] if k == axis else 0) for k in range(len(given))]
        return padded(builder, signal, ends, "constant", builder.scalar(0, signal.dtype))
    shape = tuple(count if k == axis else extent for k, extent in enumerate(given))
    return builder.view(signal, shape, [same(k) for k in range(len(given))])


def _transformed(builder: KernelBuilder, signal: Node, *, inverse: bool) -> Node:
    """The transform of [..., n, 1 or 2] along the last axis but one: [..., n, 2]."""
    *around, count, pair = extents_of(signal)
    first = _divisor(count) if count > _MAX_DIRECT else 1
    if first == 1:
        return _direct(builder, signal, count, inverse=inverse, scale=1 / count if inverse else 1)
    second, rank = count // first, len(around)
    rows = builder.reshape(signal, (*around, first, second, pair))
    inner = _direct(builder, moved_axis(builder, rows, rank, rank + 1), first, inverse=inverse)
    turned = _times(builder, inner, _powers(second, first, count, inverse=inverse))
    scale = 1 / count if inverse else 1
    columns = moved_axis(builder, turned, rank, rank + 1)
    outer = _direct(builder, columns, second, inverse=inverse, scale=scale)
    ordered = moved_axis(builder, outer, rank, rank + 1)
    return builder.reshape(ordered, (*around, count, 2))


def _divisor(count: int) -> int:
    """The largest divisor that is no larger than the square root."""
    return next(k for k in range(int(count**0.5), 0, -1) if count % k == 0)


def _direct(
    builder: KernelBuilder, signal: Node, count: int, *, inverse: bool, scale: float = 1
) -> Node:
    """The transform of [..., n, 1 or 2] as one product: [..., n, 2]."""
    *around, _, pair = extents_of(signal)
    if count > _MAX_PRODUCT:
        raise Declined(f"a transform of {count} elements without divisors near its root")
    powers = _powers(count, count, count, inverse=inverse) * scale
    matrix = np.stack([powers.real, powers.imag], -1)[:, None]
    if pair == 2:
        by_i = np.stack([-powers.imag, powers.real], -1)[:, None]
        matrix = np.concatenate([matrix, by_i], 1)
    right = builder.constant(matrix.reshape(count * pair, count * 2).astype(signal.dtype.numpy))
    flat = builder.reshape(signal, (*around, count * pair))
    return builder.reshape(product(builder, flat, right), (*around, count, 2))


def _powers(rows: int, columns: int, count: int, *, inverse: bool) -> np.ndarray:
    """w^(n k) for each row n and column k."""
    turns = np.outer(np.arange(rows), np.arange(columns)) % count / count
    return np.asarray(np.exp((2j if inverse else -2j) * np.pi * turns))


def _times(builder: KernelBuilder, node: Node, factors: np.ndarray) -> Node:
    """Complex numbers times constants."""
    rank, shape = len(node.shape), (*node.shape[:-1], 1)
    parts = [builder.view(node, shape, [*map(same, range(rank - 1)), Axis(k)]) for k in range(2)]
    constants = [
        builder.constant(each[..., None].astype(node.dtype.numpy))
        for each in (factors.real, factors.imag)
    ]
    terms = [[builder.map("mul", part, each) for each in constants] for part in parts]
    real = builder.map("sub", terms[0][0], terms[1][1])
    imaginary = builder.map("add", terms[0][1], terms[1][0])
    return builder.add(Concat(rank - 1), node.dtype, node.shape, real, imaginary)
