"""Warm-up runs, and generated inputs for them."""

from treadle.warming.made_up import made_up_value
from treadle.warming.warm_up import open_extents, warm

__all__ = ["made_up_value", "open_extents", "warm"]
