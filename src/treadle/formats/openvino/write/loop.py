"""Loop and Scan: a Loop layer, or a TensorIterator where the loop only slices.

                  Loop                                            TensorIterator
    Invariant     a Parameter with a port of its own; a constant is one of the body
    Carried       a Parameter with a back edge from the Result of what comes next
    Sliced        all of it, of which the body gathers an item    parts of one element, squeezed
    Iteration     a Parameter that no port feeds                  never
    Stacked       a Result unsqueezed and concatenated

A TensorIterator needs at least one iteration, and cannot be nested in another one: a Scan of
unknown length, or inside a TensorIterator, becomes a Loop. A loop that never runs becomes its
initial values and empty stacks. If it may run no iteration, the stacks are cut to the counted
number of iterations: OpenVINO leaves rows of an earlier run in them. A carried value that the body
does not read is not a Parameter: OpenVINO would remove it and lose the initial value. A carried
value whose shape may change is an output even if nothing reads it: otherwise OpenVINO's CPU plugin
continues with the value of an earlier iteration. A negative trip count means no iteration in ONNX,
but unlimited in OpenVINO.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from treadle.formats.openvino.records import BackEdge, PortEntry
from treadle.formats.openvino.write.control import Feeding, Inside, control_layer
from treadle.formats.openvino.write.liveness import depends_on_slices, kept_carried
from treadle.formats.openvino.write.loop_outputs import cut, hung_on, last_or_first, turned_over
from treadle.formats.openvino.write.net_builder import Wire, copy, is_parameter
from treadle.formats.openvino.write.refusals import Refusal, expect_operands
from treadle.formats.openvino.write.scope import Scope, tensor_of
from treadle.formats.openvino.write.workaround_folding import prevent_folding
from treadle.formats.openvino.write.workaround_inplace import protect_from_inplace
from treadle.ir import (
    CarriedPort,
    DType,
    Literal,
    Loop,
    Ports,
    SlicedPort,
    StackedPort,
    Tensor,
    Value,
    ports,
)

_UNBOUNDED = np.array(-1)
_MOST_TRIPS = 2**31 - 1
_ONE, _COUNT, _COUNTS = (Tensor(DType.INT64, shape) for shape in ((), (1,), (None,)))


def write(scope: Scope, loop: Loop, path: str) -> None:
    """Bind the needed results of a loop."""
    views = ports(loop)
    if loop in scope.writing.knowledge.idle:
        _idle(scope, views)
        return
    expect_operands(views)
    _Writer(scope, loop, views, path).write()


def _idle(scope: Scope, views: Ports) -> None:
    for port in views.carried:
        if port.result is not None and scope.needs(port.result) and port.initial is not None:
            scope.bind(port.result, scope.wire(port.initial))
    for stack in views.stacked:
        if stack.result is not None and scope.needs(stack.result):
            scope.bind(stack.result, scope.draft.constant(_empty(stack)))


def _empty(stack: StackedPort) -> Literal:
    """A stack without rows: 0 for every unknown extent."""
    element = stack.element
    type_ = tensor_of(element.name if element else "", element.type if element else None)
    if type_.shape is None or type_.dtype is None:
        raise Refusal("it never runs, and the rank of a stacked element is not known")
    extents = [dim if isinstance(dim, int) else 0 for dim in type_.shape]
    extents.insert(stack.role.axis % (len(extents) + 1), 0)
    return Literal(np.zeros(extents, type_.dtype.numpy), type_.dtype)


@dataclass(slots=True)
class _Writer:
    """Writes one loop: Parameters, the body's layers, Results, the layer, and layers after it."""

    outer: Scope
    loop: Loop
    views: Ports
    path: str
    feeding: Feeding = field(default_factory=Feeding)
    types: list[Tensor] = field(default_factory=list)
    results: list[Value | None] = field(default_factory=list)
    counted: int | None = None
    """The output that counts the iterations."""
    iterates: bool = False
    iteration: Wire | None = None
    kept: list[int] = field(default_factory=list)
    """The positions of the carried values that something needs."""
    unread: dict[Value, Value] = field(default_factory=dict)
    """Results of carried values that the body does not read, and their first values."""

    def write(self) -> None:
        """Write all of it."""
        iterates = self.iterates = self._iterates()
        self.kept = kept_carried(self.views, self.outer.writing.needed)
        if not iterates:
            self.feeding.add(self._trip())
            self.feeding.add(self.outer.condition(self.loop.condition))
        inside = Inside(self.outer.inner(of_iterator=iterates), self.feeding)
        params = self._enter(inside)
        self.outer.writing.write_steps(inside.scope, self.loop.body, f"{self.path}.body")
        self._leave(inside, params)
        if self._may_be_idle():
            self._count(inside)
        protect_from_inplace(inside.scope.draft, inside.params)
        if not iterates:
            prevent_folding(self.outer.draft, self.feeding, self.loop.body)
        self._bind(self._layer(inside))

    def _iterates(self) -> bool:
        """Whether it can be a TensorIterator: only its slices end it, after at least one iteration.

        Every result must depend on a slice: OpenVINO removes unread slices, and then loses the
        number of iterations.
        """
        known, views = self.outer.writing.knowledge, self.views
        slices = bool(views.sliced) and self.loop.trip is None
        endless = (self.loop.condition, views.next_condition)
        return (
            slices
            and not self.outer.of_iterator
            and not self.outer.needs(views.iteration)
            and all(known.is_true(value) for value in endless)
            and depends_on_slices(self.loop, self.outer.writing.needed)
            and all(_length(port) for port in views.sliced)
        )

    def _trip(self) -> Wire:
        scope, trip = self.outer, self.loop.trip
        if trip is None:
            return self._lengths() if self.views.sliced else scope.draft.constant(_UNBOUNDED)
        known = scope.writing.knowledge.one(trip)
        if known is not None:
            fits = known <= _MOST_TRIPS
            return scope.draft.constant(np.array(int(known)) if fits else _UNBOUNDED)
        scope.draft.origin = f"{self._name()}/trip_count"
        data = {"auto_broadcast": "numpy"}
        wires = (scope.single(trip), scope.draft.constant(np.array(0)))
        (wire,) = scope.draft.layer("Maximum-1", wires, (scope.single(trip).type,), data)
        return wire

    def _lengths(self) -> Wire:
        """The length of its slices, as its trip count."""
        port = self.views.sliced[0]
        assert port.operand is not None, "a sliced input is present"
        draft, known = self.outer.draft, _length(port)
        if known is not None:
            return draft.constant(np.array(known))
        draft.origin = f"{self._name()}/trip_count"
        whole = self.outer.wire(port.operand)
        extents = draft.layer("ShapeOf-3", (whole,), (_COUNTS,), {"output_type": "i64"})
        places = [draft.constant(np.array(index)) for index in (port.role.axis, 0)]
        return draft.layer("Gather-8", (*extents, *places), (_ONE,), {"batch_dims": 0})[0]

    def _name(self) -> str:
        named = [value.name for value in self.loop.results if self.outer.needs(value) and value]
        return self.loop.info.name or named[0]

    # ---- into the body

    def _enter(self, inside: Inside) -> dict[int, Wire]:
        """Add the Parameters.

        Returns those of the carried values that the body reads, by position.
        """
        scope = inside.scope
        if scope.needs(self.views.iteration) or (self.views.sliced and not self.iterates):
            self._number(inside)
        for port in self.views.invariants:
            if port.operand is not None and scope.needs(port.param):
                wire = inside.feed(self.outer.wire(port.operand), port.param.name, port.param.type)
                scope.wires[port.param] = wire
        self._slices(inside)
        params = {}
        for index in self.kept:
            carried = self.views.carried[index]
            if not scope.needs(carried.param):
                continue
            assert carried.initial is not None
            _check_rank(carried)
            params[index] = inside.feed(
                self.outer.wire(carried.initial), carried.param.name, carried.param.type
            )
            scope.wires[carried.param] = params[index]
        return params

    def _number(self, inside: Inside) -> None:
        param = self.views.iteration
        name = param.name if param is not None else "iteration"
        self.iteration = wire = inside.scope.parameter(name, _ONE)
        inside.inputs.append(PortEntry(-1, wire.layer, "current_iteration"))
        if param is not None:
            inside.scope.wires[param] = wire

    def _slices(self, inside: Inside) -> None:
        for port in self.views.sliced:
            if not self.outer.needs(port.param):
                continue
            assert port.operand is not None, "a sliced input is present"
            type_ = tensor_of(port.param.name, port.param.type)
            axis = port.role.axis
            if axis < 0:
                if type_.shape is None:
                    raise Refusal(f"the rank of {port.operand.name}, which it slices, is not known")
                axis += len(type_.shape) + 1
            enter = self._part if self.iterates else self._item
            inside.scope.wires[port.param] = enter(inside, port, axis, type_)

    def _part(self, inside: Inside, port: SlicedPort, axis: int, type_: Tensor) -> Wire:
        """A part of one item along the axis, squeezed."""
        assert port.operand is not None, "a sliced input is present"
        assert type_.shape is not None, "its length is known"
        part = Tensor(type_.dtype, (*type_.shape[:axis], 1, *type_.shape[axis:]))
        name, outer = f"{port.param.name}/slice", self.outer.wire(port.operand)
        wire = inside.feed(outer, name, part, _steps(axis, port.role.reverse))
        inside.scope.draft.origin = port.param.name
        return _turned(inside.scope, "Squeeze-1", wire, axis, type_)

    def _item(self, inside: Inside, port: SlicedPort, axis: int, type_: Tensor) -> Wire:
        """The item of this iteration, gathered from the whole; in reverse at -1 - i."""
        assert port.operand is not None, "a sliced input is present"
        assert self.iteration is not None, "it was written before"
        draft, index = inside.scope.draft, self.iteration
        whole = inside.feed(self.outer.wire(port.operand), f"{port.param.name}/whole",
                            port.operand.type)  # fmt: skip
        draft.origin = port.param.name
        if port.role.reverse:
            last = draft.constant(np.array(-1))
            data = {"auto_broadcast": "numpy"}
            (index,) = draft.layer("Subtract-1", (last, index), (index.type,), data)
        inputs = (whole, index, draft.constant(np.array(axis)))
        return draft.layer("Gather-8", inputs, (type_,), {"batch_dims": 0})[0]

    # ---- out of the body

    def _leave(self, inside: Inside, params: dict[int, Wire]) -> None:
        scope = inside.scope
        if not self.iterates:
            scope.draft.origin = "condition"
            layer = scope.draft.result(scope.condition(self.views.next_condition), "")
            inside.outputs.append(PortEntry(-1, layer, "execution_condition"))
        for index in self.kept:
            port = self.views.carried[index]
            if port.next is None:
                raise Refusal(f"the body gives no next value of {port.param.name}")
            wire = _copied(scope, scope.wire(port.next))
            layer = scope.draft.result(wire, port.next.name)
            if index in params:
                inside.back.append(BackEdge(layer, params[index].layer))
            elif port.result is not None and port.initial is not None:
                self.unread[port.result] = port.initial
            if port.result is not None and self.outer.needs(port.result):
                self._output(inside, port.result, layer)
            elif index in params and _may_change_shape(port):
                self._output(inside, port.next, layer, is_read=False)
        for stack in self.views.stacked:
            if stack.result is not None and self.outer.needs(stack.result):
                self._stack(inside, stack)

    def _output(
        self,
        inside: Inside,
        value: Value,
        layer: int,
        steps: PortEntry | None = None,
        *,
        is_read: bool = True,
    ) -> None:
        """An output of the layer: a result, or a value of the body that is not read further."""
        entry = replace(steps or PortEntry(0, 0), external=len(self.results), internal=layer)
        inside.outputs.append(entry)
        self.results.append(value if is_read else None)
        self.types.append(tensor_of(value.name, value.type))

    def _stack(self, inside: Inside, stack: StackedPort) -> None:
        scope = inside.scope
        assert stack.element is not None, "looked at"
        assert stack.result is not None, "looked at"
        type_ = tensor_of(stack.element.name, stack.element.type)
        axis = stack.role.axis
        if axis < 0:
            if type_.shape is None:
                raise Refusal(f"the rank of {stack.element.name}, which it stacks, is not known")
            axis += len(type_.shape) + 1
        shape = type_.shape
        wide = None if shape is None else (*shape[:axis], 1, *shape[axis:])
        scope.draft.origin = f"{stack.element.name}/row"
        wire = _copied(scope, scope.wire(stack.element))
        row = _turned(scope, "Unsqueeze-1", wire, axis, Tensor(type_.dtype, wide))
        layer = scope.draft.result(row, "")
        steps = _steps(axis, reverse=stack.role.reverse and self.iterates)
        self._output(inside, stack.result, layer, steps)

    # ---- the layer, and the layers after it

    def _may_be_idle(self) -> bool:
        """Whether it may run no iteration, and has results that OpenVINO then gets wrong."""
        known = self.outer.writing.knowledge
        stacked = any(self.outer.needs(port.result) for port in self.views.stacked)
        counts = known.one(self.loop.trip) is not None or (
            self.loop.trip is None and all(_length(port) for port in self.views.sliced)
        )
        runs = counts and known.is_true(self.loop.condition)
        return (stacked or bool(self.unread)) and not self.iterates and not runs

    def _count(self, inside: Inside) -> None:
        """Add a carried count of iterations."""
        scope, outer = inside.scope, self.outer
        scope.draft.origin = "iterations"
        start = outer.draft.constant(np.zeros(1, np.int64))
        param = inside.feed(start, f"{self._name()}/iterations", _COUNT)
        one = scope.draft.constant(np.ones(1, np.int64))
        data = {"auto_broadcast": "numpy"}
        (more,) = scope.draft.layer("Add-1", (param, one), (_COUNT,), data)
        layer = scope.draft.result(more, "")
        inside.back.append(BackEdge(layer, param.layer))
        self.counted = len(self.types)
        inside.outputs.append(PortEntry(self.counted, layer))
        self.types.append(_COUNT)

    def _layer(self, inside: Inside) -> tuple[Wire, ...]:
        self.outer.draft.origin = self._name()
        kind = "TensorIterator-1" if self.iterates else "Loop-5"
        return control_layer(self.outer.draft, kind, self.feeding, self.types, {"": inside})

    def _bind(self, wires: tuple[Wire, ...]) -> None:
        stacked = {port.result: port for port in self.views.stacked}
        count = None if self.counted is None else wires[self.counted]
        unread = [w for r, w in zip(self.results, wires, strict=False) if r is None]
        for result, wire in zip(self.results, wires, strict=False):
            if result is None:
                continue
            made, port = wire, stacked.get(result)
            if count is not None and port is not None:
                made = cut(self.outer.draft, made, count, port)
            if count is not None and result in self.unread:
                first = self.outer.wire(self.unread[result])
                made = last_or_first(self.outer, made, first, count, result.name)
            if port is not None and port.role.reverse and not self.iterates:
                made = turned_over(self.outer.draft, made, port)
            while unread:
                made = hung_on(self.outer.draft, made, unread.pop())
            self.outer.bind(result, made)


def _check_rank(port: CarriedPort) -> None:
    """Check ranks: OpenVINO's CPU plugin needs known ranks, so a carried one must not change."""
    first, later = (
        value.type.shape if value is not None and isinstance(value.type, Tensor) else None
        for value in (port.initial, port.param)
    )
    if first is not None and later is None:
        hint = "keep the rank: add axes of extent 1 from the start"
        raise Refusal(f"{port.param.name} changes its rank from iteration to iteration", hint)


def _may_change_shape(port: CarriedPort) -> bool:
    """Whether an extent may differ in a later iteration."""
    type_ = port.param.type
    shape = type_.shape if isinstance(type_, Tensor) else None
    return shape is None or not all(isinstance(dim, int) for dim in shape)


def _length(port: SlicedPort) -> int | None:
    """The number of items it slices, if it is known."""
    type_ = None if port.operand is None else port.operand.type
    shape = type_.shape if isinstance(type_, Tensor) else None
    dim = None if shape is None else shape[port.role.axis]
    return dim if isinstance(dim, int) else None


def _steps(axis: int, reverse: bool) -> PortEntry:
    start, end, stride = (-1, 0, -1) if reverse else (0, -1, 1)
    return PortEntry(0, 0, "", axis, start, end, stride, 1)


def _copied(scope: Scope, wire: Wire) -> Wire:
    """Copy a Parameter: OpenVINO loses it if a Result returns it directly."""
    return copy(scope.draft, wire)[0] if is_parameter(scope.draft, wire) else wire


def _turned(scope: Scope, kind: str, wire: Wire, axis: int, type_: Tensor) -> Wire:
    along = scope.draft.constant(np.array([axis]))
    (made,) = scope.draft.layer(kind, (wire, along), (type_,))
    return made
