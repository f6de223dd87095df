"""Writes a folder of files, completely or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from treadle.errors import InputError

__all__ = ["Files", "draft_folder", "publish"]

Files = Mapping[str, bytes]
"""The files to write, by path below the folder."""


def draft_folder(folder: Path, files: Files) -> Path:
    """Write the files to a temporary folder next to the target; raises InputError."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        draft.chmod(0o755)
        for name, data in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    except OSError as error:
        raise _unwritable(folder, error) from None
    return draft


def publish(draft: Path, folder: Path) -> list[Path]:
    """Move the files of a draft to their folder, each atomically; other files there stay."""
    names = sorted(path.relative_to(draft) for path in draft.rglob("*") if path.is_file())
    try:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(draft / name, folder / name)
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return [folder / name for name in names]


def _unwritable(folder: Path, error: OSError) -> InputError:
    reason = (error.strerror or str(error)).lower()
    return InputError(f'the folder "{folder}" cannot be written: {reason}')
