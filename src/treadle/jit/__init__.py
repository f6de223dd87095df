"""Loops as native code: a region, the kernel IR, LLVM. The only room that imports llvmlite."""

from treadle.jit.engine import Jit

__all__ = ["Jit"]
