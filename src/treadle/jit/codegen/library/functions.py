"""The functions of a library: the choice of a kernel for a call, and the description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.library.call import emit_call, workspace_bytes
from treadle.jit.codegen.library.interface import (
    ARGUMENT,
    UNMATCHED,
    begin,
    run_type,
    size_type,
)
from treadle.jit.codegen.library.processor_level import emit_level
from treadle.jit.codegen.library.signature_match import emit_fits, emit_shapes
from treadle.jit.codegen.llvm_types import I8, I32, POINTER
from treadle.jit.codegen.module_text import text_of
from treadle.jit.kernel.free_kernel import FreeCode
from treadle.jit.kernel.target import Target

ABI_VERSION = 1
REASONS = (
    "no error",
    "an index is out of range",
    "there is not enough memory for a value",
    "the trip count is over the length of a sliced input",
    "the caller's poll stopped the run",
    "no kernel of this library fits the shapes and element types of the inputs",
    "the value of an input is not one the kernel was compiled for",
    "the run exceeds its limit of iterations",
    "the loops of the run hold more bytes than its limit",
    "an argument is missing: a pointer is null, or treadle_run.size is too small",
)
"""The message of each status."""


@dataclass(frozen=True, eq=False, slots=True)
class NamedCode:
    """The code of a kernel, and the names of its two functions: plain, and with limits."""

    code: FreeCode
    names: tuple[str, str]


def emit_library(
    prefix: str, kernels: Sequence[Sequence[NamedCode]], description: str, targets: Sequence[Target]
) -> str:
    """The module of a library's functions; each kernel has code for each of the targets.

    Several targets differ in the processor; the first is the least capable one, and the functions
    themselves are compiled for it.
    """
    module, target = llvm.Module(name="treadle"), targets[0]
    frees = [variants[0].code.free for variants in kernels]
    fits = [emit_fits(module, free, k, target) for k, free in enumerate(frees)]
    shapes = [emit_shapes(module, free, k, target) for k, free in enumerate(frees)]
    calls = [
        [emit_call(module, each.code, f"{k}_{level}", each.names, target)
         for level, each in enumerate(variants)]
        for k, variants in enumerate(kernels)
    ]  # fmt: skip
    processors = [each.processor for each in targets]
    level = emit_level(module, prefix, processors, target) if len(targets) > 1 else None
    sizes = [max(workspace_bytes(each.code) for each in variants) for variants in kernels]
    _emit_constant(module, f"{prefix}_abi", ABI_VERSION, target)
    _emit_describe(module, f"{prefix}_describe", description, target)

    def tell(builder: FunctionBuilder, number: int) -> Any:
        return builder.builder.call(shapes[number], builder.function.args)

    def run(builder: FunctionBuilder, number: int) -> Any:
        given, made, asked = builder.function.args
        arguments = [given, made, _run_of(builder, asked)]
        if level is not None:
            _run_better(builder, level, calls[number], arguments)
        return builder.builder.call(calls[number][0], arguments)

    def room(builder: FunctionBuilder, number: int) -> Any:
        return llvm.Constant(size_type(target), sizes[number])

    word = size_type(target)
    _emit_choice(module, f"{prefix}_shapes", I32, 2, fits, tell, UNMATCHED, target)
    _emit_choice(module, f"{prefix}_workspace", word, 1, fits, room, 0, target)
    _emit_choice(module, f"{prefix}_run", I32, 3, fits, run, UNMATCHED, target)
    return text_of(module)


def _run_better(
    builder: FunctionBuilder, level: Any, calls: Sequence[Any], arguments: Sequence[Any]
) -> None:
    """Run the code for a better processor if the machine has one."""
    b = builder.builder
    best = b.call(level, [])
    for number, call in reversed(list(enumerate(calls))[1:]):
        with b.if_then(b.icmp_signed("==", best, llvm.Constant(I32, number))):
            b.ret(b.call(call, arguments))


def _emit_choice(
    module: llvm.Module,
    name: str,
    result: Any,
    arity: int,
    fits: Sequence[Any],
    then: Callable[[FunctionBuilder, int], Any],
    otherwise: int,
    target: Target,
) -> None:
    """Emit a function that calls the first kernel whose signature matches the inputs."""
    w = begin(module, name, result, [POINTER] * arity, target)
    for number, fit in enumerate(fits):
        with w.builder.if_then(w.builder.call(fit, [w.function.args[0]])):
            w.builder.ret(then(w, number))
    w.builder.ret(llvm.Constant(result, otherwise))
    w.close_entry()


def _run_of(builder: FunctionBuilder, asked: Any) -> Any:
    """The run structure, or zeros if it is null; returns an error if its size is wrong."""
    w, kind = builder, run_type(builder.target)
    b, word = w.builder, size_type(builder.target)
    zero = (
        llvm.Constant(word, _run_size(builder.target)),
        *(llvm.Constant(t, None) for t in kind.elements[1:]),
    )
    zeros = w.variable(kind, llvm.Constant(kind, zero))
    is_none = b.icmp_unsigned("==", asked, llvm.Constant(POINTER, None))
    run = b.select(is_none, zeros, asked)
    wanted = llvm.Constant(word, _run_size(builder.target))
    with w.rarely(b.icmp_unsigned("<", b.load(run, typ=word), wanted)):
        b.ret(llvm.Constant(I32, ARGUMENT))
    return run


def _run_size(target: Target) -> int:
    """The size of a run structure: six words, padded to a multiple of eight, and two numbers."""
    return -(-6 * target.pointer_bytes // 8) * 8 + 16


def _emit_constant(module: llvm.Module, name: str, value: int, target: Target) -> None:
    w = begin(module, name, I32, [], target)
    w.builder.ret(llvm.Constant(I32, value))
    w.close_entry()


def _text(module: llvm.Module, name: str, text: str) -> Any:
    content = bytearray(text.encode() + b"\0")
    kind = llvm.ArrayType(I8, len(content))
    data = llvm.GlobalVariable(module, kind, name)
    data.linkage, data.global_constant = "internal", True
    data.initializer = llvm.Constant(kind, content)
    return data


def _emit_describe(module: llvm.Module, name: str, text: str, target: Target) -> None:
    w = begin(module, name, POINTER, [], target)
    w.builder.ret(_text(module, ".description", text))
    w.close_entry()


def emit_reasons(target: Target) -> str:
    """The module of `treadle_reason`, which all libraries of a program share."""
    module = llvm.Module(name="treadle")
    w = begin(module, "treadle_reason", POINTER, [I32], target)
    other = w.function.append_basic_block("other")
    choice = w.builder.switch(w.function.args[0], other)
    for status, words in enumerate((*REASONS, "")):
        block = other if not words else w.function.append_basic_block("reason")
        w.builder.position_at_end(block)
        w.builder.ret(_text(module, f".reason_{status}", words or "an unknown status"))
        if words:
            choice.add_case(llvm.Constant(I32, status), block)
    w.close_entry()
    return text_of(module)


def emit_data(constants: Sequence[tuple[str, bytes]]) -> str:
    """The module of the constants of kernels."""
    module = llvm.Module(name="treadle")
    for name, content in constants:
        kind = llvm.ArrayType(I8, max(len(content), 1))
        data = llvm.GlobalVariable(module, kind, name)
        data.linkage, data.global_constant, data.align = "hidden", True, 64
        data.initializer = llvm.Constant(kind, bytearray(content or b"\0"))
    return text_of(module)
