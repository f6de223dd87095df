"""What a waiting thread asks of its processor: a pause, the time, to run other threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I32, I64, VOID

MAX_PAUSES = 4000
"""The pauses after which a waiting thread gives its processor to others."""
_PAUSES: Mapping[str, tuple[str, Sequence[int]]] = {
    "x86_64": ("llvm.x86.sse2.pause", ()),
    "aarch64": ("llvm.aarch64.hint", (1,)),
}
_CLOCKS = {"x86_64": "llvm.readcyclecounter", "aarch64": "llvm.readsteadycounter"}


def _family(builder: FunctionBuilder) -> str:
    return builder.target.triple.partition("-")[0]


def pause(builder: FunctionBuilder) -> None:
    """Let the processor rest for a moment in a spin loop."""
    name, arguments = _PAUSES.get(_family(builder), ("", ()))
    if name:
        function = builder.external(name, VOID, *(I32 for _ in arguments))
        builder.builder.call(function, [llvm.Constant(I32, each) for each in arguments])


def spin(builder: FunctionBuilder, pauses: Any) -> None:
    """Pause, and after many pauses run other threads first."""
    pause(builder)
    b = builder.builder
    with builder.rarely(b.icmp_unsigned(">", pauses, builder.index(MAX_PAUSES))):
        b.call(builder.external("sched_yield", I32), [])


def clock(builder: FunctionBuilder) -> Any:
    """The ticks of the processor's counter; 0 where it has none that we know."""
    name = _CLOCKS.get(_family(builder))
    if name is None:
        return builder.index(0)
    return builder.builder.call(builder.external(name, I64), [])
