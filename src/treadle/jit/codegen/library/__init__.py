"""The functions of a C library around free kernels (kernels that need no Python)."""

from treadle.jit.codegen.library.call import workspace_bytes
from treadle.jit.codegen.library.functions import (
    ABI_VERSION,
    REASONS,
    NamedCode,
    emit_data,
    emit_library,
    emit_reasons,
)
from treadle.jit.codegen.library.memory import MEMORY
from treadle.jit.codegen.library.processor_level import emit_instructions

__all__ = [
    "ABI_VERSION",
    "MEMORY",
    "REASONS",
    "NamedCode",
    "emit_data",
    "emit_instructions",
    "emit_library",
    "emit_reasons",
    "workspace_bytes",
]
