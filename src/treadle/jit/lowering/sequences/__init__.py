"""Lowerings of sequences and optionals: uniform, ragged, scalarized."""
