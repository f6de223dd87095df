"""Hands regions to onnxruntime: the only room that imports it, and only when a model is planned."""

from treadle.delegate.alone import Alone, alone
from treadle.delegate.engine import Onnxruntime
from treadle.delegate.options import Options, available_providers

__all__ = ["Alone", "Onnxruntime", "Options", "alone", "available_providers"]
