"""Files that are written beside the old one and take its place when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident


@contextmanager
def replaced_file(path: Path) -> Iterator[Path]:
    """A path to write to: the file takes the place of `path` at the end of the block.

    Nobody reads half a file, and after an error the old one is still there. A link stays, and the
    file it leads to is replaced. A device or a pipe is written to itself. Raises OSError.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name[:200]}.{os.getpid()}.{get_ident()}")
    try:
        yield draft
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
