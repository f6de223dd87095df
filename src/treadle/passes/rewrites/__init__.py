"""Rewrites on request: replace constructs a runtime lacks, or decline with all obstacles.

Each returns an equivalent model with the same names and types of inputs and outputs, or raises
Unsupported with every obstacle at once (`obstacles.py`).
"""

from treadle.passes.obstacles import Obstacles
from treadle.passes.rewrites.lists import lists_to_tensors
from treadle.passes.rewrites.named import REWRITES, RewriteOptions, rewrite
from treadle.passes.rewrites.reroll import reroll
from treadle.passes.rewrites.specialize import dim_names, specialize
from treadle.passes.rewrites.unroll import ITERATION, SOURCE_PATH, Unrolling, unroll

__all__ = [
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
]
