"""Unrolls loops into straight-line code, completely or partially."""

from treadle.passes.rewrites.unroll.copies import ITERATION, SOURCE_PATH
from treadle.passes.rewrites.unroll.unroll import Unrolling, unroll

__all__ = ["ITERATION", "SOURCE_PATH", "Unrolling", "unroll"]
