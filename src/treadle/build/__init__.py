"""Compiled loops for other programs: C libraries, and operators of onnxruntime."""

from treadle.build.build import Built, build

__all__ = ["Built", "build"]
