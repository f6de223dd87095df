"""Replaces lists and optionals by tensors: stacked elements, their lengths, and presence."""

from treadle.passes.rewrites.lists.lowering import has_lists, lists_to_tensors

__all__ = ["has_lists", "lists_to_tensors"]
