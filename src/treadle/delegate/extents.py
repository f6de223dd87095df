"""Checks of operand extents for which onnxruntime crashes the process: its kernels divide by them.

Measured on release 1.31, in child processes, for every operator with extents 0, 1 and 2 of ranks 0
to 4, and for onnx's own node cases with an extent or an attribute changed. A step with bad extents
is declined; if an extent is unknown, the exported model fails at run time before the kernel is
called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from treadle.delegate.export_scope import ExportScope
from treadle.ir import Leaf, Operands, Tensor, Value

_MS = "com.microsoft"
_INT64, _BOOL = 7, 9
_MOST = 2**31 - 1
_WITH_HEADS = 4

Shape = tuple[int | None, ...] | None
"""The inferred shape: None for an unknown extent or an unknown rank."""

Axes = tuple[int, ...] | None
"""Some axes of an operand; None for all."""


@dataclass(frozen=True, slots=True)
class _Demand:
    """A requirement of a kernel on the operand at `position` that the kernel does not check.

    `holds` tests the shapes of all operands and returns None if they are unknown; `number` computes
    an integer that is 0 in a run that violates the requirement.
    """

    position: int
    words: str
    holds: Callable[[Sequence[Shape]], bool | None]
    number: Callable[[ExportScope, Operands], Value]


def _not_empty(position: int, axes: Axes = None) -> _Demand:
    """All extents along the axes are 1 or more."""

    def holds(shapes: Sequence[Shape]) -> bool | None:
        size = _size(_taken(shapes[position], axes))
        return None if size is None else size > 0

    def number(draft: ExportScope, operands: Operands) -> Value:
        if axes is None:
            return draft.leaf("Size", operands[position])
        extents = draft.leaf("Shape", operands[position])
        taken = draft.leaf("Gather", extents, draft.constant(axes))
        return draft.leaf("ReduceProd", taken, keepdims=0)

    return _Demand(position, "has no elements", holds, number)


def _spatial(position: int) -> _Demand:
    """No extent from axis 2 on is 0; requires all axes if these are unknown."""
    asked = _not_empty(position)

    def holds(shapes: Sequence[Shape]) -> bool | None:
        shape = shapes[position]
        size = None if shape is None else _size(shape[2:])
        return None if size is None else size > 0

    return _Demand(position, asked.words, holds, asked.number)


def _heads(position: int) -> _Demand:
    """The divisors in attention: the head count of operands with 4 axes, the last axis of 3."""
    among = {_WITH_HEADS: _not_empty(position, (1,)), _WITH_HEADS - 1: _not_empty(position, (-1,))}
    unknown = _not_empty(position, (1, -1))

    def holds(shapes: Sequence[Shape]) -> bool | None:
        shape = shapes[position]
        return None if shape is None else among.get(len(shape), unknown).holds(shapes)

    return _Demand(position, unknown.words, holds, unknown.number)


def _single(position: int) -> _Demand:
    """The operand has one element."""

    def holds(shapes: Sequence[Shape]) -> bool | None:
        size = _size(shapes[position])
        return None if size is None else size == 1

    def number(draft: ExportScope, operands: Operands) -> Value:
        size = draft.leaf("Size", operands[position])
        return _is_zero(draft, draft.leaf("Sub", size, draft.constant(1)))

    return _Demand(position, "does not have exactly one element", holds, number)


def _by_column(position: int) -> _Demand:
    """The operand has one element, or one for each column of the matrices of operand 1."""

    def holds(shapes: Sequence[Shape]) -> bool | None:
        count, matrix = _size(shapes[position]), shapes[1]
        if count == 1:
            return True
        columns = None if matrix is None else _size((*matrix[:-2], *matrix[-1:]))
        return None if count is None or columns is None else 0 < count == columns

    def number(draft: ExportScope, operands: Operands) -> Value:
        matrix, count = operands[1], draft.leaf("Size", operands[position])
        rows = draft.leaf("Gather", draft.leaf("Shape", matrix), draft.constant(-2))
        beyond = draft.leaf("Sub", draft.leaf("Mul", count, rows), draft.leaf("Size", matrix))
        wrong = draft.leaf("Mul", draft.leaf("Sub", count, draft.constant(1)), beyond)
        return draft.leaf("Mul", count, _is_zero(draft, wrong))

    return _Demand(position, "does not have one element, or one for each column", holds, number)


def _square(position: int) -> _Demand:
    """The last two extents are equal and not 0."""

    def holds(shapes: Sequence[Shape]) -> bool | None:
        rows, columns = (_size(_taken(shapes[position], (axis,))) for axis in (-2, -1))
        return None if rows is None or columns is None else 0 < rows == columns

    def number(draft: ExportScope, operands: Operands) -> Value:
        shape = draft.leaf("Shape", operands[position])
        rows, columns = (draft.leaf("Gather", shape, draft.constant(axis)) for axis in (-2, -1))
        return draft.leaf("Mul", rows, _is_zero(draft, draft.leaf("Sub", rows, columns)))

    return _Demand(position, "is not a square matrix", holds, number)


_DEMANDS: Mapping[tuple[str, str], tuple[_Demand, ...]] = {
    ("", "Attention"): tuple(map(_heads, range(3))),
    ("", "Conv"): (_not_empty(1),),
    ("", "ConvInteger"): (_not_empty(1),),
    ("", "ConvTranspose"): (_spatial(0), _not_empty(1)),
    ("", "GRU"): (_not_empty(0, (0, 1)),),
    ("", "LSTM"): (_not_empty(0, (0, 1)),),
    (_MS, "DecoderMaskedMultiHeadAttention"): (_not_empty(0),),
    (_MS, "DynamicQuantizeMatMul"): (_by_column(2), _by_column(3)),
    (_MS, "FusedConv"): (_not_empty(1),),
    (_MS, "Inverse"): (_square(0),),
    (_MS, "LinearAttention"): tuple(_not_empty(position, (-1,)) for position in range(3)),
    (_MS, "MatMulIntegerToFloat"): (_single(2), _by_column(3), _single(4), _by_column(5)),
    (_MS, "MoE"): tuple(map(_not_empty, range(3))),
    (_MS, "QMoE"): tuple(map(_not_empty, range(3))),
}
_COUNTS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Attention"): ("q_num_heads", "kv_num_heads")
}
"""Attributes used as divisors, which the kernel truncates to 32 bits."""


def extent_refusal(step: Leaf) -> str:
    """Why the kernel would crash the process, from the known extents; "" otherwise."""
    for name in _COUNTS.get((step.domain, step.op), ()):
        attribute = step.attributes.get(name)
        if attribute is not None and isinstance(attribute.value, int) and attribute.value > _MOST:
            return f"onnxruntime crashes the process if {name} is {attribute.value}"
    demands = _demands(step)
    shapes = [*map(_shape, step.operands)] if demands else []
    wrong = (demand for demand in demands if demand.holds(shapes) is False)
    return next((_told(step, demand) for demand in wrong), "")


def with_extents_checked(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The exported operands, with run-time checks on those of unknown extents."""
    checked = list(operands)
    demands = _demands(step)
    shapes = [*map(_shape, step.operands)] if demands else []
    for demand in demands:
        value = checked[demand.position]
        if value is not None and demand.holds(shapes) is None:
            checked[demand.position] = unless_zero(draft, value, demand.number(draft, operands))
    return tuple(checked)


def unless_zero(draft: ExportScope, value: Value, number: Value) -> Value:
    """The value, or a failure at run time if the integer is 0.

    return value.reshape(value.shape + [0][1 - bool(number)])       # index 1 fails

    Uses operators of opset 7 only.
    """
    index = _is_zero(draft, number)
    nothing = draft.leaf("Gather", draft.constant([0]), index)
    shape = draft.leaf("Shape", value)
    return draft.leaf("Reshape", value, draft.leaf("Add", shape, nothing))


def _is_zero(draft: ExportScope, number: Value) -> Value:
    """1 for 0, 0 for other integers."""
    given = draft.leaf("Cast", draft.leaf("Cast", number, to=_BOOL), to=_INT64)
    return draft.leaf("Sub", draft.constant(1), given)


def _demands(step: Leaf) -> Sequence[_Demand]:
    made = _DEMANDS.get((step.domain, step.op), ())
    return [d for d in made if d.position < len(step.operands) and step.operands[d.position]]


def _told(step: Leaf, demand: _Demand) -> str:
    operand = f"operand {demand.position} of {step.op}"
    return f"onnxruntime crashes the process if {operand} {demand.words}"


def _shape(value: Value | None) -> Shape:
    """The inferred shape; the declared one may be wrong."""
    type_ = value.inferred if value is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    return None if shape is None else tuple(d if isinstance(d, int) else None for d in shape)


def _taken(shape: Shape, axes: Axes) -> Shape:
    if shape is None or axes is None:
        return shape
    rank = len(shape)
    return tuple(shape[axis] for axis in axes if -rank <= axis < rank)


def _size(shape: Shape) -> int | None:
    """The number of elements; None if it is not known."""
    extents = [extent for extent in shape or () if extent is not None]
    if shape is None or (len(extents) < len(shape) and 0 not in extents):
        return None
    return prod(extents) if len(extents) == len(shape) else 0
