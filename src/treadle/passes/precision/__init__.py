"""Converts the floats of models to another element type, bodies included, with exceptions."""

from treadle.passes.precision.model import convert_dtype, plain_model

__all__ = ["convert_dtype", "plain_model"]
