"""Keeps prepared models on disk for the next process: plans next to machine code.

    key = digest(the file's bytes, options, engines, versions of all packages involved)

A model is kept only if its file determines the result: without external tensors, extents or
initializers set by options, or custom libraries. It was checked before it was kept: a model stopped
by a finding is never kept. The files are in the cache folder of machine code, which nobody else may
write to, and are deleted with it (`jit/toolchain/disk_cache.py`).
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from treadle import formats
from treadle.compact_pickle import SPOILT
from treadle.ir import Model
from treadle.plan import Engine, Plan, snapshot

__all__ = ["LoadCache"]

_MOST_BYTES = 2**24
"""The size of the largest file that is kept: beyond it, reading weights takes most of the time."""

_MOST_BESIDE, _MOST_REWRITTEN = 2**17, 2**20
"""The bytes of a plan with its attachments beyond which nothing is appended."""

_PACKAGES = ("numpy", "onnx")


@dataclass(frozen=True, slots=True)
class LoadCache:
    """The place of one model on disk, under its key; `content` is that of its source."""

    store: Any
    key: str
    source: object
    content: bytes

    @classmethod
    def of(cls, source: object, options: Any, engines: Sequence[Engine]) -> LoadCache | None:
        """The place of this source; None if it must not be kept."""
        store = next((e.store for e in engines if hasattr(e, "store")), None)
        data = None if store is None else _content(source)
        settings = None if data is None else _settings(options, engines)
        if data is None or settings is None:
            return None
        digest = hashlib.sha256(data).hexdigest()
        words = f"{digest} {settings} {_versions()}"
        key = "plan-" + hashlib.sha256(words.encode()).hexdigest()
        return cls(store, key, source, data)

    def read(self, engines: Sequence[Engine]) -> tuple[Model, Plan] | None:
        """Read the model and its prepared plan; None if they are not on disk."""
        data = self.store.read(self.key)
        if data is None:
            return None
        try:
            file = _PlanFile(self.store, self.key, *pickle.loads(data))
        except SPOILT:
            return None
        return snapshot.from_bytes(file.plan, self.content, self.key, engines, file)

    def write(self, model: Model, plan: Plan, engines: Sequence[Engine]) -> None:
        """Write a plan, and arrange to store what its regions learn at run time.

        Nothing is written if tensors are in other files, or if the file changed while it was read:
        the plan would not match its key.
        """
        is_same = _content(self.source) == self.content
        if not is_same or formats.onnx.has_external(model):
            return
        data = snapshot.to_bytes(model, plan, engines, self.content)
        if data is not None:
            file = _PlanFile(self.store, self.key, data, {})
            file.write()
            snapshot.adopt(plan, self.key, engines, file)


@dataclass(frozen=True, slots=True)
class _PlanFile:
    """A plan in its file, and beside it by name what engines added; a `plan.RecordStore`."""

    store: Any
    key: str
    plan: bytes
    others: dict[str, bytes]

    def get(self, name: str) -> bytes | None:
        """The data added under a name."""
        return self.others.get(name)

    def add(self, name: str, content: bytes) -> bool:
        """Add data by rewriting the file; False if there is no room, or the name is taken.

        If two processes add at the same time one addition may be lost: it is made and added again.
        """
        added = sum(map(len, self.others.values())) + len(content)
        if name in self.others or added > _MOST_BESIDE or len(self.plan) > _MOST_REWRITTEN:
            return False
        self.others[name] = content
        self.write()
        return True

    def write(self) -> None:
        """Put all of it into the file."""
        self.store.write(self.key, pickle.dumps((self.plan, dict(self.others)), 5))


def _content(source: object) -> bytes | None:
    """The bytes of a source, if it has no other parts."""
    if isinstance(source, bytes):
        return source if len(source) <= _MOST_BYTES else None
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        path = os.fsdecode(source)
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            return None
        if not path.endswith(".onnx"):
            return None
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except (OSError, ValueError):
        return None


def _settings(options: Any, engines: Sequence[Engine]) -> str | None:
    """The settings of options and engines as text; None if their results must not be kept."""
    kept = [engine.traits.persistence for engine in engines]
    known = [None if each is None else each.identity for each in kept]
    if None in known or getattr(options, "enable_profiling", False):
        return None
    said = [getattr(options, name, None) for name in ("omitted_condition", "load_limits")]
    return f"{known} {said} {os.environ.get('ALLOW_RELEASED_ONNX_OPSET_ONLY')}"


@cache
def _versions() -> str:
    """A digest of Python, of the packages that define a model's meaning, and of this package."""
    packages = [f"{name} {version(name)}" for name in _PACKAGES]
    words = f"{sys.version} {packages} {sorted(_files(Path(__file__).parent))}"
    return hashlib.sha256(words.encode()).hexdigest()


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Path, time and size of each source; times in seconds, as container images store them."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, int(found.st_mtime), found.st_size
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _files(Path(entry.path))
