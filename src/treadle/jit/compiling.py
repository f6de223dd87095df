"""A kernel becomes machine code, or is found in memory or on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache

from treadle.jit import machine
from treadle.jit.code import Code, pack, unpack
from treadle.jit.faults import declining
from treadle.jit.fingerprint import Unwritable, fingerprint
from treadle.jit.kernel_ir import Extent, Kernel
from treadle.jit.locks import Lock
from treadle.jit.machine import Machine
from treadle.jit.store import Store
from treadle.jit.symbols import Unlinkable
from treadle.jit.team import ready

_MOST_RECENT = 64
_SPOILT = (Unlinkable, ValueError, LookupError, TypeError, AttributeError, OverflowError)
_recent: dict[str, bytes] = {}
_lock = Lock()


@declining
def compiled(
    kernel: Kernel, exact: Collection[Extent], store: Store | None
) -> tuple[Code, Machine]:
    """The code of a kernel, without its text, ready to run.

    `exact` are the extents known before it runs.
    """
    started = time.perf_counter()
    key = _key(kernel, exact)
    data = None if key is None else _kept(key, store)
    found = None if data is None else _loaded_from(data, kernel, store)
    if found is None:
        code = emitted(kernel, exact)
        machine_code = machine.object_code(code.text, packs=code.packs)
        if key is not None:
            _keep(store, key, kernel, code, machine_code)
        _make_ready(code, store)
        found = replace(code, text=""), machine.loaded(machine_code)
        data = None
    code, made = found
    seconds = time.perf_counter() - started
    return code, replace(made, seconds=seconds, was_kept=data is not None)


def _make_ready(code: Code, store: Store | None) -> None:
    if any(slot.kind == "team" for slot in code.slots):
        ready(store)


def emitted(kernel: Kernel, exact: Collection[Extent]) -> Code:
    """The kernel in LLVM."""
    from treadle.jit import emit

    return emit.emit_kernel(kernel, exact)


def _key(kernel: Kernel, exact: Collection[Extent]) -> str | None:
    """The name of a kernel's file; None where it must not be kept."""
    source = _source()
    if not source:
        return None
    try:
        words = f"{source} {machine.description()} {fingerprint(kernel, exact)}"
    except Unwritable:
        return None
    return hashlib.sha256(words.encode()).hexdigest()


def _kept(key: str, store: Store | None) -> bytes | None:
    with _lock:
        data = _recent.get(key)
    if data is None and store is not None:
        data = store.read(key)
    return data


def _loaded_from(data: bytes, kernel: Kernel, store: Store | None) -> tuple[Code, Machine] | None:
    """What was kept of a kernel, ready to run; None where that is not what was written once."""
    try:
        code, machine_code = unpack(kernel, data)
        _make_ready(code, store)
        return code, machine.loaded(machine_code, from_disk=True)
    except _SPOILT:
        return None


def _keep(store: Store | None, key: str, kernel: Kernel, code: Code, machine_code: bytes) -> None:
    try:
        data = pack(kernel, code, machine_code)
    except Unwritable:
        return
    with _lock:
        _recent[key] = data
        if len(_recent) > _MOST_RECENT:
            del _recent[next(iter(_recent))]
    if store is not None:
        store.write(key, data)


@cache
def _source() -> str:
    """The digest of this room's files, which decide what code a kernel has; "" without files.

    It is made as the room is imported, so that it is of the files that were.
    """
    digest = hashlib.sha256()
    files = sorted(_files(os.path.dirname(__file__)))
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
