"""Clean passes: what need not be done goes, what need not be done again moves, nothing changes.

They work on the open form of a block (`captures.py`), round after round, until none of them has
anything to do (`pipeline.py`). What they may drop and move is said in `safety.py`.
"""

from treadle.passes.simplify.pipeline import PASSES, simplify

__all__ = ["PASSES", "simplify"]
