"""Decides which loops onnxruntime runs, and works around its defects in the others.

Defects measured on onnxruntime 1.31 (docs/semantics.md), and the workaround of each:

    Loop, strings stacked                          lost where held elsewhere too    not given to it
    Loop, the iteration number given as a result   its counter's buffer itself        Identity
    Scan, a state of text                          written into a buffer that      not given to it
                                                   holds text: StringConcat appends
    Scan, a parameter given as a result            uninitialised memory               Identity
    Scan, one value given as two results           uninitialised memory               Identity
    a value of outside given as a result           refused                            Identity
    trip, condition of shape [1]                   refused where the body says []     Reshape
    next condition of several elements             accepted, the first counts         Reshape
    a result left out                              refused, or a crash                a name
    stacked elements of the same size, not shape   accepted                           `common_shape`
    Scan, a state of the same size, not shape      accepted in iteration 0            `same_shape`
    Scan of length 0 along an axis above 0         a crash (an error along axis 0)    `not_empty`
"""

from __future__ import annotations

from treadle.delegate.export_scope import ExportScope
from treadle.delegate.extents import unless_zero
from treadle.ir import (
    CarriedPort,
    Dim,
    DType,
    Expression,
    Loop,
    SlicedPort,
    StackedPort,
    Symbol,
    Tensor,
    Value,
    dim_symbols,
    ports,
    slices_inputs,
)
from treadle.passes import is_mixed, mixed_refusal


def form_refusal(loop: Loop) -> str:
    """Why the loop can be exported neither as ONNX's Loop nor as its Scan; "" if it can."""
    view = ports(loop)
    started = [port.initial for port in view.carried] + [port.operand for port in view.sliced]
    if any(value is None for value in started):
        return "an initial value is absent"
    if any(port.operand is None for port in view.invariants):
        return "a captured value is absent"
    if not loop.results:
        return "it has no results"
    if slices_inputs(loop) and not is_mixed(loop):
        return _STATE_OF_TEXT if any(map(_may_be_text, view.carried)) else ""
    if any(map(_is_text, view.stacked)):
        return _STRINGS
    return mixed_refusal(loop) if is_mixed(loop) else ""


_STRINGS = "onnxruntime's Loop moves stacked strings out of the values that hold them"
_STATE_OF_TEXT = "onnxruntime's Scan keeps a state of text in buffers that hold older text"


def _may_be_text(port: CarriedPort) -> bool:
    """Whether a state is a string tensor, or of unknown type."""
    types = [value.type for value in (port.param, port.initial, port.next) if value is not None]
    dtypes = [type_.dtype for type_ in types if isinstance(type_, Tensor) and type_.dtype]
    return DType.STRING in dtypes or not dtypes


def _is_text(port: StackedPort) -> bool:
    type_ = port.element.type if port.element is not None else None
    return isinstance(type_, Tensor) and type_.dtype is DType.STRING


def as_scalar(draft: ExportScope, value: Value | None, known: Value | None) -> Value | None:
    """Reshape a trip count or condition to a scalar; several elements fail at run time.

    `known` is the original value; nothing is done if its inferred shape is already right.
    """
    if value is None or (known is not None and _inferred_shape(known) == ()):
        return value
    return draft.leaf("Reshape", value, draft.constant([]))


def has_stable_shape(loop: Loop, element: Value) -> bool:
    """Whether inference proves that a stacked element has one shape in all iterations.

    Every extent is a number or made of symbols of the loop's operands, which the body cannot
    change.
    """
    shape = _inferred_shape(element)
    if shape is None:
        return False
    fixed = {s for v in loop.operands if v is not None for d in _shape(v) for s in dim_symbols(d)}
    return all(
        isinstance(dim, int) or (bool(dim_symbols(dim)) and dim_symbols(dim) <= fixed)
        for dim in shape
    )


def common_shape(draft: ExportScope, count: Value, shapes: Value) -> Value:
    """The shape to reshape `count` stacked elements to: it fails if the rows of `shapes` differ.

        concat(count, max(shapes over iterations, 0))

    An element of another shape with the same number of elements has a greater extent on some axis,
    so the greatest extents describe more elements than there are.
    """
    columns = draft.leaf("Gather", draft.leaf("Shape", shapes), draft.constant([1]))
    row = draft.leaf("Concat", draft.constant([1]), columns, axis=0)
    zeros = draft.leaf("Expand", draft.constant([0]), row)
    rows = draft.leaf("Concat", zeros, shapes, axis=0)
    return not_fused(draft, draft.leaf("Concat", count, _greatest_row(draft, rows), axis=0))


def not_fused(draft: ExportScope, shape: Value) -> Value:
    """A Concat for a Reshape to read: onnxruntime fuses plain ones, and then infers an extent."""
    return draft.leaf("Abs", shape)


def is_returned_parameter(port: CarriedPort) -> bool:
    """Whether inference proves that a state keeps its shape."""
    before, after = _inferred_shape(port.param), port.next and _inferred_shape(port.next)
    if before is None or before != after:
        return False
    return all(isinstance(dim, int | Symbol | Expression) for dim in before)


def same_shape(draft: ExportScope, initial: Value, final: Value) -> Value:
    """The final state of a Scan; fails at run time if its shape is not the initial one.

    target = final.shape + abs(initial.shape - final.shape)
    return final.reshape(target)
    """
    before, after = draft.leaf("Shape", initial), draft.leaf("Shape", final)
    change = draft.leaf("Abs", draft.leaf("Sub", before, after))
    return draft.leaf("Reshape", final, draft.leaf("Add", after, change))


def not_empty(draft: ExportScope, port: SlicedPort, source: Value) -> Value:
    """The source of a Scan; fails at run time if it has no items along its axis."""
    axis = port.role.axis
    known = _inferred_shape(port.operand) if port.operand is not None else None
    extent = known[axis] if known is not None and -len(known) <= axis < len(known) else None
    if axis == 0 or (isinstance(extent, int) and extent > 0):
        return source
    length = draft.leaf("Gather", draft.leaf("Shape", source), draft.constant(axis))
    return unless_zero(draft, source, length)


_AXES_ARE_INPUTS = 18


def _greatest_row(draft: ExportScope, rows: Value) -> Value:
    if draft.shared.opset >= _AXES_ARE_INPUTS:
        return draft.leaf("ReduceMax", rows, draft.constant([0]), keepdims=0)
    return draft.leaf("ReduceMax", rows, axes=[0], keepdims=0)


def _inferred_shape(value: Value) -> tuple[Dim, ...] | None:
    return value.inferred.shape if isinstance(value.inferred, Tensor) else None


def _shape(value: Value) -> tuple[Dim, ...]:
    return _inferred_shape(value) or ()
