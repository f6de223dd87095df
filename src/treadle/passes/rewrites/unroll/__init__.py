"""Loops as straight lines of their iterations, whole or in part."""

from treadle.passes.rewrites.unroll.copies import ITERATION, SOURCE_PATH
from treadle.passes.rewrites.unroll.unroll import Unrolling, unroll

__all__ = ["ITERATION", "SOURCE_PATH", "Unrolling", "unroll"]
