"""An upper bound of the bytes of a region's values, by the extents of a call, without inference.

Each extent of most results is an extent of an operand. So one number bounds every extent of a value
that is not known: the largest of those of the operands; after Reshape, the number of its elements;
after Expand, the largest number in the shape, if that holds extents and constants only.

    x: float[7,4]   y: float[60,4]      # known: 4, 60
    z = Gemm(x, y)                      # float[?,60]: at most 60 * 60 elements
    m = Where(z, x, y)

A step that is not in the table here, or a loop, has no bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod
from typing import NamedTuple

import numpy as np

from treadle import ops
from treadle.ir import Block, Branch, Leaf, Step, Tensor, Value, bodies

__all__ = ["bound_of_bytes"]

_WIDEST = 32
"""The bytes of the widest element, a text."""

_MOST_AXES = 15
"""Of more axes the power of an extent may not be a float."""


class _Bound(NamedTuple):
    """The most that an extent of a value can be, its rank and its elements.

    `low` and `high` bound the whole numbers in it, `described` is the bound of the value whose
    shape it is.
    """

    extent: float = inf
    rank: float = inf
    elements: float = inf
    low: float = -inf
    high: float = inf
    described: _Bound | None = None


_NOTHING = _Bound(1, 0, 1)
_UNKNOWN = _Bound()
_Known = dict[Value, _Bound]


def bound_of_bytes(block: Block, shapes: Sequence[tuple[int, ...]]) -> float:
    """What no value of the block has more bytes than, for parameters of these shapes."""
    known = {value: _of_shape(shape) for value, shape in zip(block.params, shapes, strict=True)}
    is_bounded = _note_block(block, known)
    return (
        _WIDEST * max((each.elements for each in known.values()), default=1) if is_bounded else inf
    )


def _of_shape(shape: Sequence[float]) -> _Bound:
    return _Bound(max(shape, default=1), len(shape), _product(shape))


def _of_constant(array: np.ndarray) -> _Bound:
    bound = _of_shape(array.shape)
    is_whole = array.dtype.kind in "iu" and array.size
    return bound._replace(low=float(array.min()), high=float(array.max())) if is_whole else bound


def _note_block(block: Block, known: _Known) -> bool:
    """Note the bounds of what the block makes; returns whether all have one."""
    known.update((each.value, _of_constant(each.array)) for each in block.constants)
    return all(_note_step(step, known) for step in block.steps)


def _note_step(step: Step, known: _Known) -> bool:
    if isinstance(step, Branch):
        return _note_branches(step, known)
    if not isinstance(step, Leaf) or step.domain:
        return False
    operands = [_bound(value, known) for value in step.operands]
    found = _of_leaf(step, operands)
    for made in filter(None, step.results):
        shape = made.inferred.shape if isinstance(made.inferred, Tensor) else None
        if shape is None:
            known[made] = found
        else:
            own = _of_shape([each if isinstance(each, int) else found.extent for each in shape])
            known[made] = own._replace(low=found.low, high=found.high, described=found.described)
        if known[made].elements == inf:
            return False
    return True


def _note_branches(step: Branch, known: _Known) -> bool:
    """Note the bounds of what either branch makes, of which the results are."""
    for _, body in bodies(step):
        pairs = zip(body.params, step.operands, strict=True)
        known.update((param, _bound(value, known)) for param, value in pairs)
        if not _note_block(body, known):
            return False
    given = (step.then.results, step.otherwise.results, step.results)
    for one, other, made in zip(*given, strict=True):
        if made is not None:
            known[made] = _either([_bound(one, known), _bound(other, known)])
    return True


def _bound(value: Value | None, known: _Known) -> _Bound:
    return _NOTHING if value is None else known.get(value, _UNKNOWN)


def _either(bounds: Sequence[_Bound]) -> _Bound:
    """A bound of each of these values; of none, that of a scalar."""
    extents, ranks, elements, lows, highs, _ = zip(*(bounds or [_NOTHING]), strict=True)
    return _Bound(max(extents), max(ranks), max(elements), min(lows), max(highs))


def _of_leaf(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    """The bound of a step's results; extents and rank are those of results of unknown shape."""
    rule = _RULES.get(step.op)
    if rule is not None:
        return rule(step, operands)
    return _of_operands(step, operands) if step.op in _OF_OPERANDS else _UNKNOWN


def _of_operands(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    """Each extent is one of an operand, and there is a result for some of all combinations."""
    extent, rank, *_ = _either(operands)
    if step.op in _OF_ALL_AXES:
        rank = sum(each.rank for each in operands) - (step.op == "Gather")
    return _Bound(extent, rank, _elements(extent, rank, _product([e.elements for e in operands])))


def _elements(extent: float, rank: float, most: float) -> float:
    return min(most, max(extent, 1.0) ** rank) if rank <= _MOST_AXES else most


def _moved(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    """The numbers of the first operand, or fewer."""
    return _of_operands(step, operands)._replace(low=operands[0].low, high=operands[0].high)


def _reshaped(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    most = operands[0].elements
    return _Bound(most, inf, most, operands[0].low, operands[0].high)


def _joined(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    whole = _either(operands)
    extent, elements = sum(e.extent for e in operands), sum(e.elements for e in operands)
    return whole._replace(extent=extent, elements=elements)


def _of_indices(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    return _Bound(*operands[1][:3])


def _shape(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    (value,) = operands
    return _Bound(value.rank, 1, value.rank, 0, value.extent, described=value)


def _constant(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    held = next(iter(ops.attributes_of(step.attributes).values()), None)
    return _of_constant(np.asarray(held))


def _filled(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    (shape,) = operands
    known = shape.described or _Bound(shape.high)
    return _Bound(known.extent, known.rank, known.elements)


def _expanded(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    return _Bound(max(each.extent if k == 0 else each.high for k, each in enumerate(operands)))


def _counted(step: Leaf, operands: Sequence[_Bound]) -> _Bound:
    start, limit, delta = operands
    count = max(limit.high - start.low, 1) if delta.low >= 1 else inf
    return _Bound(count, 1, count, start.low, limit.high)


def _product(extents: Sequence[float]) -> float:
    return prod((max(each, 1) for each in extents), start=1.0)


_RULES: Mapping[str, Callable[[Leaf, Sequence[_Bound]], _Bound]] = {
    **dict.fromkeys(("Cast", "Gather", "Identity", "Slice", "Squeeze"), _moved),
    **dict.fromkeys(("Compress", "Flatten", "NonZero", "Reshape", "Unsqueeze"), _reshaped),
    "Concat": _joined,
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Expand": _expanded,
    "GatherElements": _of_indices,
    "Range": _counted,
    "Shape": _shape,
}
_OF_ALL_AXES = ("Einsum", "Gather", "GatherND")
_NAMES = """
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh BatchNormalization BitwiseAnd
    BitwiseNot BitwiseOr BitwiseXor CastLike Ceil Celu Clip Cos Cosh CumSum Div Dropout Einsum Elu
    Equal Erf Exp Floor GatherND Gelu Gemm Greater GreaterOrEqual HardSigmoid
    HardSwish Hardmax IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax
    MatMul Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal ReduceL1 ReduceL2 ReduceLogSum
    ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Round
    Scatter ScatterElements ScatterND Selu Sigmoid Sign Sin Sinh Size Softmax Softplus Softsign Sqrt
    Sub Sum Tan Tanh ThresholdedRelu TopK Transpose Trilu Where Xor
"""
_OF_OPERANDS = frozenset(_NAMES.split())
"""The operators whose results have extents of their operands."""
