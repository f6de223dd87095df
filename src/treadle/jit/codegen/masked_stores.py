"""Keeps choices from being stored under a mask, where processors do that slowly.

An element that is stored where one of the two values of its choice was loaded from,
`x[i] = x[i] if c else y`, need only be stored where it changes. LLVM makes a masked store of that.
AVX2 has such instructions, but a Zen 3 takes 12 cycles for one, and what is loaded from there
afterwards waits for it: shortest paths between all pairs of 96 nodes take 8 times as long. Where
vectors have registers for masks, masked stores are as fast as others.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder

_CHOICES = ("select", "call")
"""What LLVM may compute by a choice: a select, a maximum or minimum."""
_AVX2_BYTES = 32


def stored_whole(builder: FunctionBuilder, value: Any) -> Any:
    """The value in a form that is stored completely: LLVM does not look behind a freeze."""
    is_choice = getattr(value, "opname", "") in _CHOICES
    if not is_choice or builder.target.vector_bytes != _AVX2_BYTES:
        return value
    inner = builder.builder
    frozen = llvm.instructions.Instruction(inner.block, value.type, "freeze", [value])
    inner._insert(frozen)
    return frozen
