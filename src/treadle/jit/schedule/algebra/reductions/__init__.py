"""Algebra of reductions and products: sums that are products, and products that are sums."""
