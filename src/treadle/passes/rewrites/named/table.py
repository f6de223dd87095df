"""The rewrites a user can name, with a line each; nothing else knows all of them."""

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
    """A rewrite: what it does in a line, and the function that does it."""

    about: str
    run: Callable[[Model, RewriteOptions], tuple[Model, Report]]


REWRITES: Mapping[str, Rewrite] = {
    "loop-to-scan": Rewrite("Loops of a certain number of iterations become Scans", loop_to_scan),
    "scan-to-loop": Rewrite("Scans become Loops that gather what the Scan slices", scan_to_loop),
    "scan-8-to-9": Rewrite("Scans of opset 8 become loops over their batch", scan_8_to_9),
    "recurrent-to-scan": Rewrite("RNN, GRU and LSTM become Scans over time", recurrent_to_scan),
    "scan-to-recurrent": Rewrite(
        "loops that compute an RNN, GRU or LSTM become that operator", scan_to_recurrent
    ),
    "if-to-where": Rewrite("Ifs whose branches cannot fail become Where", if_to_where),
    "captures-to-inputs": Rewrite(
        "what loops read from outside becomes carried unchanged", captures_to_inputs
    ),
    "inputs-to-captures": Rewrite(
        "what loops carry unchanged is read from outside", inputs_to_captures
    ),
    "sequence-to-tensor": Rewrite(
        "lists that loops only append to become stacked tensors", sequence_to_tensor
    ),
    "static-cache": Rewrite(
        "caches that grow by Concat become buffers of capacity= items", static_cache
    ),
}


@verified
def rewrite(model: Model, name: str, options: RewriteOptions) -> tuple[Model, Report]:
    """The model after the rewrite of this name."""
    return REWRITES[name].run(model, options)
