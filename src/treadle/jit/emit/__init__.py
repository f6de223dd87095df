"""The kernel IR in LLVM."""

from treadle.jit.emit.kernel import Code, emit_kernel

__all__ = ["Code", "emit_kernel"]
