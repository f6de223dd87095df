"""The table of named rewrites, with a one-line description of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from treadle.ir import Model, verified
from treadle.passes.report import Report
from treadle.passes.rewrites.named.captures import captures_to_inputs, inputs_to_captures
from treadle.passes.rewrites.named.if_to_where import if_to_where
from treadle.passes.rewrites.named.loop_to_scan import loop_to_scan
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.named.recurrent import recurrent_to_scan, scan_to_recurrent
from treadle.passes.rewrites.named.scan_8_to_9 import scan_8_to_9
from treadle.passes.rewrites.named.scan_to_loop import scan_to_loop
from treadle.passes.rewrites.named.sequence_to_tensor import sequence_to_tensor
from treadle.passes.rewrites.named.static_cache import static_cache


class Rewrite(NamedTuple):
    """A rewrite: its one-line description and its function."""

    about: str
    run: Callable[[Model, RewriteOptions], tuple[Model, Report]]


REWRITES: Mapping[str, Rewrite] = {
    "loop-to-scan": Rewrite("Loops with a known number of iterations become Scans", loop_to_scan),
    "scan-to-loop": Rewrite("Scans become Loops that gather the sliced items", scan_to_loop),
    "scan-8-to-9": Rewrite("Scans of opset 8 become loops over their batch", scan_8_to_9),
    "recurrent-to-scan": Rewrite("RNN, GRU and LSTM become Scans over time", recurrent_to_scan),
    "scan-to-recurrent": Rewrite(
        "loops that compute an RNN, GRU or LSTM become that operator", scan_to_recurrent
    ),
    "if-to-where": Rewrite("Ifs whose branches cannot fail become Where", if_to_where),
    "captures-to-inputs": Rewrite(
        "values that loops capture become carried values", captures_to_inputs
    ),
    "inputs-to-captures": Rewrite(
        "values that loops carry unchanged become captures", inputs_to_captures
    ),
    "sequence-to-tensor": Rewrite(
        "sequences and optionals become stacked tensors with lengths", sequence_to_tensor
    ),
    "static-cache": Rewrite(
        "caches that grow by Concat become buffers of capacity= items", static_cache
    ),
}


@verified
def rewrite(model: Model, name: str, options: RewriteOptions) -> tuple[Model, Report]:
    """Apply the rewrite of this name."""
    return REWRITES[name].run(model, options)
