"""Linear recurrences by recursive doubling: several iterations at once, in the lanes of a vector.

    m[t] = a[t] * m[t-1] + b[t]            for all t of a vector, in log2(lanes) steps:

    a, b = a * (a one lane before), b + a * (b one lane before)        then two lanes, then four
    m = a * (m before the vector) + b

float32 is computed in float64 and rounded where it leaves, so the answer differs from that of one
iteration after the other by what that one rounds. Whole numbers are the same. (Kogge and Stone,
"A parallel algorithm for the efficient solution of a general class of recurrence equations", 1973)

A vector counts only where every |a| is at most 1, every m is far from the largest float32, and no m
is 2**24 times smaller than what it is the sum of: so each has the digits of a float32. Where one
does not, the plain loop does the next iterations, as it does what is left over in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.emit import lanes
from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.linear import NONE, Linear, is_one
from treadle.jit.emit.place import Place
from treadle.jit.emit.poll import cost, tick
from treadle.jit.emit.stack import Stacking
from treadle.jit.emit.types import F32, F64, I1, I8, I32, I64, in_memory, in_register, is_float
from treadle.jit.emit.writer import word
from treadle.jit.kernel_ir import Counter, Item, Map, Node, Reshape, View

_FUSED = ("contract",)
_LARGEST = 2.0**125
_CANCELLED = 2.0**24
_PLAIN = 64
"""How many iterations the plain loop does where a vector does not count."""


@dataclass(eq=False, slots=True)
class _Sweep:
    """Some iterations while they are written: where the values of the lanes are, by node.

    `before` are variables of what the states were before them, in every lane; `checks` must hold.
    """

    e: Emitter
    linear: Linear
    first: Any
    before: dict[Node, Any]
    values: dict[Node, Any] = field(default_factory=dict)
    parts: dict[tuple[Node, Node], tuple[Any, ...]] = field(default_factory=dict)
    checks: list[Any] = field(default_factory=list)

    def many(self, value: Any) -> Any:
        return lanes.splat(self.e.w, value, self.linear.lanes)

    def vector(self, type_: Any) -> Any:
        return llvm.VectorType(type_, self.linear.lanes)


def sweep(
    e: Emitter, linear: Linear, counter: Any, limit: Any, stop: Any, stacks: Sequence[Stacking]
) -> Any:
    """As many iterations as there are lanes, again and again; `counter` says which come next.

    The plain loop goes on from there and ends before the iteration in `stop`; where that is not
    the limit, it branches back to the block that this gives.
    """
    b, w, op = e.w.builder, e.w, linear.op
    e.counts["linear"] += 1
    again, head, body, kept, failed, after = (
        w.function.append_basic_block(n)
        for n in ("again", "lanes", "vector", "kept", "failed", "rest")
    )
    b.branch(again)
    b.position_at_end(again)
    b.store(limit, stop)
    before = {}
    for k, state in enumerate(op.states):
        (variable,) = e.parts[linear.node, k]
        start = b.load(variable, typ=in_register(state.dtype))
        start = lanes.splat(w, _widened(e, start, state.dtype), linear.lanes)
        before[state] = w.variable(start.type, start)
    b.branch(head)
    b.position_at_end(head)
    first = b.load(counter, typ=I64)
    behind = b.add(first, w.index(linear.lanes))
    b.cbranch(b.icmp_signed("<=", behind, limit), body, after)
    b.position_at_end(body)
    tick(e, op.body, cost(op.body) * linear.lanes // 4)
    with e.t.scope():
        s = _Sweep(e, linear, first, before)
        nexts = {op.states[k]: _solve(s, op.states[k], op.nexts[k]) for k in linear.order}
        elements = [_value(s, stack.element) for stack in stacks]
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
    soon = b.add(first, w.index(_PLAIN))
    b.store(w.intrinsic("llvm.smin", I64, soon, limit), stop)
    b.branch(after)
    b.position_at_end(after)
    for k, state in enumerate(op.states):
        last = b.load(before[state], typ=before[state].allocated_type)
        one = b.extract_element(last, w.index(0))
        b.store(_narrowed(e, one, state.dtype), e.parts[linear.node, k][0])
    return again


def _solve(s: _Sweep, state: Node, after: Node) -> Any:
    """What the state is after each of the iterations, wide; what it was before is left in `s`."""
    earlier = s.e.w.builder.load(s.before[state], typ=s.vector(_wide(state.dtype)))
    factor, term = _parts(s, after, state)
    found = term if factor is None else _found(s, state, factor, term, earlier)
    narrow = _narrowed(s.e, found, state.dtype)
    s.values[state] = _chosen(s, _turned(s, narrow, 1), _narrowed(s.e, earlier, state.dtype), 1)
    s.values[after] = narrow
    return found


def _found(s: _Sweep, state: Node, factor: Any, term: Any, earlier: Any) -> Any:
    """What the state is after each iteration, by what it was before all of them."""
    whole, scanned = _scanned(s, state.dtype, factor, term)
    kept = _times(s, whole, earlier)
    found = _plus(s, kept, scanned)
    if is_float(state.dtype):
        one, largest = (_every(s, found.type, number) for number in (1.0, _LARGEST))
        size = _size(s, found)
        _expect(s, "<=", _size(s, factor), one)
        _expect(s, "<", size, largest)
        if term is not None:
            most = s.many(_most(s, _size(s, term), _size(s, kept)))
            _expect(s, ">=", _times(s, size, _every(s, found.type, _CANCELLED)), most)
    return found


def _expect(s: _Sweep, sign: str, left: Any, right: Any) -> None:
    s.checks.append(s.e.w.builder.fcmp_ordered(sign, left, right))


def _size(s: _Sweep, vector: Any) -> Any:
    return s.e.w.intrinsic("llvm.fabs", vector.type, vector)


def _every(s: _Sweep, vector: Any, number: float) -> Any:
    return llvm.Constant(vector, [number] * s.linear.lanes)


def _most(s: _Sweep, left: Any, right: Any) -> Any:
    """The largest of two vectors of numbers that are not below 0; NaN where there is one."""
    w, b, bits = s.e.w, s.e.w.builder, s.vector(I64)
    both = w.intrinsic("llvm.smax", bits, b.bitcast(left, bits), b.bitcast(right, bits))
    fold = w.external(f"llvm.vector.reduce.smax.{word(bits)}", I64, bits)
    return b.bitcast(b.call(fold, [both]), F64)


def _scanned(s: _Sweep, dtype: DType, factor: Any, term: Any) -> tuple[Any, Any]:
    """The factor and the term of each lane in what the state was before all of them."""
    vector = s.vector(_wide(dtype))
    one, zero = llvm.Constant(vector, [1] * s.linear.lanes), llvm.Constant(vector, None)
    step = 1
    while step < s.linear.lanes:
        if term is not None:
            reaching = _chosen(s, factor, zero, step)
            term = _plus(s, term, _times(s, reaching, _turned(s, term, step)))
        factor = _times(s, factor, _chosen(s, _turned(s, factor, step), one, step))
        step *= 2
    return factor, term


def _turned(s: _Sweep, vector: Any, step: int) -> Any:
    """Each lane has what was `step` lanes before, the first ones that of the last."""
    count = s.linear.lanes
    return _shuffled(s, vector, [(lane - step) % count for lane in range(count)])


def _chosen(s: _Sweep, vector: Any, first: Any, step: int) -> Any:
    """The vector, but for the first `step` lanes."""
    is_first = llvm.Constant(s.vector(I1), [lane < step for lane in range(s.linear.lanes)])
    return s.e.w.builder.select(is_first, first, vector)


def _shuffled(s: _Sweep, vector: Any, lanes: Sequence[int]) -> Any:
    nothing = llvm.Constant(vector.type, llvm.Undefined)
    places = llvm.Constant(s.vector(I32), list(lanes))
    return s.e.w.builder.shuffle_vector(vector, nothing, places)


def _parts(s: _Sweep, node: Node, state: Node) -> tuple[Any, ...]:
    """The factor and the term of a node that is linear in the state, wide; None: nothing."""
    if (node, state) not in s.parts:
        s.parts[node, state] = _parted(s, node, state)
    return s.parts[node, state]


def _parted(s: _Sweep, node: Node, state: Node) -> tuple[Any, ...]:
    if node is state:
        return llvm.Constant(s.vector(_wide(state.dtype)), [1] * s.linear.lanes), None
    if state not in s.linear.made.get(node, NONE):
        return None, _widened(s.e, _value(s, node), node.dtype)
    parts = [_parts(s, operand, state) for operand in node.operands]
    match node.op:
        case Map("add"):
            return tuple(_plus(s, left, right) for left, right in zip(*parts, strict=True))
        case Map("sub"):
            return tuple(
                _plus(s, left, _minus(s, right)) for left, right in zip(*parts, strict=True)
            )
        case Map("neg"):
            return tuple(_minus(s, part) for part in parts[0])
        case Map("mul"):
            (late, (_, by)) = parts if parts[1][0] is None else parts[::-1]
            return tuple(_times(s, part, by) for part in late)
        case Map("div"):
            b, by = s.e.w.builder, parts[1][1]
            return tuple(None if part is None else b.fdiv(part, by) for part in parts[0])
    return parts[0]


def _plus(s: _Sweep, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return left if right is None else right
    b = s.e.w.builder
    return b.fadd(left, right, flags=_FUSED) if _is_real(left) else b.add(left, right)


def _times(s: _Sweep, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    b = s.e.w.builder
    return b.fmul(left, right, flags=_FUSED) if _is_real(left) else b.mul(left, right)


def _minus(s: _Sweep, value: Any) -> Any:
    if value is None:
        return None
    b = s.e.w.builder
    return b.fneg(value) if _is_real(value) else b.neg(value)


def _is_real(value: Any) -> bool:
    return not isinstance(value.type.element, llvm.IntType)


def _wide(dtype: DType) -> Any:
    """What a state is computed with."""
    return F64 if is_float(dtype) else in_register(dtype)


def _widened(e: Emitter, value: Any, dtype: DType) -> Any:
    return e.w.builder.fpext(value, _like(value, F64)) if dtype is DType.FLOAT32 else value


def _narrowed(e: Emitter, value: Any, dtype: DType) -> Any:
    return e.w.builder.fptrunc(value, _like(value, F32)) if dtype is DType.FLOAT32 else value


def _like(value: Any, element: Any) -> Any:
    """The type of as many elements as the value has, in a vector where it is one."""
    is_vector = isinstance(value.type, llvm.VectorType)
    return llvm.VectorType(element, value.type.count) if is_vector else element


def _all(s: _Sweep) -> Any:
    """Whether everything that must hold does."""
    b, vector = s.e.w.builder, s.vector(I1)
    held = llvm.Constant(vector, [1] * s.linear.lanes)
    for check in s.checks:
        held = b.and_(held, check)
    fold = s.e.w.external(f"llvm.vector.reduce.and.{word(vector)}", I1, vector)
    return b.call(fold, [held])


def _value(s: _Sweep, node: Node) -> Any:
    """The values of a node in all lanes."""
    if node not in s.values:
        s.values[node] = _computed(s, node)
    return s.values[node]


def _computed(s: _Sweep, node: Node) -> Any:
    e, w = s.e, s.e.w
    if node.home is not s.linear.op.body:
        return s.many(e.t.scalar(node))
    match node.op:
        case Counter():
            return w.builder.add(s.many(s.first), lanes.numbers(w, s.linear.lanes))
        case View() | Reshape():
            return _value(s, node.operands[0])
        case Item():
            return _item(s, node)
    return lanes.mapped(w, node, e.t.chains.get(node), partial(_value, s))


def _item(s: _Sweep, node: Node) -> Any:
    """The items of these iterations, from memory at once where they are one after the other."""
    e, b, op, count = s.e, s.e.w.builder, node.op, s.linear.lanes
    assert isinstance(op, Item)
    source = node.operands[0]
    length = e.t.extent(source.shape[op.axis])
    begin = s.first
    if op.reverse:
        begin = b.sub(e.w.index(length), e.w.add(s.first, count))

    def index(lane: int) -> tuple[Any, ...]:
        return tuple(e.w.add(begin, lane) if k == op.axis else 0 for k in range(len(source.shape)))

    is_there = e.t.place(source) is not Place.INLINE and e.t.is_in_memory(source)
    buffer = e.t.buffer(source) if is_there else None
    if buffer is not None and is_one(buffer.strides[op.axis]):
        found = _loaded(s, buffer, index(0))
    else:
        found = llvm.Constant(s.vector(in_register(node.dtype)), llvm.Undefined)
        for lane in range(count):
            found = b.insert_element(found, e.t.read(source, index(lane)), e.w.index(lane))
    return _reversed(s, found) if op.reverse else found


def _loaded(s: _Sweep, buffer: Buffer, index: tuple[Any, ...]) -> Any:
    e, b, vector = s.e, s.e.w.builder, s.vector(in_memory(buffer.dtype))
    place = e.t.address(buffer, index)
    found = b.load(place, typ=vector, align=buffer.dtype.numpy.itemsize)
    e.t.aliases.mark(found, buffer.scope)
    is_bool = buffer.dtype is DType.BOOL
    return b.icmp_unsigned("!=", found, llvm.Constant(vector, None)) if is_bool else found


def _put(s: _Sweep, stack: Stacking, element: Any) -> None:
    """The elements of these iterations, into the memory that they are stacked in."""
    e, b = s.e, s.e.w.builder
    dtype, first = stack.part.dtype, s.first
    if stack.stack.reverse:
        element, first = _reversed(s, element), e.w.add(first, s.linear.lanes - 1)
    if dtype is DType.BOOL:
        element = b.zext(element, s.vector(I8))
    room = stack.room(e, first)
    stored = b.store(element, room.pointer, align=dtype.numpy.itemsize)
    e.t.aliases.mark(stored, room.scope)


def _reversed(s: _Sweep, vector: Any) -> Any:
    return _shuffled(s, vector, [*range(s.linear.lanes)][::-1])
