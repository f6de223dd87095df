"""Runs regions in onnxruntime: the only room that imports it, lazily, when a model is planned."""

from typing import TYPE_CHECKING

from treadle.lazy_names import lazy_names

if TYPE_CHECKING:
    from treadle.delegate.baseline import Baseline, baseline
    from treadle.delegate.engine import Onnxruntime
    from treadle.delegate.options import Options, available_providers, set_severity
    from treadle.delegate.ort_errors import failures
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
        to_own_ortvalue,
    )


__all__ = [
    "Baseline",
    "Chosen",
    "Onnxruntime",
    "Options",
    "available_providers",
    "baseline",
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
    "to_own_ortvalue",
]

__getattr__ = lazy_names(
    __name__,
    {
        "baseline": ("Baseline", "baseline"),
        "engine": ("Onnxruntime",),
        "options": ("Options", "available_providers", "set_severity"),
        "ort_errors": ("failures",),
        "providers": ("Chosen", "choose"),
        "values": (
            "device",
            "from_ortvalue",
            "is_ortvalue",
            "memory",
            "of_onnxruntime",
            "ortvalues",
            "processor",
            "processor_memory",
            "to_ortvalue",
            "to_own_ortvalue",
        ),
    },
)
