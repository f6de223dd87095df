"""Compiles free kernels (kernels without Python) to the object files of a C library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.jit.kernel.free_kernel import FreeCode, FreeKernel
from treadle.jit.kernel.ir import SymbolicDim
from treadle.jit.kernel.target import Target
from treadle.jit.runtime.free_kernel import free_code, free_object

__all__ = [
    "Member",
    "Signatures",
    "compile_library",
    "float_object",
    "memory_object",
    "signatures",
]


@dataclass(frozen=True, slots=True)
class Member:
    """An object file of a library: its name, its content, and the names it exports."""

    name: str
    data: bytes
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Signatures:
    """The types of the inputs and outputs of a kernel; a dynamic extent is a name."""

    inputs: tuple[tuple[str, tuple[int | str, ...]], ...]
    outputs: tuple[tuple[str, tuple[int | str, ...]], ...]


def compile_library(
    prefix: str, kernels: Sequence[FreeKernel], description: str, targets: Sequence[Target]
) -> list[Member]:
    """The object files: one for each kernel, their constants, the functions of the library.

    Several targets are processors of one architecture, the least capable first: each kernel is
    compiled for all of them, and a run uses the best one the machine supports.
    """
    from treadle.jit.codegen import library

    stem, target = f"{prefix}_", targets[0]
    made: list[Member] = []
    constants: dict[str, bytes] = {}
    coded = []
    for number, free in enumerate(kernels):
        variants = []
        for each in targets:
            name = f"{stem}kernel_{number}{_suffix(each, targets)}"
            code = free_code(free, each, stem, name)
            variants.append(library.NamedCode(code, (name, f"{name}_bounded")))
            made += _kernel_members(name, code, each)
            constants.update(code.plain.constants)
            constants.update(code.bounded.constants)
        coded.append(variants)
    if constants:
        data = sorted(constants.items())
        text = library.emit_data(data)
        symbols = tuple(name for name, _ in data)
        made.append(Member(f"{stem}data.o", free_object(text, target), symbols))
    functions = tuple(f"{stem}{word}" for word in ("abi", "describe", "shapes", "workspace", "run"))
    text = library.emit_library(prefix, coded, description, targets)
    made.append(Member(f"{stem}functions.o", free_object(text, target), functions))
    if len(targets) > 1:
        instructions = free_object(library.emit_instructions(prefix), target)
        symbols = (f"{stem}cpuid", f"{stem}xgetbv")
        made.append(Member(f"{stem}processor.o", instructions, symbols))
    reasons = free_object(library.emit_reasons(target), target)
    made.append(Member("treadle_reason.o", reasons, ("treadle_reason",)))
    return made


def _suffix(target: Target, targets: Sequence[Target]) -> str:
    """The suffix of names of the code for a processor."""
    return f"_{target.processor.replace('-', '_')}" if len(targets) > 1 else ""


def memory_object(target: Target) -> bytes:
    """An object file with `realloc` and `free`, for a WebAssembly module without a C library."""
    from treadle.jit.codegen import library

    return free_object(library.MEMORY, target)


def float_object(target: Target) -> bytes:
    """An object file with `_fltused`, which Windows code with floats asks of its C library."""
    return free_object("@_fltused = global i32 39029", target)


def _kernel_members(name: str, code: FreeCode, target: Target) -> list[Member]:
    plain = free_object(code.plain.text, target, vectorizers=code.plain.vectorizers)
    bounded = free_object(code.bounded.text, target, vectorizers=code.bounded.vectorizers)
    return [
        Member(f"{name}.o", plain, (name,)),
        Member(f"{name}_bounded.o", bounded, (f"{name}_bounded",)),
    ]


def signatures(free: FreeKernel) -> Signatures:
    """The input and output types of a kernel."""
    inputs = tuple((node.dtype.value, _shape(node.shape)) for node in free.kernel.inputs)
    outputs = tuple((node.dtype.value, _shape(node.shape)) for node in free.kernel.results)
    return Signatures(inputs, outputs)


def _shape(shape: tuple[int | SymbolicDim, ...]) -> tuple[int | str, ...]:
    return tuple(extent if isinstance(extent, int) else extent.name for extent in shape)
