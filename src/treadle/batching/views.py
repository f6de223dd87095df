"""Rules for operators that move, select, repeat or reduce elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from treadle.batching.states import ROWS, Axis, Mixed, Operator, State, depends, shape_of
from treadle.ir import Dim, Symbol, multiply_dims

Rule = Callable[[Operator], State]


def _transpose(given: Operator) -> State:
    order = given.attribute("perm") or list(reversed(range(given.rank(0))))
    return Axis([axis % given.rank(0) for axis in order].index(given.axis()))


def _unsqueeze(given: Operator) -> State:
    given.only(0)
    axes = given.axes(1) or []
    rank = given.rank(0) + len(axes)
    new = {axis % rank for axis in axes}
    return Axis([axis for axis in range(rank) if axis not in new][given.axis()])


def _squeeze(given: Operator) -> State:
    given.only(0)
    axes = given.axes(1)
    if axes is None:
        raise Mixed("it removes every axis of extent 1, and there may be a single row")
    rank = given.rank(0)
    gone = {axis % rank for axis in axes}
    if given.axis() in gone:
        raise Mixed("it removes the batch axis")
    return Axis([axis for axis in range(rank) if axis not in gone].index(given.axis()))


def _reshaped(given: Operator) -> State:
    """Rows stay rows if the same number of elements precedes their axis before and after."""
    given.only(0, 1)
    before, after = shape_of(given.leaf.operands[0]), shape_of(given.leaf.results[0])
    if before is None or after is None:
        raise Mixed("a rank is not known")
    rows = before[given.axis()]
    if not isinstance(rows, Symbol) or rows not in after:
        raise Mixed("the result has no axis for the rows")
    index = list(after).index(rows)
    outer = _product(before[: given.axis()])
    if outer is None or outer != _product(after[:index]):
        raise Mixed("it moves elements from row to row")
    return Axis(index)


def _product(dims: Sequence[Dim]) -> Dim:
    product: Dim = 1
    for dim in dims:
        product = multiply_dims(product, dim)
    return product


def _expand(given: Operator) -> State:
    if not isinstance(given.state(0), Axis):
        return _filled(given)
    back = given.axis() - given.rank(0)
    before, after = shape_of(given.leaf.operands[0]), shape_of(given.leaf.results[0])
    if before is None or after is None:
        raise Mixed("the rank of the result is not known")
    if after[back] != before[back]:
        raise Mixed("it may repeat a single row")
    return Axis(len(after) + back)


def _filled(given: Operator) -> State:
    """A filled tensor: its content is the same for all rows, its extent may be their number."""
    after = shape_of(given.leaf.results[0]) or ()
    before = shape_of(given.leaf.operands[0]) if given.leaf.op == "Expand" else ()
    places = [k for k, dim in enumerate(after) if _is_of_rows(dim)]
    if len(places) != 1 or not isinstance(after[places[0]], Symbol) or before is None:
        raise Mixed("the result has no axis for the rows")
    back = places[0] - len(after)
    if -back <= len(before) and before[back] != 1:
        raise Mixed("its elements differ between rows")
    return Axis(places[0])


def _is_of_rows(dim: object) -> bool:
    return ROWS in str(dim)


def _concat(given: Operator) -> State:
    rank = given.rank(0)
    axis = int(given.attribute("axis", 0)) % rank
    found = {state for state in given.states if depends(state)}
    if len(found) != 1 or not all(isinstance(s, Axis) for s in given.states):
        raise Mixed("not all of its operands have rows along one axis")
    (state,) = found
    if state == Axis(axis):
        raise Mixed("it joins rows")
    return state


def _gather(given: Operator) -> State:
    rank = given.rank(0)
    axis = int(given.attribute("axis", 0)) % rank
    data, indices = given.state(0), given.state(1)
    if depends(data) and depends(indices):
        raise Mixed("it picks rows by rows")
    if depends(indices):
        return Axis(axis + given.axis(1))
    rows = given.axis()
    if rows == axis:
        raise Mixed("it picks rows")
    return Axis(rows if rows < axis else rows - 1 + given.rank(1))


def _gather_elements(given: Operator) -> State:
    axis = int(given.attribute("axis", 0)) % given.rank(0)
    if given.state(0) != given.state(1) or given.axis() == axis:
        raise Mixed("it picks rows, or shares an operand between them")
    return Axis(given.axis())


def _slice(given: Operator) -> State:
    given.only(0)
    axes = given.axes(3)
    if axes is None:
        starts = given.axes(1, "starts")
        axes = list(range(len(starts or ())))
    if given.axis() in {axis % given.rank(0) for axis in axes}:
        raise Mixed("it takes some of the rows")
    return Axis(given.axis())


def _reduced(given: Operator) -> State:
    given.only(0)
    rank, rows = given.rank(0), given.axis()
    axes = given.axes(1)
    if not axes and given.attribute("noop_with_empty_axes", 0):
        return Axis(rows)
    gone = {axis % rank for axis in axes or range(rank)}
    if rows in gone:
        raise Mixed("it reduces over the rows")
    return Axis(rows if given.attribute("keepdims", 1) else rows - sum(k < rows for k in gone))


def reduced_along(name: str) -> Rule:
    """A reduction over one axis, given by an attribute."""

    def rule(given: Operator) -> State:
        rank, rows = given.rank(0), given.axis()
        axis = int(given.attribute(name, 0)) % rank
        if axis == rows:
            raise Mixed("it reduces over the rows")
        return Axis(rows if given.attribute("keepdims", 1) else rows - (axis < rows))

    return rule


def _flatten(given: Operator) -> State:
    axis = int(given.attribute("axis", 1))
    if given.axis() != 0 or axis % given.rank(0) != 1:
        raise Mixed("it merges other axes with the rows")
    return Axis(0)


def _tile(given: Operator) -> State:
    given.only(0)
    repeats = given.constant(1)
    if repeats is None or int(repeats[given.axis()]) != 1:
        raise Mixed("it repeats rows")
    return Axis(given.axis())


def _pad(given: Operator) -> State:
    given.only(0)
    pads = given.axes(1, "pads")
    rank, rows = given.rank(0), given.axis()
    if pads is None or len(pads) != 2 * rank or pads[rows] or pads[rows + rank]:
        raise Mixed("it may add rows")
    return Axis(rows)


def _trilu(given: Operator) -> State:
    given.only(0)
    if given.axis() >= given.rank(0) - 2:
        raise Mixed("its result depends on the position of a row")
    return Axis(given.axis())


def _one_hot(given: Operator) -> State:
    given.only(0)
    axis = int(given.attribute("axis", -1)) % (given.rank(0) + 1)
    return Axis(given.axis() + (axis <= given.axis()))


RULES: Mapping[str, Rule] = {
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshaped,
    "Expand": _expand,
    "ConstantOfShape": _filled,
    "Concat": _concat,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "Slice": _slice,
    "Flatten": _flatten,
    "Tile": _tile,
    "Pad": _pad,
    "Trilu": _trilu,
    "OneHot": _one_hot,
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
         "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        _reduced,
    ),
}  # fmt: skip
