"""Code generation: the kernel IR to LLVM IR."""

from treadle.jit.codegen.kernel import emit_kernel

__all__ = ["emit_kernel"]
