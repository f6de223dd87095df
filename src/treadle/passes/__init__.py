"""Passes from Model to Model, one per file; only `pipeline` knows their order.

A session needs few of them: those that rewrite a model for its user are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.decompose_ops import decompose_ops
from treadle.passes.expand_functions import Expand, expand_functions
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.fixes import FOR_RUNTIMES, REPAIRED, Fix, fixed_by_reading, repair
from treadle.passes.ignore_omitted_condition import ignore_omitted_condition
from treadle.passes.inline_block import inline_blocks
from treadle.passes.inline_functions import inline_functions
from treadle.passes.pipeline import lower, prepare
from treadle.passes.report import Change, Report
from treadle.passes.resolve_default_inputs import resolve_default_inputs
from treadle.passes.simplify import simplify
from treadle.passes.to_onnx_loops import is_mixed, mixed_refusal, to_onnx_loops, unmix_loops

if TYPE_CHECKING:
    from treadle.passes import surgery
    from treadle.passes.exposing import Exposure, Form, Target, chosen, expanded, refuse
    from treadle.passes.exposing.expose import expose
    from treadle.passes.precision import convert_dtype, plain_model
    from treadle.passes.rewrites import (
        ITERATION,
        REWRITES,
        SOURCE_PATH,
        Obstacles,
        RewriteOptions,
        Unrolling,
        dim_names,
        lists_to_tensors,
        rewrite,
    )
    from treadle.passes.rewrites.reroll.reroll import reroll
    from treadle.passes.rewrites.specialize import specialize
    from treadle.passes.rewrites.unroll.unroll import unroll
    from treadle.passes.versions import convert_version

__all__ = [
    "FOR_RUNTIMES",
    "ITERATION",
    "REPAIRED",
    "REWRITES",
    "SOURCE_PATH",
    "Change",
    "Expand",
    "Exposure",
    "Fix",
    "Form",
    "Obstacles",
    "Report",
    "RewriteOptions",
    "Target",
    "Unrolling",
    "bind_attributes",
    "chosen",
    "convert_dtype",
    "convert_version",
    "decompose_ops",
    "dim_names",
    "expand_functions",
    "expand_scan8",
    "expanded",
    "expose",
    "fixed_by_reading",
    "ignore_omitted_condition",
    "inline_blocks",
    "inline_functions",
    "is_mixed",
    "lists_to_tensors",
    "lower",
    "mixed_refusal",
    "plain_model",
    "prepare",
    "refuse",
    "repair",
    "reroll",
    "resolve_default_inputs",
    "rewrite",
    "simplify",
    "specialize",
    "surgery",
    "to_onnx_loops",
    "unmix_loops",
    "unroll",
]

_ROOM_OF = {
    **dict.fromkeys(
        ("Exposure", "Form", "Target", "chosen", "expanded", "expose", "refuse"), "exposing"
    ),
    **dict.fromkeys(("convert_dtype", "plain_model"), "precision"),
    **dict.fromkeys(
        (
            "ITERATION",
            "REWRITES",
            "SOURCE_PATH",
            "Obstacles",
            "RewriteOptions",
            "Unrolling",
            "dim_names",
            "lists_to_tensors",
            "reroll",
            "rewrite",
            "specialize",
            "unroll",
        ),
        "rewrites",
    ),
    **dict.fromkeys(("convert_version",), "versions"),
}
"""The rooms imported on first use, by the names they export."""


def __getattr__(name: str) -> Any:
    if name == "surgery":
        return import_module("treadle.passes.surgery")
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)
    globals()[name] = found
    return found
