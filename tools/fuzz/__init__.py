"""Fuzzing guided by coverage, with atheris: see `python -m tools.fuzz --help`."""
