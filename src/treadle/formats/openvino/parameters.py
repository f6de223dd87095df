"""The declared type of a Parameter layer."""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.elements import element_type
from treadle.formats.openvino.records import Layer
from treadle.formats.openvino.shapes import read_shape
from treadle.ir import Tensor


def declared_of(layer: Layer) -> Tensor:
    """The type of a Parameter; raises IrError for an unknown element type."""
    word = layer.data.get("element_type", "")
    kind = element_type(word)
    if kind is None and word not in ("dynamic", "undefined", ""):
        raise IrError("CF905", f'element_type is "{word[:40]}", which is not an element type')
    shape = read_shape(layer.data["shape"]) if "shape" in layer.data else None
    return Tensor(kind.dtype if kind else None, shape)
