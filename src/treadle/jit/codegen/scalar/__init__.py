"""Scalar functions in LLVM, and their vector forms."""
