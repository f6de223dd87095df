"""Decides which steps may be dropped, moved, or run speculatively.

A step *cannot fail* if its schema admits the proven type of every operand and its operator's rule
(`operators.py`) holds; a loop cannot fail if it ends, its body cannot fail, and its carried and
stacked values keep their type and shape. Only such a step is

    dropped        its results are not read, but its error would have been seen
    speculated     moved before a loop that may run zero times

A step is *pure* if the same operands give the same results: only such a step is moved or merged.
Lack of memory or time does not count as an error. If several steps of one run fail, a different one
may be reported.
"""

from __future__ import annotations

from treadle import ops
from treadle.ir import (
    Block,
    Branch,
    Call,
    CarriedPort,
    Dim,
    DType,
    Expression,
    Leaf,
    Loop,
    Reference,
    Sequence,
    StackedPort,
    Step,
    Symbol,
    Tensor,
    Type,
    ports,
)
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.operators import RULES


def is_pure(step: Step) -> bool:
    """Whether equal operands always give equal results."""
    match step:
        case Leaf():
            schema = ops.schema(step.domain, step.op, step.version) if not step.domain else None
            known = schema is not None and schema.is_deterministic and not step.blocks
            refers = any(isinstance(a.value, Reference) for a in step.attributes.values())
            return known and step.op not in ops.RANDOM and not refers
        case Loop():
            return all(map(is_pure, step.body.steps))
        case Branch():
            return all(map(is_pure, (*step.then.steps, *step.otherwise.steps)))
        case Call():
            return False


def is_speculatable(step: Step, at: PassContext) -> bool:
    """Whether the step provably succeeds, for all inputs of the model."""
    match step:
        case Leaf():
            rule = RULES.get(step.op)
            return rule is not None and is_pure(step) and _is_admitted(step, at) and rule(step, at)
        case Loop():
            return _loop_cannot_fail(step, at)
        case Branch():
            decided = at.is_single(step.condition, DType.BOOL)
            return decided and all(_block_cannot_fail(b, at) for b in (step.then, step.otherwise))
        case Call():
            return False


def _block_cannot_fail(block: Block, at: PassContext) -> bool:
    return all(is_speculatable(step, at) for step in block.steps)


def _is_admitted(leaf: Leaf, at: PassContext) -> bool:
    """Whether the schema admits the number and the element types of the operands."""
    schema = ops.schema(leaf.domain, leaf.op, leaf.version)
    if schema is None or not schema.min_inputs <= len(leaf.operands) <= schema.max_inputs:
        return False
    if len(leaf.results) > schema.max_outputs:
        return False
    variables: dict[str, str] = {}
    for position, value in enumerate(leaf.operands):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        if value is None:
            if formal.option == "single":
                return False
            continue
        word = _type_string(at.type(value))
        if word not in formal.types:
            return False
        shared = formal.option != "variadic" or formal.homogeneous
        if shared and variables.setdefault(formal.variable, word) != word:
            return False
    return True


def _type_string(type_: Type | None) -> str | None:
    """The type string of a tensor or a sequence as in schemas; None if it is unknown."""
    return ops.type_string(type_) if isinstance(type_, Tensor | Sequence) else None


def _loop_cannot_fail(loop: Loop, at: PassContext) -> bool:
    view = ports(loop)
    if not _is_bounded(loop, at):
        return False
    conditions = (loop.condition, view.next_condition)
    if any(value is not None and not at.is_single(value, DType.BOOL) for value in conditions):
        return False
    return (
        _block_cannot_fail(loop.body, at)
        and all(keeps_kind(loop, port, at) for port in view.carried)
        and all(keeps_element(port, at) for port in view.stacked)
    )


def _is_bounded(loop: Loop, at: PassContext) -> bool:
    """Whether the loop provably ends, and its trip count and slices are valid."""
    if not ports(loop).sliced:
        return at.is_single(loop.trip, DType.INT64)
    return loop.trip is None and scan_length(loop, at) > 0


def keeps_kind(loop: Loop, port: CarriedPort, at: PassContext) -> bool:
    """Whether no iteration can change a carried value's kind, or a Scan state's shape."""
    types = [at.type(value) for value in (port.initial, port.param, port.next)]
    if loop.fixed_state:
        extents = {at.extents(value) for value in (port.initial, port.next)}
        return len(extents) == 1 and None not in extents and len(set(map(_type_string, types))) == 1
    words = set(map(_type_string, types))
    return len(words) == 1 and None not in words


def keeps_element(port: StackedPort, at: PassContext) -> bool:
    """Whether a stacked element provably has the same type and shape in all iterations."""
    shape = at.shape(port.element)
    if shape is None or at.dtype(port.element) is None:
        return False
    rank = len(shape) + 1
    return all(map(_is_fixed, shape)) and -rank <= port.role.axis < rank


def _is_fixed(dim: Dim) -> bool:
    """Whether an extent is a number, or computed from the extents of inputs."""
    match dim:
        case int():
            return True
        case Symbol(name):
            return name.startswith("input ")
        case Expression(terms):
            return all(name.startswith("input ") for names, _ in terms for name in names)
    return False


def runs_at_least_once(loop: Loop, at: PassContext) -> bool:
    """Whether the loop provably runs a first iteration, unless an earlier step fails."""
    if loop.condition is not None and at.truth(loop.condition) is not True:
        return False
    if loop.trip is not None:
        trip = at.whole(loop.trip)
        return trip is not None and trip > 0
    return not ports(loop).sliced or scan_length(loop, at) > 0


def scan_length(loop: Loop, at: PassContext) -> int:
    """The number of items that a loop slices, if it is known; otherwise 0."""
    lengths = set()
    for port in ports(loop).sliced:
        shape, axis = at.shape(port.operand), port.role.axis
        fits = shape is not None and -len(shape) <= axis < len(shape)
        lengths.add(shape[axis] if fits and shape is not None else None)
    found = lengths.pop() if len(lengths) == 1 else None
    return found if isinstance(found, int) else 0
