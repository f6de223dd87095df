"""Linear recurrences by parallel prefix: several iterations at once in vector lanes.

    m[t] = a[t] * m[t-1] + b[t]            for all t of a vector, in log2(lanes) steps:

    a, b = a * (a one lane before), b + a * (b one lane before)        then two lanes, then four
    m = a * (m before the vector) + b

float32 is computed in float64 and rounded at the end, so results differ from sequential evaluation
by its rounding errors. Integers are identical. (Kogge and Stone, "A parallel algorithm for the
efficient solution of a general class of recurrence equations", 1973)

A vector is accepted only if every |a| is at most 1, every m is far from the largest float32, and no
m is 2**24 times smaller than its summands, so that each has the precision of a float32. Otherwise
the plain loop runs the next iterations, as it does for the remainder at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.carried.stacked import StackedOutput
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import i64
from treadle.jit.codegen.llvm_types import (
    F32,
    F64,
    I1,
    I32,
    I64,
    like,
    register_type,
    undefined,
    zeros,
)
from treadle.jit.codegen.loops.lane_values import LaneValues, lane_numbers
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Elementwise, InductionVar, Node, ScanSlice, op_of
from treadle.jit.schedule.loops.linear_recurrence import ParallelPrefix

_FUSED = ("contract",)
_LARGEST = 2.0**125
_CANCELLED = 2.0**24


@dataclass(eq=False, slots=True)
class _PrefixScan(LaneValues):
    """Some iterations, a lane each, while they are emitted; `first` is the first one.

    `before` are variables of the states before them, in every lane; `checks` must hold.
    """

    linear: ParallelPrefix
    first: Any
    before: dict[Node, Any]
    parts: dict[tuple[Node, Node], tuple[Any, ...]] = field(default_factory=dict)
    checks: list[Any] = field(default_factory=list)

    def own(self, node: Node) -> Any:
        """The numbers of the iterations, and their items."""
        if isinstance(node.op, InductionVar):
            return self.context.builder.builder.add(self.many(self.first), lane_numbers(self.lanes))
        return _item(self, node) if isinstance(node.op, ScanSlice) else None


def emit_prefix_scan(
    context: CodegenContext,
    linear: ParallelPrefix,
    counter: Any,
    limit: Any,
    stop: Any,
    stacks: Sequence[StackedOutput],
) -> Any:
    """Run groups of as many iterations as there are lanes; `counter` is the next iteration.

    The plain loop continues from there and ends before the iteration in `stop`; if that is not the
    limit, it branches back to the block that this function returns.
    """
    b, w, op = context.builder.builder, context.builder, linear.op
    context.counts["linear"] += 1
    names = ("again", "lanes", "vector", "kept", "failed", "rest")
    again, head, body, kept, failed, after = w.blocks(*names)
    w.enter(again)
    b.store(limit, stop)
    before = {}
    for k, state in enumerate(op.states):
        (variable,) = context.results.values[linear.node, k]
        start = b.load(variable, typ=register_type(state.dtype))
        start = w.splat(_widened(context, start, state.dtype), linear.lanes)
        before[state] = w.variable(start.type, start)
    w.enter(head)
    first = b.load(counter, typ=I64)
    behind = b.add(first, w.index(linear.lanes))
    b.cbranch(b.icmp_signed("<=", behind, limit), body, after)
    b.position_at_end(body)
    poll_after(context, context.schedule.iterations[linear.node].group)
    with context.access.scope():
        s = _PrefixScan(context, op.body, linear.lanes, linear, first, before)
        nexts = {op.states[k]: _solve(s, op.states[k], op.nexts[k]) for k in linear.order}
        elements = [s.of(stack.element) for stack in stacks]
        b.cbranch(_all(s), kept, failed)
        b.position_at_end(kept)
        for stack, element in zip(stacks, elements, strict=True):
            _put(s, stack, element)
        for state in op.states:
            last = _shuffled(s, nexts[state], [linear.lanes - 1] * linear.lanes)
            b.store(last, before[state])
    b.store(behind, counter)
    b.branch(head)
    b.position_at_end(failed)
    soon = b.add(first, w.index(linear.plain))
    b.store(w.least(soon, limit), stop)
    w.enter(after)
    for k, state in enumerate(op.states):
        last = b.load(before[state], typ=before[state].allocated_type)
        one = b.extract_element(last, w.index(0))
        b.store(_narrowed(context, one, state.dtype), context.results.values[linear.node, k][0])
    return again


def _solve(sweep: _PrefixScan, state: Node, after: Node) -> Any:
    """The state after each iteration, in wide precision; its value before is left in `s`."""
    earlier = sweep.context.builder.builder.load(
        sweep.before[state], typ=sweep.vector(_wide(state.dtype))
    )
    factor, term = _parts(sweep, after, state)
    found = term if factor is None else _found(sweep, state, factor, term, earlier)
    narrow = _narrowed(sweep.context, found, state.dtype)
    sweep.values[state] = _shifted(sweep, narrow, _narrowed(sweep.context, earlier, state.dtype), 1)
    sweep.values[after] = narrow
    return found


def _found(sweep: _PrefixScan, state: Node, factor: Any, term: Any, earlier: Any) -> Any:
    """The state after each iteration, from its value before all of them."""
    whole, scanned = _scanned(sweep, state.dtype, factor, term)
    kept = _times(sweep, whole, earlier)
    found = _plus(sweep, kept, scanned)
    if is_float(state.dtype):
        one, largest = (_every(sweep, found.type, number) for number in (1.0, _LARGEST))
        size = _size(sweep, found)
        _expect(sweep, "<=", _size(sweep, factor), one)
        _expect(sweep, "<", size, largest)
        if term is not None:
            most = sweep.many(_most(sweep, _size(sweep, term), _size(sweep, kept)))
            _expect(sweep, ">=", _times(sweep, size, _every(sweep, found.type, _CANCELLED)), most)
    return found


def _expect(sweep: _PrefixScan, sign: str, left: Any, right: Any) -> None:
    sweep.checks.append(sweep.context.builder.builder.fcmp_ordered(sign, left, right))


def _size(sweep: _PrefixScan, vector: Any) -> Any:
    return sweep.context.builder.intrinsic("llvm.fabs", vector.type, vector)


def _every(sweep: _PrefixScan, vector: Any, number: float) -> Any:
    return llvm.Constant(vector, [number] * sweep.lanes)


def _most(sweep: _PrefixScan, left: Any, right: Any) -> Any:
    """The elementwise maximum of two vectors of nonnegative numbers; NaN propagates."""
    w, b, bits = sweep.context.builder, sweep.context.builder.builder, sweep.vector(I64)
    both = w.intrinsic("llvm.smax", bits, b.bitcast(left, bits), b.bitcast(right, bits))
    fold = w.external(f"llvm.vector.reduce.smax.{i64(bits)}", I64, bits)
    return b.bitcast(b.call(fold, [both]), F64)


def _scanned(sweep: _PrefixScan, dtype: DType, factor: Any, term: Any) -> tuple[Any, Any]:
    """The factor and the term of each lane relative to the state before all iterations."""
    vector = sweep.vector(_wide(dtype))
    one, zero = llvm.Constant(vector, [1] * sweep.lanes), zeros(vector)
    step = 1
    while step < sweep.lanes:
        if term is not None:
            reaching = _chosen(sweep, factor, zero, step)
            term = _plus(sweep, term, _times(sweep, reaching, _rotated(sweep, term, step)))
        factor = _times(sweep, factor, _shifted(sweep, factor, one, step))
        step *= 2
    return factor, term


def _rotated(sweep: _PrefixScan, vector: Any, step: int) -> Any:
    """Each lane gets the value `step` lanes before it, the first ones those of the last."""
    count = sweep.lanes
    return _shuffled(sweep, vector, [(lane - step) % count for lane in range(count)])


def _shifted(sweep: _PrefixScan, vector: Any, first: Any, step: int) -> Any:
    """Each lane gets the value `step` lanes before it, the first ones that of `first`."""
    count = sweep.lanes
    places = [lane if lane < step else count + lane - step for lane in range(count)]
    return sweep.context.builder.builder.shuffle_vector(
        first, vector, llvm.Constant(sweep.vector(I32), places)
    )


def _chosen(sweep: _PrefixScan, vector: Any, first: Any, step: int) -> Any:
    """The vector with its first `step` lanes replaced."""
    is_first = llvm.Constant(sweep.vector(I1), [lane < step for lane in range(sweep.lanes)])
    return sweep.context.builder.builder.select(is_first, first, vector)


def _shuffled(sweep: _PrefixScan, vector: Any, lanes: Sequence[int]) -> Any:
    nothing = undefined(vector.type)
    places = llvm.Constant(sweep.vector(I32), list(lanes))
    return sweep.context.builder.builder.shuffle_vector(vector, nothing, places)


def _parts(sweep: _PrefixScan, node: Node, state: Node) -> tuple[Any, ...]:
    """The factor and the term of a node that is linear in the state, in wide precision.

    None: zero.
    """
    if (node, state) not in sweep.parts:
        sweep.parts[node, state] = _parted(sweep, node, state)
    return sweep.parts[node, state]


def _parted(sweep: _PrefixScan, node: Node, state: Node) -> tuple[Any, ...]:
    if node is state:
        return llvm.Constant(sweep.vector(_wide(state.dtype)), [1] * sweep.lanes), None
    if state not in sweep.linear.dependence.states_of(node):
        return None, _widened(sweep.context, sweep.of(node), node.dtype)
    parts = [_parts(sweep, operand, state) for operand in node.operands]
    match node.op:
        case Elementwise("add"):
            return tuple(_plus(sweep, left, right) for left, right in zip(*parts, strict=True))
        case Elementwise("sub"):
            return tuple(
                _plus(sweep, left, _minus(sweep, right)) for left, right in zip(*parts, strict=True)
            )
        case Elementwise("neg"):
            return tuple(_minus(sweep, part) for part in parts[0])
        case Elementwise("mul"):
            (late, (_, by)) = parts if parts[1][0] is None else parts[::-1]
            return tuple(_times(sweep, part, by) for part in late)
        case Elementwise("div"):
            b, by = sweep.context.builder.builder, parts[1][1]
            return tuple(None if part is None else b.fdiv(part, by) for part in parts[0])
    return parts[0]


def _plus(sweep: _PrefixScan, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return left if right is None else right
    b = sweep.context.builder.builder
    return b.fadd(left, right, flags=_FUSED) if _is_real(left) else b.add(left, right)


def _times(sweep: _PrefixScan, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    b = sweep.context.builder.builder
    return b.fmul(left, right, flags=_FUSED) if _is_real(left) else b.mul(left, right)


def _minus(sweep: _PrefixScan, value: Any) -> Any:
    if value is None:
        return None
    b = sweep.context.builder.builder
    return b.fneg(value) if _is_real(value) else b.neg(value)


def _is_real(value: Any) -> bool:
    return not isinstance(value.type.element, llvm.IntType)


def _wide(dtype: DType) -> Any:
    """The precision in which a state is computed."""
    return F64 if is_float(dtype) else register_type(dtype)


def _widened(context: CodegenContext, value: Any, dtype: DType) -> Any:
    return (
        context.builder.builder.fpext(value, like(value.type, F64))
        if dtype is DType.FLOAT32
        else value
    )


def _narrowed(context: CodegenContext, value: Any, dtype: DType) -> Any:
    return (
        context.builder.builder.fptrunc(value, like(value.type, F32))
        if dtype is DType.FLOAT32
        else value
    )


def _all(sweep: _PrefixScan) -> Any:
    """Whether all checks hold."""
    b, vector = sweep.context.builder.builder, sweep.vector(I1)
    all_hold = llvm.Constant(vector, [1] * sweep.lanes)
    for check in sweep.checks:
        all_hold = b.and_(all_hold, check)
    fold = sweep.context.builder.external(f"llvm.vector.reduce.and.{i64(vector)}", I1, vector)
    return b.call(fold, [all_hold])


def _item(sweep: _PrefixScan, node: Node) -> Any:
    """The items of these iterations, loaded at once if they are contiguous in memory."""
    e, b, count = sweep.context, sweep.context.builder.builder, sweep.lanes
    op, source = op_of(node, ScanSlice), node.operands[0]
    length = e.access.extent(source.shape[op.axis])
    begin = sweep.first
    if op.reverse:
        begin = b.sub(e.builder.index(length), e.builder.add(sweep.first, count))

    def index(lane: int) -> tuple[Any, ...]:
        return tuple(
            e.builder.add(begin, lane) if k == op.axis else 0 for k in range(len(source.shape))
        )

    if e.schedule.order.has_neighbours(source, op.axis):
        found = sweep.loaded(e.access.buffer(source), index(0))
    else:
        found = undefined(sweep.vector(register_type(node.dtype)))
        for lane in range(count):
            found = b.insert_element(
                found, e.access.read(source, index(lane)), e.builder.index(lane)
            )
    return _reversed(sweep, found) if op.reverse else found


def _put(sweep: _PrefixScan, stack: StackedOutput, element: Any) -> None:
    """Store the elements of these iterations to the memory of their stack."""
    first = sweep.first
    if stack.stack.reverse:
        element = _reversed(sweep, element)
        first = sweep.context.builder.add(first, sweep.lanes - 1)
    sweep.store(stack.room(sweep.context, first), element)


def _reversed(sweep: _PrefixScan, vector: Any) -> Any:
    return _shuffled(sweep, vector, [*range(sweep.lanes)][::-1])
