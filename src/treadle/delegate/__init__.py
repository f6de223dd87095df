"""Hands regions to onnxruntime: the only room that imports it, and only when a model is planned."""

from treadle.delegate.alone import Alone, alone
from treadle.delegate.engine import Onnxruntime
from treadle.delegate.foreign import failures
from treadle.delegate.options import Options, available_providers, set_severity
from treadle.delegate.providers import Chosen, choose
from treadle.delegate.values import (
    device,
    from_ortvalue,
    is_ortvalue,
    memory,
    of_onnxruntime,
    ortvalues,
    processor,
    processor_memory,
    to_ortvalue,
)

__all__ = [
    "Alone",
    "Chosen",
    "Onnxruntime",
    "Options",
    "alone",
    "available_providers",
    "choose",
    "device",
    "failures",
    "from_ortvalue",
    "is_ortvalue",
    "memory",
    "of_onnxruntime",
    "ortvalues",
    "processor",
    "processor_memory",
    "set_severity",
    "to_ortvalue",
]
