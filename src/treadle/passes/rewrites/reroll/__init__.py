"""Rerolling: turns unrolled steps into loops."""

from treadle.passes.rewrites.reroll.reroll import reroll

__all__ = ["reroll"]
