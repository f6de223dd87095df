"""Rewrites by name, one file each; `table.py` lists them."""

from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.named.table import REWRITES, rewrite

__all__ = ["REWRITES", "RewriteOptions", "rewrite"]
