"""Compares treadle's default engines with onnxruntime alone: `python -m benchmarks --help`."""
