"""Writes a model as IR and reads it back, for the tests of writing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

import treadle
from treadle.formats.openvino.records import Body, Layer, Net
from treadle.formats.openvino.xml import parse

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


def text(inputs: str, outputs: str, body: str) -> str:
    """A model in ONNX's text form."""
    return f"{HEAD}g ({inputs}) => ({outputs}) {{ {body} }}"


def write(model: object, folder: Path) -> Path:
    """The .xml of a model."""
    path = folder / "model.xml"
    treadle.save(model, path)
    return path


def net(model: object, folder: Path) -> Net:
    """The records of the .xml of a model."""
    return parse(write(model, folder).read_bytes())


def layers(body: Body, type_: str) -> list[Layer]:
    """The layers of a type, not those of inner bodies."""
    return [layer for layer in body.layers if layer.type == type_]


def only(body: Body, type_: str) -> Layer:
    """The one layer of a type."""
    (layer,) = layers(body, type_)
    return layer


def run(source: object, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What interp makes of a model."""
    return treadle.InferenceSession(source, engines=["interp"]).run(None, dict(feeds))
