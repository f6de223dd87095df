"""Loops as straight lines of their iterations, whole or in part."""

from treadle.passes.rewrites.unroll.unroll import Unrolling, unroll

__all__ = ["Unrolling", "unroll"]
