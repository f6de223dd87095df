"""Forms of operators that onnxruntime answers rightly, in place of those it gets wrong."""
