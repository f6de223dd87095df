"""Models whose floats have another element type, in all bodies, but for what is kept."""

from treadle.passes.precision.model import convert_dtype, plain_model

__all__ = ["convert_dtype", "plain_model"]
