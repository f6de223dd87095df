"""The bytes of a data file, in memory or mapped."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import numpy as np

_MAPPED = 2**22
"""The bytes from which a file is mapped; shortening a mapped file ends the process (SIGBUS)."""


def content_of(path: Path) -> np.ndarray:
    """The bytes of a file as uint8, read-only: a copy of a short file, a map of a long one.

    Raises OSError if the file cannot be read, or is a pipe or a device, which may have no end.
    """
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if found.st_size >= _MAPPED:
        return np.memmap(path, np.uint8, mode="r")
    content = np.fromfile(path, np.uint8)
    content.flags.writeable = False
    return content
