"""Model to Model, one file per pass; `pipeline` alone knows an order."""

from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.clean import Cleaned, Report, clean
from treadle.passes.expand_calls import Expand, expand_calls
from treadle.passes.expand_leaves import expand_leaves
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.ignore_omitted_condition import ignore_omitted_condition
from treadle.passes.inline_functions import inline_functions
from treadle.passes.pipeline import lower, prepare
from treadle.passes.repairs import FOR_RUNTIMES, REPAIRED, Mended, mended_by_reading, repair
from treadle.passes.settle_defaults import settle_defaults
from treadle.passes.to_onnx_loops import is_mixed, mixed_refusal, to_onnx_loops, unmix_loops

__all__ = [
    "FOR_RUNTIMES",
    "REPAIRED",
    "Cleaned",
    "Expand",
    "Mended",
    "Report",
    "bind_attributes",
    "clean",
    "expand_calls",
    "expand_leaves",
    "expand_scan8",
    "ignore_omitted_condition",
    "inline_functions",
    "is_mixed",
    "lower",
    "mended_by_reading",
    "mixed_refusal",
    "prepare",
    "repair",
    "settle_defaults",
    "to_onnx_loops",
    "unmix_loops",
]
