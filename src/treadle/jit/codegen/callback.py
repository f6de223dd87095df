"""Callbacks of a free kernel's caller: pairs of a function's address and its context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I32, I64, POINTER, VOID

POLL = llvm.FunctionType(I32, [POINTER])
SHARE = llvm.FunctionType(VOID, [POINTER, POINTER, POINTER, I64])
"""Their types: see `jit.kernel.target.Surroundings`."""


def call_back(builder: FunctionBuilder, kind: Any, pair: Any, arguments: Sequence[Any]) -> Any:
    """Call the function of the pair with its context and the arguments."""
    b = builder.builder
    second = b.gep(pair, [llvm.Constant(I64, 1)], source_etype=POINTER, inbounds=True)
    function = b.load(pair, typ=kind.as_pointer())
    return b.call(function, [b.load(second, typ=POINTER), *arguments])
