"""How long treadle's default engines take beside onnxruntime alone: `python -m benchmarks --help`."""
