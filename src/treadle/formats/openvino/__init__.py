"""OpenVINO IR: an .xml of layers and a .bin of weights, to a Model."""

from __future__ import annotations

from pathlib import Path

from treadle.errors import Finding
from treadle.formats.openvino.faults import Report
from treadle.formats.openvino.printing import print_net
from treadle.formats.openvino.read import read_bytes, read_file
from treadle.formats.openvino.records import Net
from treadle.formats.openvino.weights import Weights
from treadle.formats.openvino.xml import parse
from treadle.ir import Model

__all__ = ["Net", "parse", "print_net", "read", "read_text"]


def read(path: str | Path) -> tuple[Model | None, list[Finding]]:
    """The closed model of an .xml file, and what reading it brought to light; never raises."""
    return read_file(Path(path))


def read_text(text: str) -> tuple[Model | None, list[Finding]]:
    """The same of the text of an .xml, which has no .bin."""
    weights = Weights(None, "the text of an .xml has no .bin beside it")
    return read_bytes(text.encode(), weights, Report("this text"))
