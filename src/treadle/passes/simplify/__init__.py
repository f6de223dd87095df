"""Simplification passes: remove and move redundant work without changing any output.

They work on the open form of a block (`captures.py`), repeatedly, until none of them changes
anything (`pipeline.py`). `speculation.py` decides which steps they may drop and move.
"""

from treadle.passes.simplify.pipeline import PASSES, simplify

__all__ = ["PASSES", "simplify"]
