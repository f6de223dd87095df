"""A kernel becomes machine code, or is found on disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from pathlib import Path

from treadle.jit import machine
from treadle.jit.code import Code, pack, unpack
from treadle.jit.fingerprint import Unwritable, fingerprint
from treadle.jit.kernel_ir import Extent, Kernel
from treadle.jit.machine import Machine
from treadle.jit.store import Store


def compiled(
    kernel: Kernel, exact: Collection[Extent], store: Store | None
) -> tuple[Code, Machine]:
    """The code of a kernel, ready to run; `exact` are the extents known before it runs."""
    started = time.perf_counter()
    key = None if store is None else _key(kernel, exact)
    data = None if store is None or key is None else store.read(key)
    if data is not None:
        code, machine_code = unpack(kernel, data)
    else:
        code = emitted(kernel, exact)
        machine_code = machine.object_code(code.text)
        if store is not None and key is not None:
            _keep(store, key, kernel, code, machine_code)
    made = machine.loaded(machine_code)
    seconds = time.perf_counter() - started
    return code, replace(made, seconds=seconds, was_kept=data is not None)


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


def _keep(store: Store, key: str, kernel: Kernel, code: Code, machine_code: bytes) -> None:
    try:
        store.write(key, pack(kernel, code, machine_code))
    except Unwritable:
        return


@cache
def _source() -> str:
    """The digest of this room's files, which decide what code a kernel has; "" without files."""
    digest = hashlib.sha256()
    files = sorted(Path(__file__).parent.rglob("*.py"))
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest() if files else ""
