"""What the readers of one file share, so that block, loop, branch and state need no cycle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from treadle.formats.openvino.draft import Draft
from treadle.formats.openvino.faults import Report
from treadle.formats.openvino.records import Body, Layer
from treadle.formats.openvino.weights import Weights
from treadle.ir import Literal, Value

Enter = Callable[[Draft, Layer], Value]
"""What a Parameter layer of a body is: makes the param, and whatever turns it into the value."""


@dataclass(slots=True)
class Reading:
    """One file being read."""

    report: Report
    weights: Weights
    read_block: Callable[[Reading, Body, str, Enter], Content]
    literals: dict[tuple[str, str, str, str], Literal] = field(default_factory=dict)


@dataclass(slots=True)
class Content:
    """A body that has been read: the draft, and the values of its Results by layer id.

    `whole`: every layer could be read; else the report says what is wrong.
    """

    draft: Draft
    results: Mapping[int, Value]
    whole: bool


@dataclass(frozen=True, slots=True)
class ControlAtHand:
    """A control-flow layer, what feeds it by port id, and the draft of the block it stands in."""

    reading: Reading
    layer: Layer
    draft: Draft
    feeds: Mapping[int, Value]
    path: str
