"""Passes from Model to Model, one per file; only `pipeline` knows their order."""

from typing import TYPE_CHECKING

from treadle.lazy_names import lazy_names

if TYPE_CHECKING:
    from treadle.passes import surgery
    from treadle.passes.bind_attributes import bind_attributes
    from treadle.passes.decompose_ops import decompose_ops
    from treadle.passes.expand_functions import Expand, expand_functions
    from treadle.passes.expand_scan8 import expand_scan8
    from treadle.passes.exposing import Exposure, Form, Target, chosen, expanded, refuse
    from treadle.passes.exposing.expose import expose
    from treadle.passes.fixes import FOR_RUNTIMES, REPAIRED, Fix, fixed_by_reading, repair
    from treadle.passes.ignore_omitted_condition import ignore_omitted_condition
    from treadle.passes.inline_block import inline_blocks
    from treadle.passes.inline_functions import inline_functions
    from treadle.passes.pipeline import lower, prepare
    from treadle.passes.precision import convert_dtype, plain_model
    from treadle.passes.report import Change, Report
    from treadle.passes.resolve_default_inputs import resolve_default_inputs
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
    from treadle.passes.simplify import simplify
    from treadle.passes.to_onnx_loops import is_mixed, mixed_refusal, to_onnx_loops, unmix_loops
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

__getattr__ = lazy_names(
    __name__,
    {
        "surgery": (),
        "bind_attributes": ("bind_attributes",),
        "decompose_ops": ("decompose_ops",),
        "expand_functions": ("Expand", "expand_functions"),
        "expand_scan8": ("expand_scan8",),
        "fixes": ("FOR_RUNTIMES", "REPAIRED", "Fix", "fixed_by_reading", "repair"),
        "ignore_omitted_condition": ("ignore_omitted_condition",),
        "inline_block": ("inline_blocks",),
        "inline_functions": ("inline_functions",),
        "pipeline": ("lower", "prepare"),
        "report": ("Change", "Report"),
        "resolve_default_inputs": ("resolve_default_inputs",),
        "simplify": ("simplify",),
        "to_onnx_loops": ("is_mixed", "mixed_refusal", "to_onnx_loops", "unmix_loops"),
        "exposing": ("Exposure", "Form", "Target", "chosen", "expanded", "refuse"),
        "exposing.expose": ("expose",),
        "precision": ("convert_dtype", "plain_model"),
        "rewrites": (
            "ITERATION",
            "REWRITES",
            "SOURCE_PATH",
            "Obstacles",
            "RewriteOptions",
            "Unrolling",
            "dim_names",
            "lists_to_tensors",
            "rewrite",
        ),
        "rewrites.reroll.reroll": ("reroll",),
        "rewrites.specialize": ("specialize",),
        "rewrites.unroll.unroll": ("unroll",),
        "versions": ("convert_version",),
    },
)
