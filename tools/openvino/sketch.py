"""Writes IR files by hand, layer by layer, for forms that no exporter writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treadle.formats import openvino
from treadle.formats.openvino.records import (
    BackEdge,
    Body,
    Edge,
    Layer,
    Net,
    Port,
    PortEntry,
    PortMap,
)

WORDS = {"float32": "f32", "int64": "i64", "int32": "i32", "uint8": "u8", "bool": "boolean"}
PRECISIONS = {"f32": "FP32", "i64": "I64", "i32": "I32", "u8": "U8", "boolean": "BOOL"}


class Weights:
    """The .bin that grows with every constant."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, array: np.ndarray) -> dict[str, str]:
        """Append a constant, and give the attributes of the layer that reads it."""
        shape = ", ".join(map(str, array.shape))
        said = {"element_type": WORDS[str(array.dtype)], "shape": shape}
        said |= {"offset": str(len(self.data)), "size": str(array.nbytes)}
        self.data += array.tobytes()
        return said


class Sketch:
    """One body: every method adds a layer and gives its id; output ports follow the inputs."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.layers: list[Layer] = []
        self.edges: list[Edge] = []

    def layer(
        self,
        type_: str,
        inputs: Sequence[int | tuple[int, int]] = (),
        outputs: Sequence[tuple[str, Sequence[int]]] = (),
        version: str = "opset1",
        name: str = "",
        data: Mapping[str, object] | None = None,
        **rest: Any,
    ) -> int:
        """Append a layer that reads outputs of others, as ids or (id, which output)."""
        number = len(self.layers)
        for place, source in enumerate(inputs):
            layer, which = source if isinstance(source, tuple) else (source, 0)
            port = self.layers[layer].outputs[which].id
            self.edges.append(Edge(layer, port, number, place))
        ports = tuple(Port(k) for k in range(len(inputs)))
        made = tuple(
            Port(len(inputs) + k, PRECISIONS[word], (), tuple(dims))
            for k, (word, dims) in enumerate(outputs)
        )
        name = name or f"{type_}_{number}"
        said = {key: str(value) for key, value in (data or {}).items()}
        layer_ = Layer(number, name, type_, version, said, ports, made, **rest)
        self.layers.append(layer_)
        return number

    def parameter(self, name: str, word: str, *dims: int) -> int:
        """Append an input of the body; a negative extent is dynamic."""
        shape = ",".join("?" if dim < 0 else str(dim) for dim in dims)
        data = {"shape": shape, "element_type": word}
        return self.layer("Parameter", (), [(word, dims)], name=name, data=data)

    def constant(self, array: np.ndarray) -> int:
        """Append a Const layer and its weights."""
        word = WORDS[str(array.dtype)]
        return self.layer("Const", (), [(word, array.shape)], data=self.weights.add(array))

    def result(self, source: int | tuple[int, int], name: str = "") -> int:
        """Append an output of the body."""
        names = (name,) if name else ()
        return self.layer("Result", [source], name=name, output_names=names)

    def body(self) -> Body:
        """The layers and edges so far, as the reader's own records."""
        return Body(tuple(self.layers), tuple(self.edges))


def loop(
    outer: Sketch,
    inner: Sketch,
    inputs: Sequence[int],
    outputs: Sequence[tuple[str, Sequence[int]]],
    port_map: Mapping[str, Sequence[PortEntry]],
    back: Sequence[tuple[int, int]] = (),
    type_: str = "Loop",
) -> int:
    """A Loop or TensorIterator around a body."""
    return outer.layer(
        type_,
        inputs,
        outputs,
        "opset5" if type_ == "Loop" else "opset1",
        port_maps={"port_map": PortMap(tuple(port_map["in"]), tuple(port_map["out"]))},
        back_edges=tuple(BackEdge(*edge) for edge in back),
        bodies={"body": inner.body()},
    )


def write(folder: Path, sketch: Sketch, version: int = 11) -> Path:
    """The files of a finished sketch; the path of the .xml."""
    path = folder / "sketch.xml"
    path.write_text(openvino.print_net(Net("sketch", version, sketch.body())))
    path.with_suffix(".bin").write_bytes(bytes(sketch.weights.data))
    return path
