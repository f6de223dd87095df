"""Lowers Loop and Scan."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from treadle import ir
from treadle.ir import DType
from treadle.jit.kernel.builder import WrongElementGuess
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Constant,
    DimOf,
    Empty,
    Loop,
    Node,
    Number,
    Result,
    Stack,
    SymbolicDim,
    op_of,
)
from treadle.jit.kernel.traversal import is_inside
from treadle.jit.lowering.boxing import (
    appended,
    boxed,
    is_unboxable,
    keep_shape,
    nothing,
    release_boxes,
    rows,
    stacked,
    types_of,
    unboxed,
)
from treadle.jit.lowering.changing_dims import (
    ChangingAxes,
    assume_fixed,
    changing_axes,
    declared_fixed_axes,
    lost_axes,
)
from treadle.jit.lowering.loop_body import Given, LoopBody, add_parameters
from treadle.jit.lowering.loop_peeling import is_broadcast_once, lower_peeled
from treadle.jit.lowering.lowering_builder import LowerBlock, LoweringBuilder
from treadle.jit.lowering.operands import native_operands, present_operands, scalar
from treadle.jit.lowering.sequences.uniform import emptied, empty
from treadle.jit.lowering.zero_trip import is_known_symbol, known_symbols


def lower_loop(
    builder: LoweringBuilder, step: ir.Loop, given: Given, lower: LowerBlock
) -> Sequence[Node]:
    """The results of a Loop node; `given` are (trip?, condition?, *operands).

    The body is lowered for carried values of fixed shapes; if it changes a shape, it is lowered
    again with that extent dynamic, and with a value boxed if it has no native form. If the first
    iteration broadcasts the values, and no other changes a shape, it is peeled off.
    """
    found = _lowered(builder, step, given, lower)
    assert found is not None
    return found


def _lowered(
    builder: LoweringBuilder,
    step: ir.Loop,
    given: Given,
    lower: LowerBlock,
    *,
    is_peeled: bool = False,
) -> Sequence[Node] | None:
    """The results; `is_peeled`: of all iterations but the first, None if one changes a shape."""
    trip, condition, *operands = given
    trip, condition = (
        native_operands(builder, trip, step.trip),
        native_operands(builder, condition, step.condition),
    )
    trip = scalar(builder, trip, "a trip count", (DType.INT64, DType.INT32))
    condition = _going_on(scalar(builder, condition, "a condition", (DType.BOOL,)))
    around = [node for node in (trip, condition) if node is not None]
    count = None if trip is None else builder.most(builder.number(trip), 0)
    declared = declared_fixed_axes(step) if builder.may_assume else frozenset()
    changing = lost = lost_axes(step, operands) - declared
    operands = _typed(builder, step, operands)
    boxed_states, learnt = _held(builder, step, operands), set[int]()
    mark = builder.mark()
    for _ in range(_most_tries(operands)):
        block = Block("body", builder.block, is_loop=True)
        made = LoopBody(block, boxed_states, first=int(is_peeled))
        try:
            _write(builder, made, step, operands, changing, declared, lower)
        except WrongElementGuess as mistake:
            builder.back(mark)
            operands, boxed_states = _corrected(builder, step, made, operands, mistake, learnt)
            mark = builder.mark()
            continue
        not_native = _foreign(builder, made)
        more_changing = (
            changing_axes(made.states, made.nexts) if not_native <= boxed_states else changing
        )
        if more_changing < lost and changing is lost:  # inference knows less of extents than here
            changing = more_changing
            builder.back(mark)
            continue
        if more_changing <= changing and not_native <= boxed_states:
            break
        if is_peeled:
            return None
        can_peel = not changing and is_broadcast_once(builder, step, made)
        builder.back(mark)
        rest = partial(_lowered, builder, step, lower=lower, is_peeled=True)
        every = (trip, condition, *operands)
        found = lower_peeled(builder, step, every, count, lower, rest) if can_peel else None
        if found is not None:
            return found
        changing, boxed_states = changing | more_changing, boxed_states | not_native
    else:
        raise Declined("the shapes of the carried values change in every attempt to lower the body")
    is_open = condition is not None or made.condition is not None
    extent = None if is_open else made.length if count is None else count
    loop = Loop(
        made.block, trip is not None, condition is not None, made.length, tuple(made.states),
        tuple(made.nexts), made.condition, tuple(made.stacks), extent, step.info.path,
    )  # fmt: skip
    node = builder.add(loop, DType.BOOL, (), *around, *made.initials)
    carried = [_last(builder, node, k, state, changing) for k, state in enumerate(made.states)]
    first, symbols = len(carried), known_symbols(step, operands)
    stacks = iter(
        [_stacked(builder, node, stack, first + k) for k, stack in enumerate(made.stacks)]
    )
    count = len(_carried(step))
    results = carried[:count]
    for k, (element, role) in enumerate(zip(made.elements, step.stacks, strict=True), start=count):
        is_read = step.results[k] is not None
        if element in builder.objects:
            rows = carried[made.rows[k - count]] if is_read else None
            results.append(nothing(builder) if rows is None else _held_stack(builder, rows, role))
            continue
        results.append(part := next(stacks))
        if is_read and not (is_peeled or is_known_symbol(step, 1 + k, element, symbols)):
            _expect_some(builder, part.shape[role.axis % len(part.shape)])
    return results


def _expect_some(builder: LoweringBuilder, count: Number) -> None:
    if count == 0:
        raise Declined("no iteration, and the shape of a stacked result is not known without one")
    if isinstance(count, SymbolicDim):
        builder.expect(builder.compare("greater", count, 0))


def _most_tries(operands: Given) -> int:
    return 2 + sum(1 + len(node.shape) for node in operands if node is not None)


def _last(
    builder: LoweringBuilder, loop: Node, number: int, state: Node, changing: ChangingAxes
) -> Node:
    shape = [
        builder.number(builder.add(DimOf(number, axis), DType.INT64, (), loop))
        if (number, axis) in changing
        else extent
        for axis, extent in enumerate(state.shape)
    ]
    last = builder.add(Result(number), state.dtype, tuple(shape), loop)
    if state in builder.objects:
        builder.objects.add(last)
    return last


def _stacked(builder: LoweringBuilder, loop: Node, stack: Stack, number: int) -> Node:
    op = op_of(loop, Loop)
    shape: list[Number | None] = list(stack.element.shape)
    shape.insert(stack.axis, op.extent)
    told = [
        builder.number(builder.add(DimOf(number, axis), DType.INT64, (), loop))
        if extent is None or is_inside(extent, op.body)
        else extent
        for axis, extent in enumerate(shape)
    ]
    return builder.add(Result(number), stack.element.dtype, tuple(told), loop)


def _write(
    builder: LoweringBuilder,
    made: LoopBody,
    step: ir.Loop,
    operands: Given,
    changing: ChangingAxes,
    declared: ChangingAxes,
    lower: LowerBlock,
) -> None:
    outer = builder.block
    given = _boxed(builder, step, operands, made.boxed_states)
    builder.block = made.block
    add_parameters(builder, step, given, changing, made)
    results = lower(builder, step.body, made.nodes)
    values = step.body.results
    condition = native_operands(builder, results[0], values[0])
    made.condition = _going_on(scalar(builder, condition, "a condition", (DType.BOOL,)))
    count = len(made.states)
    nexts = [
        boxed(builder, node, value) if k in made.boxed_states else present_operands(node)
        for k, (node, value) in enumerate(zip(results[1 : 1 + count], values[1:], strict=False))
    ]
    if step.fixed_state:
        nexts = [keep_shape(builder, *pair) for pair in zip(made.states, nexts, strict=True)]
    pairs = enumerate(zip(made.states, nexts, strict=True))
    nexts = [assume_fixed(builder, k, *pair, declared - changing) for k, pair in pairs]
    made.elements = [_given(builder, step, results, 1 + count + k) for k in range(len(step.stacks))]
    for k, (element, role) in enumerate(zip(made.elements, step.stacks, strict=True)):
        is_read = step.results[count + k] is not None
        if element in builder.objects:
            nexts += _carry_rows(builder, made, k, element, outer) if is_read else ()
            continue
        axis = role.axis % (len(element.shape) + 1)
        made.stacks.append(Stack(element, axis, role.reverse, is_read))
    made.nexts = release_boxes(builder, made.block, nexts, outer)
    builder.block = outer


def _carry_rows(
    builder: LoweringBuilder, made: LoopBody, number: int, element: Node, outer: Block
) -> Sequence[Node]:
    """The boxed list of a stacked output, with this element appended: one more carried value."""
    builder.block = outer
    initial = rows(builder)
    builder.block = made.block
    state = builder.param(CarriedArg(len(made.states)), initial.dtype, ())
    builder.objects.add(state)
    made.rows[number] = len(made.states)
    made.states.append(state)
    made.initials.append(initial)
    return [appended(builder, state, element)]


def _carried(step: ir.Loop) -> list[int]:
    """The operand that each carried value starts from."""
    roles = [role for role in step.roles if not isinstance(role, ir.Iteration | ir.Condition)]
    return [index for index, role in enumerate(roles) if isinstance(role, ir.Carried)]


def _held(builder: LoweringBuilder, step: ir.Loop, operands: Given) -> frozenset[int]:
    """The carried values, by number, that are boxed from the start."""
    initials = [operands[index] for index in _carried(step)]
    return frozenset(
        number for number, node in enumerate(initials) if node is None or node in builder.objects
    )


def _boxed(
    builder: LoweringBuilder, step: ir.Loop, operands: Given, boxed_states: frozenset[int]
) -> Sequence[Node | None]:
    """The operands, with the initial values of boxed carried values boxed."""
    made = list(operands)
    for number, index in enumerate(_carried(step)):
        if number in boxed_states:
            made[index] = boxed(builder, made[index], step.operands[index])
    return made


def _typed(builder: LoweringBuilder, step: ir.Loop, operands: Given) -> list[Node | None]:
    """The operands; empty sequences get elements of the param's shape, as far as it is known."""
    roles = [role for role in step.roles if not isinstance(role, ir.Iteration | ir.Condition)]
    carried = iter(ir.ports(step).carried)
    ports = [next(carried) if isinstance(role, ir.Carried) else None for role in roles]
    symbols = known_symbols(step, operands)
    return [
        node if port is None else emptied(builder, node, port.param, symbols)
        for node, port in zip(operands, ports, strict=True)
    ]


def _corrected(
    builder: LoweringBuilder,
    step: ir.Loop,
    made: LoopBody,
    operands: Given,
    mistake: WrongElementGuess,
    learnt: set[int],
) -> tuple[list[Node | None], frozenset[int]]:
    """The operands, with a wrongly guessed empty sequence corrected, or boxed.

    It is boxed if an extent of its elements is known only inside the body, and if a guess failed
    before: `learnt` are the numbers of those.
    """
    if mistake.state not in made.states:
        raise mistake
    number = made.states.index(mistake.state)
    initial = made.initials[number]
    is_known = number not in learnt and all(
        _is_written(builder, extent) for extent in mistake.shape
    )
    if isinstance(initial.op, CarriedArg) and is_known:
        raise WrongElementGuess(initial, mistake.dtype, mistake.shape)
    if not is_known or not isinstance(initial.op, Empty):
        return list(operands), made.boxed_states | {number}
    learnt.add(number)
    corrected = list(operands)
    corrected[_carried(step)[number]] = empty(builder, mistake.dtype, mistake.shape)
    return corrected, made.boxed_states


def _is_written(builder: LoweringBuilder, extent: Number) -> bool:
    """Whether the definition of the extent remains when the body is lowered again."""
    source = extent.source if isinstance(extent, SymbolicDim) else None
    if source is None:
        return True
    return source.home in builder.block.outward() and source in source.home.nodes


def _foreign(builder: LoweringBuilder, made: LoopBody) -> frozenset[int]:
    """The carried values that cannot be native, by number."""
    pairs = enumerate(zip(made.states, made.nexts, strict=True))
    return frozenset(
        number
        for number, (state, after) in pairs
        if number not in made.rows.values()
        and (after in builder.objects or _kind(state) != _kind(after))
    )


def _kind(node: Node) -> tuple[DType, int]:
    return node.dtype, len(node.shape)


def _given(builder: LoweringBuilder, step: ir.Loop, results: Given, number: int) -> Node:
    """A result of a body as a native tensor; boxed if it has no native form."""
    claimed = [step.body.claims[number].type] if step.body.claims else []
    types, node = types_of(step.body.results[number]) + claimed, present_operands(results[number])
    return unboxed(builder, node, types) if is_unboxable(types) else node


def _held_stack(builder: LoweringBuilder, rows: Node, role: ir.Stacked) -> Node:
    return stacked(builder, rows, role.axis, reverse=role.reverse)


def _going_on(condition: Node | None) -> Node | None:
    """The loop condition; None for one that is always true."""
    if condition is not None and isinstance(condition.op, Constant) and condition.op.array.all():
        return None
    return condition
