"""Runs before the first one that matters, and values made up for them."""

from treadle.warming.made_up import made_up_value
from treadle.warming.warm_up import open_extents, warm

__all__ = ["made_up_value", "open_extents", "warm"]
