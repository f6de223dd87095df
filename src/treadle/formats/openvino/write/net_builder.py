"""Builds a body: its layers and edges, constants if a layer reads them, and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from treadle.formats.openvino.records import BackEdge, Body, Edge, Layer, Port, PortMap
from treadle.formats.openvino.write.encoding import extents, precision_of
from treadle.formats.openvino.write.pool import Pool
from treadle.ir import DType, Literal, Tensor, Value

Data = Mapping[str, object]
VIEWS = frozenset(("Squeeze", "Unsqueeze", "Reshape"))
"""Layers whose output shares the memory of their input."""


@dataclass(frozen=True, slots=True)
class Wire:
    """An output port of a layer with its type; `array` if it is constant."""

    layer: int
    port: int
    type: Tensor = field(default=Tensor(), compare=False)
    array: np.ndarray | None = field(default=None, compare=False)


class Control(NamedTuple):
    """The control-flow parts of a layer, named as in Layer."""

    port_maps: Mapping[str, PortMap]
    bodies: Mapping[str, Body]
    back_edges: tuple[BackEdge, ...] = ()


class BodyBuilder:
    """Collects the layers of one body. `origin` names the next layers."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.layers: list[Layer] = []
        self.edges: list[Edge] = []
        self.origin = ""
        self.reserved: dict[str, Value] = {}
        """Names of tensors that only these values may have: the results of the model."""
        self._taken: set[str] = set()
        self.parameters: list[Wire] = []
        self.viewed: dict[int, Wire] = {}
        """The source of each view, by layer."""
        self._names: dict[str, int] = {}
        self._constants: dict[object, Wire] = {}

    def layer(
        self,
        kind: str,
        inputs: Sequence[Wire],
        results: Sequence[Tensor],
        data: Data | None = None,
        *,
        name: str = "",
        output_names: tuple[str, ...] = (),
        control: Control | None = None,
    ) -> tuple[Wire, ...]:
        """Add a layer of a type like `Gather-8`."""
        type_, _, version = kind.rpartition("-")
        number = len(self.layers)
        self.edges += [
            Edge(wire.layer, wire.port, number, index) for index, wire in enumerate(inputs)
        ]
        if type_ in VIEWS:
            self.viewed[number] = inputs[0]
        first = len(inputs)
        outputs = tuple(_port(first + k, type_) for k, type_ in enumerate(results))
        said = {name: show(value) for name, value in (data or {}).items()}
        made = Layer(
            number,
            name or self._name(type_),
            type_,
            f"opset{version}",
            said,
            tuple(_port(k, wire.type) for k, wire in enumerate(inputs)),
            outputs,
            output_names=output_names,
        )
        if control is not None:
            made = replace(made, **control._asdict())
        self.layers.append(made)
        return tuple(
            Wire(number, port.id, type_) for port, type_ in zip(outputs, results, strict=True)
        )

    def _name(self, type_: str) -> str:
        """The origin's name for its first layer, its name and the type for further ones."""
        if self.origin and self.origin not in self._names:
            self._names[self.origin] = 0
            return self.origin
        hint = f"{self.origin}/{type_}" if self.origin else type_
        number = self._names.get(hint, 0)
        self._names[hint] = number + 1
        return f"{hint}_{number}" if number or not self.origin else hint

    def constant(self, data: np.ndarray | Literal, name: str = "") -> Wire:
        """A Const; small ones, and those of the file, are written once per body."""
        literal = data if isinstance(data, Literal) else Literal.of(np.asarray(data))
        array = literal.array
        small = array.size <= 16 and literal.dtype is not DType.STRING
        key: object = id(literal)
        if small:
            key = (literal.dtype, array.shape, np.ascontiguousarray(array).tobytes())
        if key not in self._constants:
            type_ = Tensor(literal.dtype, tuple(array.shape))
            said = self.pool.add(literal)
            hint = name or f"{self.origin or 'body'}/constant"
            (wire,) = self.layer("Const-1", (), (type_,), said, name=self._fresh(hint))
            self._constants[key] = replace(wire, array=array)
        return self._constants[key]

    def _fresh(self, hint: str) -> str:
        number = self._names.get(hint, 0)
        self._names[hint] = number + 1
        return f"{hint}_{number}" if number else hint

    def name(self, wire: Wire, value: Value, type_: Tensor) -> Wire:
        """Give a tensor its name and type; the first name it gets stays."""
        name = value.name
        layer = self.layers[wire.layer]
        index = next(k for k, port in enumerate(layer.outputs) if port.id == wire.port)
        port = layer.outputs[index]
        known = type_ if type_.shape is not None or wire.type.shape is None else wire.type
        free = name not in self._taken and self.reserved.get(name, value) is value
        if not port.names and free:
            self._taken.add(name)
            port = replace(_port(port.id, known), names=(name,))
            outputs = (*layer.outputs[:index], port, *layer.outputs[index + 1 :])
            self.layers[wire.layer] = replace(layer, outputs=outputs)
        return replace(wire, type=known)

    def result(self, wire: Wire, name: str) -> int:
        """Add a Result layer; returns its id."""
        number = len(self.layers)
        label = self._fresh(f"{name or self.origin}/sink_port_0")
        names = (name,) if name else ()
        self.layer("Result-1", (wire,), (), name=label, output_names=names)
        return number

    def build(self) -> Body:
        """The body."""
        return Body(tuple(self.layers), tuple(self.edges))


def _port(number: int, type_: Tensor) -> Port:
    return Port(number, precision_of(type_.dtype), (), extents(type_.shape))


def show(value: object) -> str:
    """The text of an attribute: `true`, `1, 2`, `0.5`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(show, value))
    return str(value)


def is_parameter(draft: BodyBuilder, wire: Wire) -> bool:
    """Whether a wire comes directly from a Parameter, or from a view of one."""
    while draft.layers[wire.layer].type in VIEWS:
        wire = draft.viewed[wire.layer]
    return draft.layers[wire.layer].type == "Parameter"


def copy(draft: BodyBuilder, wire: Wire) -> tuple[Wire, ...]:
    """A copy by a layer that OpenVINO does not optimise away."""
    kind = "LogicalOr-1" if wire.type.dtype is DType.BOOL else "Maximum-1"
    return draft.layer(kind, (wire, wire), (wire.type,), {"auto_broadcast": "numpy"})
