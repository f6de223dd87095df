"""LLVM: text in, machine code out."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from treadle.jit.shelter import sheltered

_lock = threading.Lock()
_libraries: list[Any] = []
_WIDE = (("avx512f", 64), ("avx2", 32))
_PYTHON = (
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_CallNoArgs",
    "PyObject_CallOneArg", "PyLong_FromVoidPtr", "Py_DecRef",
)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Machine:
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
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in _PYTHON:
        function = getattr(ctypes.pythonapi, name)
        llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
    return llvm


@cache
@sheltered
def vector_bytes() -> int:
    """How wide the vector registers of this processor are; there are 32 of the widest, else 16."""
    features = _llvm().get_host_cpu_features()
    return next((size for name, size in _WIDE if features.get(name)), 16)


def _target(effort: int = 3) -> Any:
    """A target machine for this processor; an execution engine takes the one it is made with."""
    llvm = _llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=effort,
        jit=True,
    )  # fmt: skip


def optimised(text: str, target: Any, *, packs: bool = True) -> Any:
    """The module after LLVM's passes; `packs` says whether single numbers are put into vectors."""
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = packs
    builder = llvm.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)
    return module


@sheltered
def object_code(text: str, *, packs: bool = True) -> bytes:
    """The machine code of a module, as an object file."""
    with _lock:
        target = _target()
        made: bytes = target.emit_object(optimised(text, target, packs=packs))
        return made


@sheltered
def optimised_text(text: str, *, packs: bool = True) -> str:
    """The module after LLVM's passes, as text."""
    with _lock:
        return str(optimised(text, _target(), packs=packs))


@sheltered
def loaded(data: bytes, name: str = "kernel") -> Machine:
    """The function of an object file, ready to be called."""
    llvm = _llvm()
    with _lock:
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
        engine.add_object_file(llvm.ObjectFileRef.from_data(data))
        engine.finalize_object()
        place = engine.get_function_address(name)
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
    return Machine(prototype(place), len(data), (engine,))


def library(text: str, names: Sequence[str]) -> Mapping[str, int]:
    """The addresses of functions that kernels may call from then on; made in a hurry."""
    llvm = _llvm()
    with _lock:
        target = _target(0)
        module = llvm.parse_assembly(text)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        engine = llvm.create_mcjit_compiler(module, target)
        engine.finalize_object()
        found = {name: engine.get_function_address(name) for name in names}
        _libraries.append(engine)
        for name, place in found.items():
            llvm.add_symbol(name, place)
    return found


def processor() -> str:
    """The first word of what LLVM calls this machine: x86_64."""
    return str(_llvm().get_default_triple()).partition("-")[0]


@cache
@sheltered
def description() -> str:
    """What machine code depends on besides its text: LLVM, the processor, and its features."""
    llvm = _llvm()
    features = llvm.get_host_cpu_features().flatten()
    version = ".".join(map(str, llvm.llvm_version_info))
    return f"{llvm.get_default_triple()} {version} {llvm.get_host_cpu_name()} {features}"
