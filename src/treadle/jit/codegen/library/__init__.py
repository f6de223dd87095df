"""The functions of a C library around free kernels."""

from treadle.jit.codegen.library.call import workspace_bytes
from treadle.jit.codegen.library.functions import (
    ABI_VERSION,
    REASONS,
    emit_data,
    emit_library,
    emit_reasons,
)
from treadle.jit.codegen.library.memory import MEMORY

__all__ = [
    "ABI_VERSION",
    "MEMORY",
    "REASONS",
    "emit_data",
    "emit_library",
    "emit_reasons",
    "workspace_bytes",
]
