"""Runs LLVM: text to object code, and object code to functions where our loader cannot."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from treadle.jit.kernel.target import Target
from treadle.jit.toolchain import elf_loader, symbols
from treadle.jit.toolchain.fork_safe_lock import ForkSafeLock
from treadle.jit.toolchain.host_cpu import compiler, processor
from treadle.jit.toolchain.uninterruptible import uninterruptible

_lock = ForkSafeLock()
_VECTOR_UNITS = {"avx512f": (64, 32), "avx2": (32, 16), "neon": (16, 32)}
"""The vector registers of a feature: their bytes, and how many there are."""
_PYTHON = (
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_CallNoArgs",
    "PyObject_CallOneArg", "PyLong_FromVoidPtr", "Py_DecRef",
)  # fmt: skip
_KERNEL = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


@dataclass(frozen=True, eq=False, slots=True)
class LoadedKernel:
    """Code ready to run; `call` takes the address of the slots and holds the GIL.

    `seconds` is how long it took to make or to read, `size` the bytes of the object file.
    """

    call: Callable[[int], int]
    size: int
    keep: tuple[Any, ...]
    seconds: float = 0.0
    was_kept: bool = False


@cache
def _llvm() -> Any:
    """Llvmlite's binding, made ready for this machine."""
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError) as error:
        raise symbols.Unrunnable(
            f"llvmlite, which has the compiler, is not there: {error}"
        ) from error

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in _PYTHON:
        function = getattr(ctypes.pythonapi, name)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return llvm


@cache
@uninterruptible
def host_target() -> Target:
    """The machine that code of this process runs on."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    widest = next((name for name in _VECTOR_UNITS if features.get(name)), "")
    width, registers = _VECTOR_UNITS.get(widest, (16, 16))
    has_fma = bool(features.get("fma")) or not llvm.get_default_triple().startswith("x86")
    return Target(
        llvm.get_default_triple(), llvm.get_host_cpu_name(), features.flatten(), width, registers,
        has_fma, has_scale=widest == "avx512f", code_model="jitdefault", relocation="default",
    )  # fmt: skip


def _machine(target: Target, effort: int = 3) -> Any:
    """LLVM's machine of a target; an execution engine takes the one it is made with."""
    llvm = _llvm()
    is_jit = target.code_model == "jitdefault"
    if not is_jit:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.processor, features=_features(target), opt=effort, reloc=target.relocation,
        codemodel=target.code_model, jit=is_jit,
    )  # fmt: skip


def _features(target: Target) -> str:
    """The features of a target, with vectors as wide as it says.

    Of Intel's processors with registers of 64 bytes LLVM uses 32 unless it is told otherwise.
    """
    is_wide = target.vector_bytes == 64 and target.triple.startswith("x86_64")
    return ",".join(filter(None, (target.features, "-prefer-256-bit" * is_wide)))


def parsed(text: str) -> Any:
    """A module in a context of its own.

    LLVM's global context keeps the types and constants of every module it has seen, for good.
    """
    llvm = _llvm()
    return llvm.parse_assembly(text, llvm.create_context())


def optimized_module(text: str, target: Any, *, packs: bool = True) -> Any:
    """The module after LLVM's passes; `packs` says whether single numbers are put into vectors."""
    llvm = _llvm()
    module = parsed(text)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = packs
    builder = llvm.create_pass_builder(target, tuning)
    passes = builder.getModulePassManager()
    try:
        passes.run(module, builder)
    finally:
        _dispose(passes)
    return module


def _dispose(passes: Any) -> None:
    """Free LLVM's passes, a quarter of a MB for every kernel.

    llvmlite does not: a method of another base class, which does nothing, hides the one that does.
    """
    _llvm().newpassmanagers.NewPassManager._dispose(passes)
    passes.detach()


@uninterruptible
def object_code(text: str, *, packs: bool = True, target: Target | None = None) -> bytes:
    """The machine code of a module, as an object file; for this machine unless a target is told."""
    with _lock:
        machine = _machine(target or host_target())
        made: bytes = machine.emit_object(optimized_module(text, machine, packs=packs))
        return made


@uninterruptible
def quick_object_code(text: str) -> bytes:
    """The machine code of a module as it is, without LLVM's passes."""
    with _lock:
        target = _machine(host_target(), 0)
        module = parsed(text)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        made: bytes = target.emit_object(module)
        return made


@uninterruptible
def optimized_ir(text: str, *, packs: bool = True) -> str:
    """The module after LLVM's passes, as text."""
    with _lock:
        return str(optimized_module(text, _machine(host_target()), packs=packs))


def load_kernel(data: bytes, name: str = "kernel", *, from_disk: bool = False) -> LoadedKernel:
    """The function of an object file, ready to be called.

    Raises Unlinkable `from_disk` where our linker refuses it: LLVM ends the process on some files.
    """
    places, keep = _placed(data, (name,), from_disk=from_disk)
    return LoadedKernel(_KERNEL(places[name]), len(data), (keep,))


def library(data: bytes, names: Sequence[str], *, from_disk: bool = False) -> Mapping[str, int]:
    """The addresses of functions of an object file; kernels may call them from then on.

    They outlive the interpreter, as threads may that run them. Raises Unlinkable as `load_kernel`
    does.
    """
    places, keep = _placed(data, names, from_disk=from_disk)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(keep))
    symbols.SYMBOLS.update(places)
    return places


def _placed(data: bytes, names: Sequence[str], *, from_disk: bool) -> tuple[Mapping[str, int], Any]:
    """The addresses of functions, and what must be held as long as they are called."""
    if symbols.is_possible():
        try:
            linked = elf_loader.load_object(data, names)
        except symbols.Unlinkable:
            if from_disk:
                raise
            return _placed_by_llvm(data, names)
        return linked.places, linked.memory
    return _placed_by_llvm(data, names)


@uninterruptible
def _placed_by_llvm(data: bytes, names: Sequence[str]) -> tuple[Mapping[str, int], Any]:
    llvm = _llvm()
    with _lock:
        for name, place in dict(symbols.SYMBOLS).items():
            llvm.add_symbol(name, place)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(host_target()))
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        places = {name: engine.get_function_address(name) for name in names}
    if not all(places.values()):
        raise symbols.Unrunnable("LLVM finds no place for a function")
    return places, engine


def family() -> str:
    """The first word of what LLVM calls this machine: x86_64."""
    return symbols.MACHINE if symbols.is_possible() else _triple().partition("-")[0]


@uninterruptible
def _triple() -> str:
    return str(_llvm().get_default_triple())


@cache
def description() -> str:
    """What machine code depends on besides its text: LLVM, the processor, and its features."""
    asked, writer = processor(), compiler()
    return f"{symbols.MACHINE} {asked} {writer}" if asked and writer else _described()


@uninterruptible
def _described() -> str:
    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{llvm.get_default_triple()} {version} {llvm.get_host_cpu_name()} {features}"
