"""Machine code on disk: one file for each kernel, which any process may write, read and delete.

A file holds a digest of its content, so a damaged one is detected, ignored and rewritten. It is
written under a temporary name and renamed, so a reader sees a complete file or none. The least
recently used files are deleted when the folder exceeds its limit, by which it is measured once for
every 64th of the limit that is written. A folder or file that others could have written to is not
used (`jit/toolchain/trust.py`). Files with other names are left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from treadle.jit.toolchain.trust import is_trusted, make_folder, read_trusted

VARIABLE = "TREADLE_CACHE_DIR"
"""The environment variable for the folder; if it is empty, nothing is kept."""

MAX_BYTES = 256 * 2**20
_MEASURINGS = 64
"""How often the folder is measured while as much is written as it may hold. Listing 54,000 files
takes 0.3 seconds, more than most sessions take."""
_MAGIC = b"treadle1"
_DIGEST = hashlib.sha256
_HEADER_BYTES = len(_MAGIC) + _DIGEST().digest_size
_SUFFIX, _PARTIAL_SUFFIX = ".kernel", ".kernel-part"
_ABANDONED_SECONDS = 3600.0
"""The age in seconds from which a half-written file is abandoned."""
_VARIABLES = ("LOCALAPPDATA", "XDG_CACHE_HOME", "HOME", "USERPROFILE")
_PLAN = "plan-"
_log = logging.getLogger("treadle")
_told: set[Path] = set()
_FILE_ERRORS = (OSError, ValueError)  # an invalid path is a ValueError


def default_folder() -> Path | None:
    """The platform's cache folder; None if the variable is empty."""
    return _folder(*(os.environ.get(name) for name in (VARIABLE, *_VARIABLES)))


@lru_cache(4)
def _folder(named: str | None, *_: str | None) -> Path | None:
    """The folder, by these environment variables."""
    try:
        if named is not None:
            return Path(named).expanduser() if named else None
        return _caches() / "treadle"
    except RuntimeError:  # no home folder, or that of an unknown user
        return None


def _caches() -> Path:
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if Path(named).is_absolute() else Path.home() / ".cache"


class Entry(NamedTuple):
    """A file of the cache: its name, kind, size, and the time of its last use."""

    name: str
    kind: str
    bytes: int
    used: float


@dataclass(frozen=True, slots=True)
class DiskCache:
    """A folder of files by key; faults of the folder raise no errors."""

    folder: Path
    most_bytes: int = MAX_BYTES

    def read(self, key: str) -> bytes | None:
        """Read the content under the key; None if there is none, or it is damaged."""
        path = self._path(key)
        try:
            data = read_trusted(path, self.most_bytes)
        except _FILE_ERRORS:
            return None
        if data is None:
            self._tell(path)
            return None
        with contextlib.suppress(OSError):  # a folder that may only be read
            os.utime(path)
        content = data[_HEADER_BYTES:]
        if data[:_HEADER_BYTES] != _MAGIC + _DIGEST(content).digest():
            return None
        return content

    def write(self, key: str, content: bytes) -> None:
        """Store the content under the key."""
        try:
            if make_folder(self.folder):
                digest = _DIGEST(content).digest()
                self._put(self._path(key), _MAGIC + digest + content)
                if self._is_measured(digest, len(content)):
                    self._shrink()
                return
        except _FILE_ERRORS:
            pass
        self._tell()

    def _tell(self, read: Path | None = None) -> None:
        """Log, once per process, why nothing is stored in the folder, or the file is not read."""
        why = self.why_unused()
        place = self.folder if why or read is None else read
        if place in _told:
            return
        _told.add(place)
        if place == read:
            _log.info("a file of the cache is not used: %s is not this user's alone", place)
        else:
            _log.info("the cache is not used: %s", why or f"{place} cannot be written")

    def why_unused(self, *, making: bool = False) -> str:
        """Why the folder is not used; "" if it is. `making`: or could not be created."""
        try:
            is_there = make_folder(self.folder) if making else self.folder.exists()
            if (not is_there and not making) or is_trusted(self.folder):
                return ""
        except _FILE_ERRORS as error:
            return f"{self.folder}: {error}"
        return f"others than its owner may write to {self.folder} or a folder above it"

    def entries(self) -> list[Entry]:
        """The files of the cache, by name; none if the folder does not exist."""
        try:
            found = list(self._files())
        except _FILE_ERRORS:
            return []
        kinds = {True: "plan", False: "kernel"}
        return sorted(
            Entry(path.stem, kinds[path.name.startswith(_PLAN)], size, used)
            for path, used, size in found
        )

    def delete(self, key: str) -> bool:
        """Delete the file of the key; returns whether it existed and was deleted."""
        try:
            self._path(key).unlink()
        except _FILE_ERRORS:
            return False
        return True

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _put(self, path: Path, data: bytes) -> None:
        number, name = tempfile.mkstemp(dir=self.folder, suffix=_PARTIAL_SUFFIX)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def _is_measured(self, digest: bytes, size: int) -> bool:
        """Whether the folder is measured after a file of this digest and size is written.

        As if at random, in proportion to the size: processes that write a file or two each need not
        know of each other.
        """
        drawn = int.from_bytes(digest[:8], "big") / 2**64
        return drawn * self.most_bytes < size * _MEASURINGS

    def _shrink(self) -> None:
        """Delete the least recently used files, until three quarters are left."""
        files = sorted(self._files(), key=lambda found: found[1])
        total = sum(size for _, _, size in files)
        if total <= self.most_bytes:
            return
        for path, _, size in files:
            if total <= self.most_bytes * 3 // 4:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size

    def _files(self) -> Iterator[tuple[Path, float, int]]:
        """The files: path, time of last use, size. Deletes remains of killed writers."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_SUFFIX):
                        yield Path(entry.path), found.st_mtime, found.st_size
                    elif (
                        entry.name.endswith(_PARTIAL_SUFFIX)
                        and time.time() - found.st_mtime > _ABANDONED_SECONDS
                    ):
                        os.unlink(entry.path)
