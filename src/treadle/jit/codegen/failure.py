"""Ends a kernel with a failure status."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.llvm_types import I64


def is_in_parallel_part(context: CodegenContext) -> bool:
    """Whether the current function is a part of a parallel nest."""
    return bool(context.builder.function.name != context.exit.block.function.name)


def leave(context: CodegenContext, status: int) -> None:
    """End the kernel with the status."""
    context.builder.builder.store(llvm.Constant(I64, status), context.exit.status)
    context.builder.builder.branch(context.exit.block)


def fail_if(context: CodegenContext, condition: Any, status: int) -> None:
    """End the kernel with the status if the condition holds; not allowed in a parallel part."""
    assert not is_in_parallel_part(context), "a parallel nest cannot fail"
    with context.builder.rarely(condition):
        leave(context, status)
