"""OpenVINO IR: an .xml of layers and a .bin of weights, to a Model."""

from __future__ import annotations

from pathlib import Path

from treadle.errors import Finding
from treadle.formats.openvino.printing import print_net
from treadle.formats.openvino.read import read_file
from treadle.formats.openvino.records import Net
from treadle.formats.openvino.xml import parse
from treadle.ir import Model

__all__ = ["Net", "parse", "print_net", "read"]


def read(path: str | Path) -> tuple[Model | None, list[Finding]]:
    """The closed model of an .xml file, and what reading it brought to light; never raises."""
    return read_file(Path(path))
