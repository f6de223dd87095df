"""Operand extents for which onnxruntime crashes the process are declined, or checked in a run.

The extents are those of `checks.runtimes.extents`. A step with bad extents is declined; if an
extent is unknown, the exported model fails at run time before the kernel is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treadle.checks import ExtentDemand, ExtentNeed, extent_demands, extents_meet, known_extents
from treadle.delegate.export_scope import ExportScope
from treadle.ir import Leaf, Operands, Value

_FLOAT, _INT64, _BOOL = 1, 7, 9


def with_extents_checked(draft: ExportScope, step: Leaf, operands: Operands) -> Operands:
    """The exported operands, with run-time checks on those of unknown extents."""
    checked = list(operands)
    demands = extent_demands(step)
    shapes = [*map(known_extents, step.operands)] if demands else []
    for demand in demands:
        value = checked[demand.position]
        if value is not None and extents_meet(demand, shapes) is None:
            number = _NUMBERS[demand.need](draft, demand, operands)
            checked[demand.position] = unless_zero(draft, value, number)
    return tuple(checked)


def unless_zero(draft: ExportScope, value: Value, number: Value) -> Value:
    """The value, or a failure at run time if the integer is 0; uses operators of opset 7 only."""
    return unless_one(draft, value, _is_zero(draft, number))


def unless_one(draft: ExportScope, value: Value, index: Value) -> Value:
    """The value, or a failure at run time if `index`, 0 or 1, is 1.

    return value.reshape(value.shape + [0][index])       # index 1 fails
    """
    nothing = draft.leaf("Gather", draft.constant([0]), index)
    shape = draft.leaf("Shape", value)
    return draft.leaf("Reshape", value, draft.leaf("Add", shape, nothing))


def _not_empty(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    if demand.axes is None:
        return draft.leaf("Size", operands[demand.position])
    extents = draft.leaf("Shape", operands[demand.position])
    taken = draft.leaf("Gather", extents, draft.constant(demand.axes))
    return draft.leaf("ReduceProd", taken, keepdims=0)


def _heads(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    both = ExtentDemand(ExtentNeed.NOT_EMPTY, demand.position, (1, -1))
    return _not_empty(draft, both, operands)


def _window(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    """The number of windows: the product of what each extent has beyond `least`, and one."""
    extents = draft.leaf("Shape", operands[demand.position])
    taken = draft.leaf("Gather", extents, draft.constant(demand.axes or ()))
    places = draft.leaf("Sub", taken, draft.constant([each - 1 for each in demand.least]))
    count = draft.leaf("Relu", draft.leaf("Cast", places, to=_FLOAT))
    return draft.leaf("Cast", draft.leaf("ReduceProd", count, keepdims=0), to=_INT64)


def _single(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    size = draft.leaf("Size", operands[demand.position])
    return _is_zero(draft, draft.leaf("Sub", size, draft.constant(1)))


def _by_column(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    matrix, count = operands[1], draft.leaf("Size", operands[demand.position])
    rows = draft.leaf("Gather", draft.leaf("Shape", matrix), draft.constant(-2))
    beyond = draft.leaf("Sub", draft.leaf("Mul", count, rows), draft.leaf("Size", matrix))
    wrong = draft.leaf("Mul", draft.leaf("Sub", count, draft.constant(1)), beyond)
    return draft.leaf("Mul", count, _is_zero(draft, wrong))


def _square(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    shape = draft.leaf("Shape", operands[demand.position])
    rows, columns = (draft.leaf("Gather", shape, draft.constant(axis)) for axis in (-2, -1))
    return draft.leaf("Mul", rows, _is_zero(draft, draft.leaf("Sub", rows, columns)))


def _rows(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    shapes = (draft.leaf("Shape", operands[k]) for k in (demand.position, 0))
    rows, wanted = (draft.leaf("Gather", shape, draft.constant(0)) for shape in shapes)
    return _is_zero(draft, draft.leaf("Sub", rows, wanted))


def _even(draft: ExportScope, demand: ExtentDemand, operands: Operands) -> Value:
    shape = draft.leaf("Shape", operands[demand.position])
    last = draft.leaf("Gather", shape, draft.constant(-1))
    return _is_zero(draft, draft.leaf("Mod", last, draft.constant(2)))


_NUMBERS: Mapping[ExtentNeed, Callable[[ExportScope, ExtentDemand, Operands], Value]] = {
    ExtentNeed.NOT_EMPTY: _not_empty,
    ExtentNeed.SPATIAL: _not_empty,
    ExtentNeed.HEADS: _heads,
    ExtentNeed.SINGLE: _single,
    ExtentNeed.BY_COLUMN: _by_column,
    ExtentNeed.SQUARE: _square,
    ExtentNeed.WINDOW: _window,
    ExtentNeed.ROWS: _rows,
    ExtentNeed.EVEN: _even,
}
"""Integers that are 0 in a run that violates the need."""


def _is_zero(draft: ExportScope, number: Value) -> Value:
    """1 for 0, 0 for other integers."""
    given = draft.leaf("Cast", draft.leaf("Cast", number, to=_BOOL), to=_INT64)
    return draft.leaf("Sub", draft.constant(1), given)
