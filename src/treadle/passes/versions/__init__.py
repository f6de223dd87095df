"""Converts models to another opset of the standard's operators, upwards and downwards."""

from treadle.passes.versions import adapters as adapters
from treadle.passes.versions.control_flow import with_a_state
from treadle.passes.versions.lifting import type_word
from treadle.passes.versions.model import all_names, convert_version, without_calls
from treadle.passes.versions.node_names import with_unique_node_names
from treadle.passes.versions.reasons import NO_FORM
from treadle.passes.versions.rewriter import Names
from treadle.passes.versions.scan8 import in_standard_operators
from treadle.passes.versions.table import DOWN, UP

__all__ = [
    "DOWN",
    "NO_FORM",
    "UP",
    "Names",
    "all_names",
    "convert_version",
    "in_standard_operators",
    "type_word",
    "with_a_state",
    "with_unique_node_names",
    "without_calls",
]
