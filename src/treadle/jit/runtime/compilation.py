"""Compiles a kernel to machine code, or finds the code in memory or on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from treadle.jit.internal_errors import decline_on_internal_error
from treadle.jit.kernel.artifact import KernelArtifact, deserialize, serialize
from treadle.jit.kernel.fingerprint import Unwritable, fingerprint
from treadle.jit.kernel.ir import Kernel, SymbolicDim
from treadle.jit.kernel.target import PYTHON, Surroundings, Target
from treadle.jit.runtime.kernel_records import KernelRecord
from treadle.jit.threads import thread_pool
from treadle.jit.threads.words import SERVE, SHARE
from treadle.jit.toolchain import llvm, symbols
from treadle.jit.toolchain.disk_cache import DiskCache
from treadle.jit.toolchain.llvm import LoadedKernel
from treadle.jit.toolchain.symbols import POLL_FUNCTION, Unlinkable
from treadle.limits import without_collection
from treadle.locks import ForkSafeLock

_MAX_RECENT_KERNELS = 64
"""The number of kernels whose machine code a process keeps for other sessions."""
_UNREADABLE = (Unlinkable, ValueError, LookupError, TypeError, AttributeError, OverflowError)
_recent: dict[str, bytes] = {}
_lock = ForkSafeLock()


@decline_on_internal_error
def compiled(
    kernel: Kernel, exact: Collection[SymbolicDim], store: DiskCache | None
) -> tuple[KernelArtifact, LoadedKernel]:
    """Compile a kernel; returns its code, without the text, ready to run.

    `exact` are the extents known before it runs.
    """
    started = time.perf_counter()
    key = _key(kernel, exact)
    data = None if key is None else _kept(key, store)
    found = None if data is None else _loaded_from(data, kernel, store)
    if found is None and key is not None:
        found = _compiled_elsewhere(key, kernel, exact, store)
        data = None
    if found is None:
        code = generate_code(kernel, exact)
        machine_code = llvm.object_code(code.text, vectorizers=code.vectorizers)
        if key is not None:
            _keep(store, key, kernel, code, machine_code)
        _make_ready(code, store)
        found = replace(code, text=""), llvm.load_kernel(machine_code)
        data = None
    code, made = found
    seconds = time.perf_counter() - started
    in_background = hasattr(_elsewhere, "compiled")
    return code, replace(
        made, seconds=seconds, was_kept=data is not None, in_background=in_background
    )


def machine_code_of(
    kernel: Kernel, exact: Collection[SymbolicDim], store: DiskCache | None
) -> bytes | None:
    """The machine code stored for a kernel; None if it must not be stored."""
    key = _key(kernel, exact)
    data = None if key is None else _kept(key, store)
    return None if data is None else deserialize(kernel, data)[1]


def loaded(record: KernelRecord, store: DiskCache | None) -> LoadedKernel | None:
    """The code of a record, ready to run; None if the record is damaged."""
    started = time.perf_counter()
    try:
        _make_ready(record.artifact, store)
        made = llvm.load_kernel(record.machine_code, from_disk=True)
    except _UNREADABLE:
        return None
    return replace(made, seconds=time.perf_counter() - started, was_kept=True)


def _make_ready(code: KernelArtifact, store: DiskCache | None) -> None:
    """Load the functions that the kernel calls."""
    if POLL_FUNCTION not in symbols.SYMBOLS and _poll_is_called():
        _library("poll", (POLL_FUNCTION,), _poll_code, store)
    if any(slot.kind == "team" for slot in code.slots):
        load_thread_pool(store)


def load_thread_pool(store: DiskCache | None = None) -> None:
    """Load the thread pool's code, once a process."""
    if not thread_pool.has_code():
        thread_pool.use_code(_library("thread pool", (SERVE, SHARE), _thread_pool_code, store))


def _library(
    title: str, names: Sequence[str], compiled: Callable[[], bytes], store: DiskCache | None
) -> Mapping[str, int]:
    """Load functions that kernels call, from the disk cache if it has them; their addresses."""
    source = identity()
    key = source and hashlib.sha256(f"{title} {source}".encode()).hexdigest()
    data = store.read(key) if store is not None and key else None
    if data is not None:
        with contextlib.suppress(Unlinkable):
            return llvm.library(data, names, from_disk=True)
    data = compiled()
    if store is not None and key:
        store.write(key, data)
    return llvm.library(data, names)


def _poll_is_called() -> bool:
    """Whether kernels of this process may poll by the function."""
    if symbols.is_possible():
        return True  # without LLVM, which the code from the disk cache does not need
    from treadle.jit.codegen.safepoint import has_poll_function

    return has_poll_function(llvm.host_target())


def _poll_code() -> bytes:
    from treadle.jit.codegen.safepoint import POLL_MODULE, poll_target

    return llvm.quick_object_code(POLL_MODULE, target=poll_target(llvm.host_target()))


def _thread_pool_code() -> bytes:
    from treadle.jit.codegen.threads.pool_module import emit_pool

    return llvm.quick_object_code(emit_pool(llvm.host_target()))


@without_collection()
def generate_code(
    kernel: Kernel,
    exact: Collection[SymbolicDim],
    target: Target | None = None,
    surroundings: Surroundings = PYTHON,
    name: str = "kernel",
) -> KernelArtifact:
    """The kernel in LLVM, for this machine unless a target is given."""
    from treadle.jit import codegen

    return codegen.emit_kernel(kernel, exact, target or llvm.host_target(), surroundings, name)


def _key(kernel: Kernel, exact: Collection[SymbolicDim]) -> str | None:
    """The name of a kernel's file; None if it must not be stored.

    The code is for this machine, which `llvm.description` describes without loading LLVM.
    """
    source = _source()
    if not source:
        return None
    try:
        words = f"{source} {llvm.description()} {fingerprint(kernel, exact)}"
    except Unwritable:
        return None
    return hashlib.sha256(words.encode()).hexdigest()


def _kept(key: str, store: DiskCache | None) -> bytes | None:
    with _lock:
        data = _recent.get(key)
    if data is None and store is not None:
        data = store.read(key)
    return data


def _loaded_from(
    data: bytes, kernel: Kernel, store: DiskCache | None
) -> tuple[KernelArtifact, LoadedKernel] | None:
    """The stored code of a kernel, ready to run; None if the file is damaged."""
    try:
        code, machine_code = deserialize(kernel, data)
        _make_ready(code, store)
        return code, llvm.load_kernel(machine_code, from_disk=True)
    except _UNREADABLE:
        return None


Elsewhere = Callable[[Kernel, Collection[SymbolicDim]], bytes | None]
"""Makes the kept form of a kernel's code in another process; None: it cannot."""
_elsewhere = threading.local()


def compile_by(elsewhere: Elsewhere) -> None:
    """Have kernels that this thread compiles from now on made by another process."""
    _elsewhere.compiled = elsewhere


def _compiled_elsewhere(
    key: str, kernel: Kernel, exact: Collection[SymbolicDim], store: DiskCache | None
) -> tuple[KernelArtifact, LoadedKernel] | None:
    compiled = getattr(_elsewhere, "compiled", None)
    data = None if compiled is None else compiled(kernel, exact)
    if data is None:
        return None
    _keep_data(store, key, data)
    return _loaded_from(data, kernel, store)


def kept_form(kernel: Kernel, exact: Collection[SymbolicDim]) -> bytes:
    """Compile a kernel; returns the form in which its code is kept."""
    code = generate_code(kernel, exact)
    return serialize(kernel, code, llvm.object_code(code.text, vectorizers=code.vectorizers))


def _keep(
    store: DiskCache | None, key: str, kernel: Kernel, code: KernelArtifact, machine_code: bytes
) -> None:
    try:
        data = serialize(kernel, code, machine_code)
    except Unwritable:
        return
    _keep_data(store, key, data)


def _keep_data(store: DiskCache | None, key: str, data: bytes) -> None:
    with _lock:
        _recent[key] = data
        if len(_recent) > _MAX_RECENT_KERNELS:
            del _recent[next(iter(_recent))]
    if store is not None:
        store.write(key, data)


_ENGINE = os.path.dirname(os.path.dirname(__file__))


@cache
def identity() -> str | None:
    """The dependences of code besides its region: this package, LLVM, the machine."""
    source = _source()
    return f"{source} {llvm.description()}" if source else None


@cache
def _source() -> str:
    """The digest of the files of `treadle.jit`, which determine a kernel's code; "" without them.

    It is computed when the room is imported, so it is that of the imported files.
    """
    digest = hashlib.sha256()
    files = sorted(_files(_ENGINE))
    try:
        for file in files:
            with open(file, "rb", buffering=0) as opened:
                digest.update(opened.read())
    except OSError:
        return ""
    return digest.hexdigest() if files else ""


def _files(folder: str) -> Iterator[str]:
    """The paths of a folder's sources; a `Path` for each would take as long as reading it."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py") and not entry.name.startswith("."):
                yield entry.path
            elif "." not in entry.name and entry.is_dir():
                yield from _files(entry.path)


_source()
