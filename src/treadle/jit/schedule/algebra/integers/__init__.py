"""Algebra of whole numbers: their ranges, and what takes few bits, or no division, within them."""
