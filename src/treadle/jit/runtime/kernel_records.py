"""Records of compiled kernels on disk, found by region and signature without lowering.

    record = pickle(kernel, its artifact, extents known before it runs, machine code)

A kernel's own file (compilation.py) is found by the digest of the kernel, which must be lowered
first; a record is found by the name of the plan's region, given by a session, and the signature of
a run. Objects that a kernel shares with its region, dynamic extents and known inputs, are stored by
number.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from dataclasses import dataclass
from typing import Any

from treadle.compact_pickle import NO_FORM, SPOILT, CompactPickler
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.kernel.ir import Constant, HostCall, Kernel, SymbolicDim
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime.specialize import DynamicDims, Known, Signature
from treadle.jit.toolchain.disk_cache import DiskCache
from treadle.limits import without_collection
from treadle.plan import RecordStore

_MAX_CONSTANT_BYTES = 2**26
"""A quarter of the disk cache: a kernel with larger constants is lowered again by each process."""


@dataclass(frozen=True, eq=False, slots=True)
class KernelRecord:
    """A kernel of a region, not yet loaded; `exact` are extents known before it runs."""

    kernel: Kernel
    artifact: KernelArtifact
    exact: frozenset[SymbolicDim]
    machine_code: bytes


@dataclass(frozen=True, eq=False, slots=True)
class KernelRecords:
    """The records of one region, whose name is unique among all regions of all plans.

    The first one is stored in the plan's file, by `beside`; the others have files of their own.
    """

    store: DiskCache
    name: str
    beside: RecordStore

    def read(self, key: Signature, lengths: DynamicDims, known: Known) -> KernelRecord | None:
        """Read the kernel for a signature; None if there is none, or it is damaged."""
        data = self._kept(self._file(key, lengths))
        if data is None:
            return None
        try:
            with without_collection():
                found = _Unpickler(data, _shared(lengths, known)).load()
        except SPOILT:
            return None
        return found if isinstance(found, KernelRecord) else None

    def write(
        self, key: Signature, record: KernelRecord, lengths: DynamicDims, known: Known
    ) -> None:
        """Store a kernel for a signature.

        Not one that calls operators of other engines, or would displace most others.
        """
        nodes = all_nodes(record.kernel.main)
        size = sum(node.op.array.nbytes for node in nodes if isinstance(node.op, Constant))
        if size > _MAX_CONSTANT_BYTES or any(isinstance(node.op, HostCall) for node in nodes):
            return
        buffer = io.BytesIO()
        try:
            _Pickler(buffer, _shared(lengths, known)).dump(record)
        except NO_FORM:
            return
        file, data = self._file(key, lengths), buffer.getvalue()
        if not self.beside.add(self.name, file.encode() + data):
            self.store.write(file, data)

    def _kept(self, file: str) -> bytes | None:
        first, name = self.beside.get(self.name), file.encode()
        if first is not None and first.startswith(name):
            return first[len(name) :]
        return self.store.read(file)

    def _file(self, key: Signature, lengths: DynamicDims) -> str:
        open_ = sorted(lengths.open)
        return hashlib.sha256(f"{self.name} {key!r} {open_!r}".encode()).hexdigest()


Shared = tuple[Any, ...]


def _shared(lengths: DynamicDims, known: Known) -> Shared:
    """The objects shared by a region and its kernels, in a stable order."""
    dims = dict.fromkeys(lengths.open[index] for index in sorted(lengths.open))
    return (*dims, *(known[index] for index in sorted(known)))


class _Pickler(CompactPickler):
    def __init__(self, buffer: io.BytesIO, shared: Shared) -> None:
        super().__init__(buffer, protocol=5)
        self.numbers = {id(each): number for number, each in enumerate(shared)}

    def persistent_id(self, value: Any) -> int | None:
        """The number of an object of the region."""
        return self.numbers.get(id(value))


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, shared: Shared) -> None:
        super().__init__(io.BytesIO(data))
        self.shared = shared

    def persistent_load(self, number: int) -> Any:
        """The object of the region with this number."""
        return self.shared[number]
