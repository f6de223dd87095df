"""Replaces a Scan-8, with its batch axis, by a loop over the batch around a Scan over time.

The model is converted to opset 9 by `convert_version`. Declines if sequences have lengths: checking
their range needs an operator of treadle's own.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Call, FunctionId, Leaf, Model, walk
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Report
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.to_onnx_loops import to_onnx_loops
from treadle.passes.versions import convert_version

NAME = "scan-8-to-9"
_OWN = "treadle"
_SCAN = FunctionId("", "Scan")


def scan_8_to_9(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Replace the Scans of opset 8."""
    calls = [visit.step for visit in walk(model) if isinstance(visit.step, Call)]
    if all(call.function != _SCAN for call in calls):
        return model, Report()
    after, report = convert_version(model, 9, options.expand)
    told = Obstacles(NAME)
    for visit in walk(after):
        if isinstance(visit.step, Leaf) and visit.step.domain == _OWN:
            what = "only treadle can check the lengths of its sequences"
            told.add(visit.path, what, "leave the lengths out, and mask the padding")
    told.refuse()
    return to_onnx_loops(after), Report(tuple(replace(each, name=NAME) for each in report.done))
