"""Layouts of values in memory that differ from the rows of the program's tensors."""
