"""Reads Loop and TensorIterator as the one loop form, with slices and reshapes around it.

    Parameter of the body     sliced (axis)            Sliced; its outer value cut into parts before
                              a back edge leads to it  Carried
                              current_iteration        Iteration, cast to what it declares
                              else                     Invariant
    Result of the body        an output with an axis   Stacked; its parts joined again behind
                              an output without        the Carried it feeds; else one of its own
                              execution_condition      the next condition

A negative trip count means unlimited: a constant one is left out, another becomes the largest
number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from treadle.formats.openvino.block_builder import LayerBlockBuilder, cast_to
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.parameters import declared_of
from treadle.formats.openvino.read_context import Content, ControlContext, by_output
from treadle.formats.openvino.records import Layer, PortEntry, PortMap
from treadle.formats.openvino.slices import LoopSlice, enter_slice, length_of, loop_slice_of, sliced
from treadle.formats.openvino.stacks import Join, concatenated_stack, element, join_of
from treadle.formats.openvino.state import enter, settle
from treadle.formats.openvino.variables import Variable
from treadle.ir import (
    Block,
    Carried,
    DType,
    Invariant,
    Iteration,
    Loop,
    Role,
    Sliced,
    Stacked,
    Tensor,
    Value,
)

_UNBOUNDED = np.iinfo(np.int64).max


@dataclass(slots=True)
class _Plan:
    """The loop as described by the file, by body layer id."""

    inputs: dict[int, PortEntry] = field(default_factory=dict)
    iteration: set[int] = field(default_factory=set)
    condition: int | None = None
    outputs: list[PortEntry] = field(default_factory=list)
    back: dict[int, int] = field(default_factory=dict)
    """Parameter to Result."""


def read(context: ControlContext) -> tuple[Value, ...] | None:
    """Read the results of the loop; None if its body could not be read."""
    plan = _plan(context)
    reader = _Reader(context, plan)
    body = context.layer.bodies.get("body")
    assert body is not None, "the plan has checked it"
    content = context.reading.read_block(
        context.reading, body, f"{context.path}.body", reader.enter
    )
    if not content.whole:
        return None
    return reader.finish(content)


def is_loop(layer: Layer) -> bool:
    """Whether it has a trip count and a condition: Loop has them, TensorIterator has not."""
    return layer.type.lower() == "loop"


def _plan(context: ControlContext) -> _Plan:
    layer = context.layer
    body = layer.bodies.get("body")
    if body is None:
        raise IrError("CF907", "it has no body")
    kinds = {inner.id: inner.type.lower() for inner in body.layers}
    entries = layer.port_maps.get("port_map", PortMap())
    plan = _Plan()
    for entry in entries.inputs:
        _expect(kinds, entry.internal, "parameter", entry.line)
        if entry.purpose == "current_iteration":
            plan.iteration.add(entry.internal)
        elif entry.internal in plan.inputs:
            message = f"the port map feeds Parameter {entry.internal} of the body twice"
            raise IrError("CF907", message, line=entry.line)
        elif entry.external not in context.feeds:
            message = f"the port map names input port {entry.external}, which does not exist"
            raise IrError("CF907", message, line=entry.line)
        else:
            plan.inputs[entry.internal] = entry
    for entry in entries.outputs:
        _expect(kinds, entry.internal, "result", entry.line)
        if entry.purpose == "execution_condition":
            plan.condition = entry.internal
        else:
            plan.outputs.append(entry)
    for edge in layer.back_edges:
        _expect(kinds, edge.from_layer, "result", edge.line)
        _expect(kinds, edge.to_layer, "parameter", edge.line)
        if edge.to_layer in plan.back:
            message = f"two back edges lead to Parameter {edge.to_layer}"
            raise IrError("CF907", message, line=edge.line)
        plan.back[edge.to_layer] = edge.from_layer
    _check(layer, plan)
    return plan


def _check(layer: Layer, plan: _Plan) -> None:
    if is_loop(layer) and plan.condition is None:
        hint = 'map a Result with purpose="execution_condition"'
        raise IrError("CF907", "no Result of its body is its condition", hint)
    if is_loop(layer) and len(layer.inputs) < 2:
        raise IrError("CF907", "it has no trip count and condition (input ports 0 and 1)")
    if len(plan.outputs) != len(layer.outputs):
        found = f"it has {len(layer.outputs)} outputs, its port map {len(plan.outputs)}"
        raise IrError("CF907", found)
    for internal in plan.back:
        if internal in plan.iteration:
            continue
        if internal not in plan.inputs:
            raise IrError(
                "CF907", f"a back edge leads to Parameter {internal}, which has no initial value"
            )
        if plan.inputs[internal].axis is not None:
            raise IrError("CF907", f"a back edge leads to Parameter {internal}, which is sliced")
    plan.outputs = by_output(plan.outputs, layer)


def _expect(kinds: Mapping[int, str], layer: int, kind: str, line: int) -> None:
    if kinds.get(layer) != kind:
        message = f"layer {layer} of the body is not a {kind.capitalize()}"
        raise IrError("CF907", message, line=line)


@dataclass(slots=True)
class _Reader:
    """Makes the params of the body while it is read, and then the loop around it."""

    context: ControlContext
    plan: _Plan
    roles: list[Role] = field(default_factory=list)
    operands: list[Value] = field(default_factory=list)
    cuts: list[LoopSlice] = field(default_factory=list)
    carried: list[int] = field(default_factory=list)
    """The Results that feed the Carried, in their order."""

    def enter(self, draft: LayerBlockBuilder, layer: Layer) -> Value:
        """The value of a Parameter of the body."""
        if layer.id in self.plan.iteration and layer.id not in self.plan.back:
            return self._iteration(draft, layer)
        entry = self.plan.inputs.get(layer.id)
        if entry is None:
            raise IrError("CF907", "nothing feeds this Parameter of the body")
        outer = self.context.feeds[entry.external]
        if entry.axis is not None:
            cut = loop_slice_of(self.context.draft, outer, entry)
            self.cuts.append(cut)
            self._add(Sliced(cut.axis, cut.reverse), sliced(self.context.draft, cut))
            return enter_slice(draft, layer, cut)
        given = self.context.draft.type_of(outer)
        param = draft.param(_param_name(layer))
        if layer.id in self.plan.back:
            self.carried.append(self.plan.back[layer.id])
            self._add(Carried(), outer)
            draft.know(param, _rank_only(given))
        else:
            self._add(Invariant(), outer)
            draft.know(param, given)
        return param

    def _add(self, role: Role, operand: Value) -> None:
        self.roles.append(role)
        self.operands.append(operand)

    def _iteration(self, draft: LayerBlockBuilder, layer: Layer) -> Value:
        if Iteration() in self.roles:
            raise IrError("CF907", "two Parameters of the body are its iteration number")
        declared = declared_of(layer)
        if declared.dtype not in (DType.INT64, DType.INT32) or len(declared.shape or ()) > 1:
            raise IrError("CF907", f"an iteration number cannot be {declared}, wanted i64 or i32")
        self.roles.append(Iteration())
        value = draft.param(_param_name(layer), Tensor(DType.INT64, ()))
        if declared.dtype is DType.INT32:
            value = draft.leaf("Cast", value, to=cast_to(DType.INT32))
        if declared.shape:
            value = draft.leaf("Reshape", value, draft.whole(1))
        return value

    def finish(self, content: Content) -> tuple[Value, ...]:
        """The loop over the finished body, and the values of its outputs."""
        draft, inner, plan = self.context.draft, content.draft, self.plan
        trip, start = self._bounds()
        next_ = None if plan.condition is None else content.results[plan.condition]
        if _is_true(inner, next_):
            next_ = None
        if next_ is None and _is_true(draft, start):
            start = None
        next_ = None if next_ is None else inner.scalar(next_)
        start = None if start is None else draft.scalar(start)
        joins = [self._join(content, entry) for entry in plan.outputs if entry.axis is not None]
        places = self._places(content)
        carried = [content.results[layer] for layer in self.carried]
        variables = self._variables(inner)
        carried += [each.after or each.before for each in variables.values()]
        elements = [element(inner, join) for join in joins]
        results = tuple(
            draft.value(f"{self.context.layer.name}/{what}")
            for what in ["carried"] * len(carried) + ["stacked"] * len(joins)
        )
        body = inner.build(next_, *carried, *elements)
        stacks = tuple(Stacked(join.axis, join.reverse) for join in joins)
        self._step(trip, start, body, stacks, results)
        for outer, value in zip(variables, results[len(self.carried) :], strict=False):
            draft.variables[outer].after = value
        behind = iter(
            concatenated_stack(draft, join, value)
            for join, value in zip(joins, results[len(carried) :], strict=True)
        )
        return tuple(
            next(behind) if entry.axis is not None else results[places[entry.internal]]
            for entry in plan.outputs
        )

    def _step(
        self,
        trip: Value | None,
        start: Value | None,
        body: Block,
        stacks: tuple[Stacked, ...],
        results: tuple[Value, ...],
    ) -> None:
        layer = self.context.layer
        info = replace(self.context.draft.info(layer.type), domain="openvino")
        self.context.draft.steps.append(
            Loop(
                trip, start, tuple(self.roles), tuple(self.operands), body, stacks, results, info
            )
        )  # fmt: skip

    def _places(self, content: Content) -> dict[int, int]:
        """The position among the Carried of each Result's last value.

        Adds Carried ones if needed.
        """
        places: dict[int, int] = {}
        for index, layer in enumerate(self.carried):
            places.setdefault(layer, index)
        for entry in self.plan.outputs:
            if entry.axis is None and entry.internal not in places:
                places[entry.internal] = len(self.carried)
                self._carry_along(content, entry.internal)
        return places

    def _variables(self, inner: LayerBlockBuilder) -> Mapping[str, Variable]:
        """The variables of the body become carried; the enclosing block uses them too."""
        variables = settle(inner)
        for name, variable in variables.items():
            inner.params.append(variable.before)
            self._add(Carried(), enter(self.context.draft, name, variable.initial).before)
        return variables

    def _carry_along(self, content: Content, layer: int) -> None:
        """Add a Carried that only keeps the last value; it is zeros before the first iteration."""
        value = content.results[layer]
        claim = content.draft.type_of(value)
        if claim.dtype is None:
            raise IrError("CF907", f"the element type of its output {value.name} is not known")
        extents = [dim if isinstance(dim, int) else 0 for dim in claim.shape or ()]
        self.carried.append(layer)
        content.draft.param(f"{value.name}_before")
        zeros = self.context.draft.constant(np.zeros(extents, claim.dtype.numpy))
        self._add(Carried(), zeros)

    def _join(self, content: Content, entry: PortEntry) -> Join:
        ports = (port for port in self.context.layer.outputs if port.id == entry.external)
        dims = next((port.dims for port in ports), ())
        return join_of(content.draft, content.results[entry.internal], entry, dims)

    def _bounds(self) -> tuple[Value | None, Value | None]:
        draft, layer = self.context.draft, self.context.layer
        if not is_loop(layer):
            return (None if self.cuts else draft.constant(np.array(1))), None
        trip, start = (self.context.feeds[port.id] for port in layer.inputs[:2])
        known = draft.literals.get(trip)
        if known is not None:
            return self._fixed(known.array), start
        count = draft.scalar(trip)
        if draft.type_of(trip).dtype is not DType.INT64:
            count = draft.leaf("Cast", count, to=cast_to(DType.INT64))
        negative = draft.leaf("Less", count, draft.constant(np.array(0)))
        most = draft.constant(np.array(_UNBOUNDED))
        if self.cuts:
            most = length_of(draft, self.cuts[0])
        return draft.leaf("Where", negative, most, count), start

    def _fixed(self, trip: np.ndarray) -> Value | None:
        if trip.size != 1 or trip.dtype.kind not in "iu":
            raise IrError("CF907", "its trip count is not one whole number")
        count = int(trip.reshape(-1)[0])
        return None if count < 0 else self.context.draft.constant(np.array(count))


def _param_name(layer: Layer) -> str:
    names = layer.outputs[0].names if layer.outputs else ()
    return names[0] if names else layer.name


def _rank_only(type_: Tensor) -> Tensor:
    shape = type_.shape
    return Tensor(type_.dtype, None if shape is None else (None,) * len(shape))


def _is_true(draft: LayerBlockBuilder, value: Value | None) -> bool:
    literal = None if value is None else draft.literals.get(value)
    return literal is not None and literal.array.size == 1 and bool(literal.array.all())
