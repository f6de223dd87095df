"""Checks that only this user or the system's administrator can have written a file.

Cache files are executed as code. A folder is trusted if it, every folder above it and every link on
the path belong to this user or to root, and no other user can write to them. A sticky folder such
as /tmp may be above it: others can add to one, but not replace its files. A file is trusted if it
is regular, not a link, with the same owner and mode. Access control lists are ignored.

On Windows owner and mode are expensive to read. There a folder is trusted inside this user's
profile, which the system protects from others, if no link leads outside.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MAX_LINKS = 40
"""The number of symbolic links followed on the path to a folder."""
_ROOT_UID = 0
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # reading a fifo would wait for a writer
)
_OPENS_NO_LINK = hasattr(os, "O_NOFOLLOW")
_REPARSE_POINT = 0x400


def read_trusted(path: Path, most_bytes: int) -> bytes | None:
    """Read a trusted file in a trusted folder; None for any other; may raise OSError."""
    if not is_trusted(path.parent) or (not _OPENS_NO_LINK and _is_link(os.lstat(path))):
        return None
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        if not _is_trusted_file(found) or found.st_size > most_bytes:
            return None
        return file.read()


def is_trusted(folder: Path, *, sticky: bool = False) -> bool:
    """Whether no other user can have put files there; raises OSError if that cannot be checked.

    `sticky`: others may add to the folder itself, if it is a sticky one.
    """
    if not hasattr(os, "getuid"):
        return _is_in_profile(folder)
    *above, last = _on_the_way(folder)
    may_add = all(_is_trusted_step(found, sticky=True) for found in above)
    return may_add and stat.S_ISDIR(last.st_mode) and _is_trusted_step(last, sticky=sticky)


def make_folder(folder: Path) -> bool:
    """Create the folder for this user alone, if it does not exist.

    Returns whether it is trusted.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    if missing and not is_trusted(missing[-1].parent, sticky=True):
        return False
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    return is_trusted(folder)


def _on_the_way(folder: Path) -> Iterator[os.stat_result]:
    """Every folder and link on the path to a folder, from the root to the folder itself."""
    at, links = os.sep, 0
    around = "" if os.path.isabs(folder) else os.getcwd()
    ahead = os.path.join(around, folder).split(os.sep)[::-1]
    found = os.lstat(at)
    while ahead:
        name = ahead.pop()
        if name == "..":
            at = os.path.dirname(at)
            found = os.lstat(at)
        if name in ("", ".", ".."):
            continue
        yield found
        here = os.path.join(at, name)
        found = os.lstat(here)
        if not stat.S_ISLNK(found.st_mode):
            at = here
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
        target = os.readlink(here)
        at = os.sep if target.startswith(os.sep) else at
        ahead += target.split(os.sep)[::-1]
    yield found


def _is_trusted_step(found: os.stat_result, *, sticky: bool) -> bool:
    if stat.S_ISLNK(found.st_mode):
        return _is_ours(found)
    is_closed = not found.st_mode & _WRITABLE_BY_OTHERS or (sticky and found.st_mode & stat.S_ISVTX)
    return bool(is_closed) and _is_ours(found)


def _is_trusted_file(found: os.stat_result) -> bool:
    if not stat.S_ISREG(found.st_mode):
        return False
    return not hasattr(os, "getuid") or (
        _is_ours(found) and not found.st_mode & _WRITABLE_BY_OTHERS
    )


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid in (_ROOT_UID, os.getuid())


def _is_link(found: os.stat_result) -> bool:
    attributes = getattr(found, "st_file_attributes", 0)
    return stat.S_ISLNK(found.st_mode) or bool(attributes & _REPARSE_POINT)


def _is_in_profile(folder: Path) -> bool:
    try:
        return folder.resolve(strict=True).is_relative_to(Path.home().resolve(strict=True))
    except RuntimeError:  # an unknown user's home
        return False
