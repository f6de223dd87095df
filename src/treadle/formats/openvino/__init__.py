"""OpenVINO IR: an .xml of layers and a .bin of weights, to and from a Model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from treadle.errors import Finding
from treadle.formats.openvino.diagnostics import Report
from treadle.formats.openvino.printing import print_net
from treadle.formats.openvino.read import read_bytes, read_file
from treadle.formats.openvino.records import Net
from treadle.formats.openvino.weights import Weights
from treadle.formats.openvino.xml import parse
from treadle.ir import Leaf, Model

if TYPE_CHECKING:
    from treadle.formats.openvino.write import Pool

__all__ = [
    "Net",
    "lacks",
    "parse",
    "print_net",
    "read",
    "read_text",
    "save",
    "write_net",
]


def save(model: Model, path: str | Path) -> None:
    """Write the .xml, IR version 11, and the .bin beside it.

    The model has no calls: `treadle.passes` expands them, and the leaves that `lacks` names. Raises
    Unsupported with a finding for every step without a form in IR.
    """
    from treadle.formats.openvino.write import write_file  # readers do not need its tables

    write_file(model, Path(path))


def write_net(model: Model) -> tuple[Net, Pool]:
    """The net of a model, and the constants for its .bin; raises as `save` does."""
    from treadle.formats.openvino import write

    return write.write_net(model)


def lacks(leaf: Leaf) -> bool:
    """Whether IR has no layer for an operator, which then needs its definition."""
    from treadle.formats.openvino import write

    return write.lacks(leaf)


def read(path: str | Path) -> tuple[Model | None, list[Finding]]:
    """Read an .xml file; returns the closed model, or None, and the findings; never raises."""
    return read_file(Path(path))


def read_text(text: str) -> tuple[Model | None, list[Finding]]:
    """Read the text of an .xml, which has no .bin."""
    weights = Weights(None, "the text of an .xml has no .bin beside it")
    return read_bytes(text.encode(), weights, Report("this text"))
