"""Gives stacked results of loops without an iteration the same shape as the interpreter.

The inferred type of the element decides, then the file's declaration: an unknown dim is 0, an
unknown rank gives the shape (0,). onnxruntime uses its own inference, so the exported model
computes the shape explicitly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce

import numpy as np

from treadle.delegate.export_scope import ExportScope
from treadle.delegate.loop import common_shape, not_fused
from treadle.ir import (
    Dim,
    Expression,
    Loop,
    Shape,
    StackedPort,
    Symbol,
    Tensor,
    Type,
    Value,
    dim_symbols,
    ports,
)

_ALLOWZERO = 14
_LONGEST = 2**31 - 1
_INT64 = 7

Symbols = Mapping[str, Value]
"""The run-time extents of symbols, as values of shape [1]."""


def write_stacked_shapes(
    draft: ExportScope, loop: Loop, stacked: Sequence[Value], rows: Mapping[int, Value]
) -> None:
    """Replace the loop's stacked results by values with checked shapes.

    `rows` maps positions to the stacked shapes of elements that may differ in shape. A wrong shape
    fails at run time.
    """
    shapes = element_shapes(loop)
    runs = always_runs(draft, loop)
    symbols = {} if runs else known_symbols(draft, loop, shapes)
    for k, port in enumerate(ports(loop).stacked):
        if port.result is None or (runs and k not in rows):
            continue
        target = draft.leaf("Shape", stacked[k])
        if k in rows:
            target = common_shape(draft, _count(draft, target), rows[k])
        if not runs:
            empty = _empty(draft, shapes[k] or (), symbols)
            choose = _greater if _is_certain(port, shapes[k]) else _either
            target = choose(draft, target, empty)
        shaped = draft.new[port.result] = _reshaped(draft, stacked[k], target)
        draft.shared.ranges[shaped.name] = draft.range(stacked[k])


def always_runs(draft: ExportScope, loop: Loop) -> bool:
    """Whether constants prove that the loop runs at least one iteration."""
    trip, condition = draft.read(loop.trip), draft.read(loop.condition)
    trips = np.array(1) if trip is None else draft.known(trip)
    starts = np.array(True) if condition is None else draft.known(condition)
    return trips is not None and starts is not None and bool((trips > 0).all() and starts.all())


def element_shapes(loop: Loop) -> list[Shape | None]:
    """The known shape of each stacked element: inferred, then declared."""
    view = ports(loop)
    shapes = []
    for number, port in enumerate(view.stacked, start=1 + len(view.carried)):
        said: list[Type | None] = []
        if port.element is not None:
            said += [port.element.inferred, port.element.declared]
        if loop.body.claims:
            said.append(loop.body.claims[number].type)
        known = (type_.shape for type_ in said if isinstance(type_, Tensor))
        shapes.append(next((shape for shape in known if shape is not None), None))
    return shapes


def known_symbols(draft: ExportScope, loop: Loop, shapes: Sequence[Shape | None]) -> Symbols:
    """The symbols in the shapes of the loop's operands; 0 for a symbol with two extents."""
    wanted = {name for shape in shapes for dim in shape or () for name in dim_symbols(dim)}
    seen: dict[str, list[Value]] = {}
    for old, new in zip(loop.operands, draft.reads(loop.operands), strict=True):
        type_ = old.type if old is not None else None
        shape = type_.shape if isinstance(type_, Tensor) else None
        for axis, dim in enumerate(shape or ()):
            if new is not None and isinstance(dim, Symbol) and dim.name in wanted:
                extent = draft.leaf("Gather", draft.leaf("Shape", new), draft.constant([axis]))
                seen.setdefault(dim.name, []).append(extent)
    return {name: reduce(partial(_if_equal, draft), extents) for name, extents in seen.items()}


def _greater(draft: ExportScope, target: Value, empty: Value) -> Value:
    """The greater extents; `empty` is certain, so no extent is greater after an iteration."""
    return draft.leaf("Max", target, empty)


def _either(draft: ExportScope, target: Value, empty: Value) -> Value:
    """`target` if it has any elements, else `empty`: one of both is cut to nothing."""
    some = draft.leaf("Sign", _count(draft, target))
    none = draft.leaf("Sub", draft.constant([1]), some)
    both = _cut(draft, target, some), _cut(draft, empty, none)
    return not_fused(draft, draft.leaf("Concat", *both, axis=0))


def _count(draft: ExportScope, shape: Value) -> Value:
    return draft.leaf("Gather", shape, draft.constant([0]))


def _empty(draft: ExportScope, shape: Shape, symbols: Symbols) -> Value:
    dims = [_extent(draft, dim, symbols) or draft.constant([0]) for dim in shape]
    return draft.leaf("Concat", draft.constant([0]), *dims, axis=0)


def _reshaped(draft: ExportScope, stacked: Value, target: Value) -> Value:
    """Reshape the value.

    Below opset 14 Reshape cannot express some extents of 0: a run without an iteration may fail
    there, and interp runs it instead.
    """
    if draft.shared.opset < _ALLOWZERO:
        return draft.leaf("Reshape", stacked, target)
    return draft.leaf("Reshape", stacked, target, allowzero=1)


def _cut(draft: ExportScope, row: Value, length: Value) -> Value:
    """The row for a `length` of 1, nothing for 0."""
    most = draft.leaf("Mul", length, draft.constant([_LONGEST]))
    return draft.leaf("Slice", row, draft.constant([0]), most)


def _extent(draft: ExportScope, dim: Dim, symbols: Symbols) -> Value | None:
    match dim:
        case int():
            return draft.constant([dim])
        case Symbol(name):
            return symbols.get(name)
        case Expression(terms) if dim_symbols(dim) <= symbols.keys():
            sum_ = draft.constant([0])
            for names, coefficient in terms:
                factors = (symbols[name] for name in names)
                product = reduce(partial(draft.leaf, "Mul"), factors, draft.constant([coefficient]))
                sum_ = draft.leaf("Add", sum_, product)
            return _not_negative(draft, sum_)
    return None


def _not_negative(draft: ExportScope, extent: Value) -> Value:
    """max(extent, 0), as (extent + abs(extent)) / 2."""
    twice = draft.leaf("Add", extent, draft.leaf("Abs", extent))
    return draft.leaf("Div", twice, draft.constant([2]))


def _if_equal(draft: ExportScope, left: Value, right: Value) -> Value:
    same = draft.leaf("Cast", draft.leaf("Equal", left, right), to=_INT64)
    return draft.leaf("Mul", left, same)


def _is_certain(port: StackedPort, shape: Shape | None) -> bool:
    type_ = port.element.inferred if port.element is not None else None
    return shape is not None and isinstance(type_, Tensor) and type_.shape == shape
