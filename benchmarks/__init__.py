"""treadle's default engines beside onnxruntime alone: `python -m benchmarks --help`."""
