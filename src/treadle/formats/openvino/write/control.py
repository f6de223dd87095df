"""Builds a control-flow layer: its inputs, and the Parameters and Results of its bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.formats.openvino.records import BackEdge, PortEntry, PortMap
from treadle.formats.openvino.write.net_builder import BodyBuilder, Control, Wire
from treadle.formats.openvino.write.scope import Scope
from treadle.ir import Tensor, Type


@dataclass(slots=True)
class Feeding:
    """The inputs of a control-flow layer, in order; every Parameter of a body has its own."""

    wires: list[Wire] = field(default_factory=list)

    def add(self, wire: Wire) -> int:
        """Add an input; returns its port."""
        self.wires.append(wire)
        return len(self.wires) - 1


@dataclass(slots=True)
class Inside:
    """One body of a control-flow layer, and the mapping of its Parameters and Results to ports."""

    scope: Scope
    feeding: Feeding
    inputs: list[PortEntry] = field(default_factory=list)
    outputs: list[PortEntry] = field(default_factory=list)
    back: list[BackEdge] = field(default_factory=list)
    params: dict[int, Tensor] = field(default_factory=dict)
    """The types of the Parameters that inputs feed, by layer."""

    def feed(
        self, outer: Wire, name: str, type_: Type | None, steps: PortEntry | None = None
    ) -> Wire:
        """A Parameter fed by an input of the layer, `steps` along an axis of it."""
        wire = self.scope.parameter(name, type_)
        self.params[wire.layer] = wire.type
        entry = steps or PortEntry(0, 0)
        self.inputs.append(replace(entry, external=self.feeding.add(outer), internal=wire.layer))
        return wire

    def port_map(self, first_output: int) -> PortMap:
        """The port map, with outputs counted from a port on."""
        outputs = tuple(
            entry if entry.purpose else replace(entry, external=entry.external + first_output)
            for entry in self.outputs
        )
        return PortMap(tuple(self.inputs), outputs)


def control_layer(
    draft: BodyBuilder,
    kind: str,
    feeding: Feeding,
    types: Sequence[Tensor],
    insides: Mapping[str, Inside],
) -> tuple[Wire, ...]:
    """The layer around bodies, which are named `then_`, `else_`, or not at all."""
    first = len(feeding.wires)
    control = Control(
        {f"{name}port_map": inside.port_map(first) for name, inside in insides.items()},
        {f"{name}body": inside.scope.draft.build() for name, inside in insides.items()},
        tuple(edge for inside in insides.values() for edge in inside.back),
    )
    return draft.layer(kind, feeding.wires, types, control=control)
