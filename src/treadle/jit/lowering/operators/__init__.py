"""Lowerings of operators to the kernel IR, one file per family."""
