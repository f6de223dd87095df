"""The reasons why a loop cannot be unrolled, with hints."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.ir import (
    Block,
    CarriedPort,
    Leaf,
    Loop,
    Optional,
    Sequence,
    Step,
    Symbol,
    Value,
    bodies,
    operator_of,
    ports,
)
from treadle.ops import RANDOM
from treadle.passes.obstacles import Obstacles
from treadle.passes.rewrites.paths import marked_path
from treadle.passes.rewrites.unroll.trips import Trips
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.speculation import (
    is_speculatable,
    keeps_element,
    keeps_kind,
)

_CHECKED_COUNT = "give most=, or specialize the inputs and extents it depends on"
_WHERE_SINCE = 10
"""The opset with Where, and with a Slice whose bounds are operands."""
_RANGE_SINCE = 11
_TENSORS = "optimize turns lists that only grow into stacked outputs"


def common_refusals(loop: Loop, at: PassContext, told: Obstacles) -> None:
    """Record the obstacles to any unrolling of the loop."""
    path, view = marked_path(loop), ports(loop)
    for step in random_steps(loop.body):
        what = f"{operator_of(step)} gives a different result in each iteration"
        told.add(marked_path(step), what, "feed the random numbers as an input")
    for port in view.carried:
        if port.initial is None or port.next is None:
            told.add(path, f"the carried value {port.param.name} is left out somewhere")
        elif isinstance(at.type(port.param), Sequence | Optional):
            told.add(path, f"the carried value {port.param.name} is no tensor", _TENSORS)
    for stack in view.stacked:
        if stack.result is not None and stack.element is None:
            told.add(path, f"the stacked value {stack.result.name} is left out of the body")
        elif stack.role.axis < 0 and at.shape(stack.element) is None:
            told.add(
                path, f"the rank of the elements stacked as {_name(stack.result)} is not known"
            )


def random_steps(block: Block) -> Iterator[Step]:
    """The steps of the block and its bodies with random results."""
    for step in block.steps:
        if isinstance(step, Leaf) and _is_random(step):
            yield step
        for _, body in bodies(step):
            yield from random_steps(body)


def _is_random(step: Leaf) -> bool:
    """Whether the step is random; Dropout is in training mode."""
    if step.domain or step.op not in RANDOM:
        return False
    return step.op != "Dropout" or (len(step.operands) > 2 and step.operands[2] is not None)


def count_refusals(loop: Loop, trips: Trips, at: PassContext, told: Obstacles) -> None:
    """Record the obstacles to unrolling an exact number of iterations."""
    for port in ports(loop).stacked:
        if trips.exact == 0 and port.result is not None and at.extents(port.element) is None:
            what = f"it never runs, and the shape of {_name(port.result)} is not known"
            told.add(marked_path(loop), what, "specialize the extents it depends on")


def unknown_count(loop: Loop, told: Obstacles) -> None:
    """Record that the loop's number of iterations is not known."""
    told.add(marked_path(loop), "the number of its iterations is not known", _CHECKED_COUNT)


def freezing_refusals(loop: Loop, trips: Trips, at: PassContext, told: Obstacles) -> None:
    """Record the obstacles to unrolling with repeated iterations past the end."""
    path, view = marked_path(loop), ports(loop)
    if at.opset < _WHERE_SINCE:
        told.add(path, "a loop that may end earlier needs Where", "convert it to opset 10 or later")
    for sliced in view.sliced:
        if trips.most is None:
            what = f"the number of items of {_name(sliced.operand)} is not known"
            told.add(path, what, "specialize the extent")
    for port in view.carried:
        if not _keeps_shape(port, at):
            what = f"the shape of the carried value {port.param.name} may change"
            told.add(path, what, "a loop that may end earlier needs one shape in all iterations")
        elif at.dtype(port.param) is None:
            told.add(path, f"the element type of {port.param.name} is not known")
    if not trips.begins:
        _beginning_refusals(loop, at, told)


def _beginning_refusals(loop: Loop, at: PassContext, told: Obstacles) -> None:
    """Record the obstacles to computing iteration 0 of a loop that may not run."""
    path, view = marked_path(loop), ports(loop)
    for stack in view.stacked:
        if stack.result is not None and not keeps_element(stack, at):
            what = f"it may never run, and the shape of {_name(stack.result)} is not known then"
            told.add(path, what, "specialize the extents it depends on")
    for step in loop.body.steps:
        if not is_speculatable(step, at):
            what = f"the loop at {path} may never run, where this step would run and could fail"
            told.add(marked_path(step), what, "specialize the inputs that decide whether it runs")


def partial_refusals(loop: Loop, trips: Trips, at: PassContext, told: Obstacles) -> None:
    """Record the obstacles to unrolling by a factor."""
    path, view = marked_path(loop), ports(loop)
    if at.opset < _RANGE_SINCE:
        told.add(path, "the loop needs Range and Where", "convert it to opset 11 or later")
    if view.next_condition is not None and at.truth(view.next_condition) is not True:
        told.add(
            path, "its condition may end the loop between two iterations", "give most= instead"
        )
    for port in view.carried:
        if loop.fixed_state and not keeps_kind(loop, port, at):
            what = (
                f"the shape of the state {port.param.name} may change, which a Scan does not allow"
            )
            told.add(path, what, "specialize the extents it depends on")
    for stack in view.stacked:
        if trips.exact is None and stack.result and at.extents(stack.element) is None:
            what = f"the shape of {_name(stack.result)} is not known for a loop that never runs"
            told.add(path, what, "specialize the extents it depends on")
    for sliced in view.sliced:
        if sliced.operand is None:
            told.add(path, "a sliced value is left out")


def _keeps_shape(port: CarriedPort, at: PassContext) -> bool:
    shapes = {at.shape(value) for value in (port.initial, port.param, port.next)}
    only = shapes.pop() if len(shapes) == 1 else None
    return only is not None and None not in only


def changing_shapes(loop: Loop, at: PassContext) -> list[CarriedPort]:
    """The carried values whose shape may differ between iterations."""
    return [port for port in ports(loop).carried if not _keeps_shape(port, at)]


def is_told(dims: object) -> bool:
    """Whether a shape has a known expression for every extent."""
    return isinstance(dims, tuple) and all(isinstance(dim, int | Symbol) for dim in dims)


def _name(value: Value | None) -> str:
    return value.name if value is not None else "a result"
