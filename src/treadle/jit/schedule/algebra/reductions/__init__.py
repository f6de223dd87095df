"""Algebra of reductions and products: sums that are products, products that are sums, in which order."""
