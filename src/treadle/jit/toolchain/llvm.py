"""Runs LLVM: IR text to object code, and object code to functions where our loader cannot."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from treadle.jit.kernel.artifact import INLINED_LATE, VECTORIZERS
from treadle.jit.kernel.target import Target
from treadle.jit.toolchain import elf_loader, symbols
from treadle.jit.toolchain.host_cpu import compiler, has_byte_products, processor
from treadle.jit.toolchain.uninterruptible import uninterruptible
from treadle.locks import ForkSafeLock, fork_outside

_lock = ForkSafeLock()
_VECTOR_UNITS = {"avx512f": (64, 32), "avx2": (32, 16), "neon": (16, 32)}
"""The vector registers of a feature: their bytes, and their number."""
_PYTHON = (
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_CallNoArgs",
    "PyObject_CallOneArg", "PyLong_FromVoidPtr", "Py_DecRef",
)  # fmt: skip
_KERNEL = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


@dataclass(frozen=True, eq=False, slots=True)
class LoadedKernel:
    """Loaded code; `call` takes the address of the slots and holds the GIL.

    `seconds` is the time of compiling or loading, `size` the bytes of the object file. `lines` is
    the line table of a profiled kernel (`line_table.py`), empty where LLVM loaded the code.
    `in_background`: calls ran on another engine meanwhile.
    """

    call: Callable[[int], int]
    size: int
    keep: tuple[Any, ...]
    seconds: float = 0.0
    was_kept: bool = False
    lines: bytes = b""
    in_background: bool = False


@cache
def _llvm() -> Any:
    """Llvmlite's binding, initialised for this machine."""
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError) as error:
        raise symbols.Unrunnable(f"llvmlite, the compiler, is not installed: {error}") from error

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in _PYTHON:
        function = getattr(ctypes.pythonapi, name)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    fork_outside(llvm.ffi.lib._lock)  # of llvmlite, around every call of LLVM
    return llvm


@cache
@uninterruptible
def host_target() -> Target:
    """The machine that this process runs on, as a target."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    widest = next((name for name in _VECTOR_UNITS if features.get(name)), "")
    width, registers = _VECTOR_UNITS.get(widest, (16, 16))
    has_fma = bool(features.get("fma")) or not llvm.get_default_triple().startswith("x86")
    return Target(
        llvm.get_default_triple(), llvm.get_host_cpu_name(), features.flatten(), width, registers,
        has_fma, has_scale=widest == "avx512f", has_half=bool(features.get("f16c")),
        has_byte_products=has_byte_products(),
        code_model="jitdefault", relocation="default",
    )  # fmt: skip


@cache
def _machine(target: Target, effort: int = 3) -> Any:
    """LLVM's target machine for all modules: it takes a millisecond to read the features."""
    return _new_machine(target, effort)


def _new_machine(target: Target, effort: int = 3) -> Any:
    """LLVM's target machine; an execution engine takes ownership of the one it is created with."""
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

    By default LLVM uses only 32 bytes of the 64-byte registers of Intel's processors, and gathers
    where AMD's read the elements one by one faster: a Viterbi decoder takes 0.6 of the time.
    """
    is_wide = target.vector_bytes == 64 and target.triple.startswith("x86_64")
    has_slow_gathers = target.processor.startswith("znver")
    asked = "-prefer-256-bit" * is_wide, "+prefer-no-gather" * has_slow_gathers
    return ",".join(filter(None, (target.features, *asked)))


@contextmanager
def parsed(text: str) -> Iterator[Any]:
    """A module in its own context, both of which are freed after the block, in this order.

    LLVM's global context keeps the types and constants of every module forever. Python's collector
    may free a context before its module, as of a traceback, which ends the process.
    """
    llvm = _llvm()
    with (
        closing(llvm.create_context()) as context,
        closing(llvm.parse_assembly(text, context)) as module,
    ):
        yield module


def optimize(module: Any, target: Any, *, vectorizers: Sequence[str] = VECTORIZERS) -> None:
    """Run LLVM's passes on a module.

    Without a vectorizer those of a function suffice: vectorizers and what they need around them
    take 0.4 of the time.
    """
    llvm = _llvm()
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = "loop" in vectorizers
    tuning.slp_vectorization = "slp" in vectorizers
    late = [each.name for each in module.functions if each.name.startswith(INLINED_LATE)]
    if late:
        tuning.inlining_threshold = 0
    with closing(llvm.create_pass_builder(target, tuning)) as builder:
        if not vectorizers:
            _inline(module, late, builder)
        passes = builder.getModulePassManager() if vectorizers else builder.getFunctionPassManager()
        whole = [module] if vectorizers else [f for f in module.functions if not f.is_declaration]
        try:
            for each in whole:
                passes.run(each, builder)
        finally:
            _dispose(passes)
        if vectorizers:
            _inline(module, late, builder)


@contextmanager
def _optimized(text: str, target: Any, vectorizers: Sequence[str]) -> Iterator[Any]:
    """A module after LLVM's passes, without the SLP vectorizer where its result is invalid.

    LLVM 22's may put a shuffle before the load that it reads, as where a row is shifted, reduced
    and read by a loop (the fault of llvm-project#128770). Generating code from such a module ends
    the process.
    """
    with parsed(text) as module:
        optimize(module, target, vectorizers=vectorizers)
        if "slp" not in vectorizers or _is_valid(module):
            yield module
            return
    with parsed(text) as module:
        optimize(module, target, vectorizers=[each for each in vectorizers if each != "slp"])
        yield module


def _is_valid(module: Any) -> bool:
    try:
        module.verify()
    except RuntimeError:
        return False
    return True


def _inline(module: Any, names: Sequence[str], builder: Any) -> None:
    """Inline functions of these names, and drop them."""
    if not names:
        return
    for name in names:
        function = module.get_function(name)
        function.linkage = "internal"
        function.add_function_attribute("alwaysinline")
    passes = _llvm().create_new_module_pass_manager()
    try:
        passes.add_always_inliner_pass()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(module, builder)
    finally:
        _dispose(passes)


def _dispose(passes: Any) -> None:
    """Free LLVM's passes, a quarter of a MB per kernel.

    llvmlite does not: an empty method of another base class shadows the one that would.
    """
    _llvm().newpassmanagers.NewPassManager._dispose(passes)
    passes.detach()


@uninterruptible
def object_code(
    text: str, *, vectorizers: Sequence[str] = VECTORIZERS, target: Target | None = None
) -> bytes:
    """Compile a module to an object file; for this machine unless a target is given."""
    with _lock:
        machine = _machine(target or host_target())
        with _optimized(text, machine, vectorizers) as module:
            made: bytes = machine.emit_object(module)
            return made


@uninterruptible
def quick_object_code(text: str, *, target: Target | None = None) -> bytes:
    """Compile a module without LLVM's passes; for this machine unless a target is given."""
    with _lock, parsed(text) as module:
        machine = _machine(target or host_target(), 0)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        made: bytes = machine.emit_object(module)
        return made


@uninterruptible
def optimized_ir(
    text: str, *, vectorizers: Sequence[str] = VECTORIZERS, target: Target | None = None
) -> str:
    """The text of the module after LLVM's passes; for this machine unless a target is given."""
    with _lock, _optimized(text, _machine(target or host_target()), vectorizers) as module:
        return str(module)


def load_kernel(data: bytes, name: str = "kernel", *, from_disk: bool = False) -> LoadedKernel:
    """Load the function of an object file.

    With `from_disk`, raises Unlinkable if our loader rejects the file: LLVM would end the process
    on some files.
    """
    places, keep = _placed(data, (name,), from_disk=from_disk)
    lines = keep.lines if isinstance(keep, elf_loader.LoadedObject) else b""
    return LoadedKernel(_KERNEL(places[name]), len(data), (keep,), lines=lines)


def library(data: bytes, names: Sequence[str], *, from_disk: bool = False) -> Mapping[str, int]:
    """Load functions of an object file and return their addresses, which kernels may call.

    They are never unloaded, since threads may run them at exit. Raises Unlinkable as `load_kernel`
    does.
    """
    places, keep = _placed(data, names, from_disk=from_disk)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(keep))
    symbols.SYMBOLS.update(places)
    return places


def _placed(data: bytes, names: Sequence[str], *, from_disk: bool) -> tuple[Mapping[str, int], Any]:
    """The addresses of functions, and the object that keeps them loaded."""
    if symbols.is_possible():
        try:
            linked = elf_loader.load_object(data, names)
        except symbols.Unlinkable:
            if from_disk:
                raise
            return _placed_by_llvm(data, names)
        return linked.places, linked
    return _placed_by_llvm(data, names)


@uninterruptible
def _placed_by_llvm(data: bytes, names: Sequence[str]) -> tuple[Mapping[str, int], Any]:
    llvm = _llvm()
    with _lock:
        for name, address in dict(symbols.SYMBOLS).items():
            llvm.add_symbol(name, address)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_machine(host_target()))
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        places = {name: engine.get_function_address(name) for name in names}
    if not all(places.values()):
        raise symbols.Unrunnable("LLVM cannot load a function")
    return places, engine


@uninterruptible
def _triple() -> str:
    return str(_llvm().get_default_triple())


@cache
def description() -> str:
    """A text of everything machine code depends on besides its IR: LLVM, processor, features."""
    asked, writer = processor(), compiler()
    return f"{symbols.MACHINE} {asked} {writer}" if asked and writer else _described()


@uninterruptible
def _described() -> str:
    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{llvm.get_default_triple()} {version} {llvm.get_host_cpu_name()} {features}"
