"""Algebra before code generation: equivalent kernels that take less work, one rule a file."""
