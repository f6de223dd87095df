"""The kernel IR in LLVM."""

from treadle.jit.codegen.kernel import emit_kernel

__all__ = ["emit_kernel"]
