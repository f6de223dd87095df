"""Unrolled steps rolled up again into loops."""

from treadle.passes.rewrites.reroll.reroll import reroll

__all__ = ["reroll"]
