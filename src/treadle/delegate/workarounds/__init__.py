"""Equivalent forms of operators that onnxruntime computes wrongly."""
