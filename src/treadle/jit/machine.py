"""LLVM: text in, machine code out."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

_lock = threading.Lock()
_WIDE = (("avx512f", 64), ("avx2", 32))
_PYTHON = (
    "PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_CallNoArgs",
    "PyObject_CallOneArg", "PyLong_FromVoidPtr", "Py_DecRef",
)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Machine:
    """Code ready to run; `call` takes the address of the slots and holds the GIL."""

    call: Callable[[int], int]
    seconds: float
    keep: tuple[Any, ...]


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
def vector_bytes() -> int:
    """How wide the vector registers of this processor are; there are 32 of the widest, else 16."""
    features = _llvm().get_host_cpu_features()
    return next((size for name, size in _WIDE if features.get(name)), 16)


def _target() -> Any:
    """A target machine for this processor; an execution engine takes the one it is made with."""
    llvm = _llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3,
        jit=True,
    )  # fmt: skip


def optimised(text: str, target: Any) -> Any:
    """The module after LLVM's passes."""
    llvm = _llvm()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = True
    builder = llvm.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)
    return module


def compiled(text: str, name: str = "kernel") -> Machine:
    """The machine code of a module's function."""
    with _lock:
        started = time.perf_counter()
        target = _target()
        module = optimised(text, target)
        engine = _llvm().create_mcjit_compiler(module, target)
        engine.finalize_object()
        prototype = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
        call = prototype(engine.get_function_address(name))
        return Machine(call, time.perf_counter() - started, (engine, module))
