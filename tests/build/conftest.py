"""Libraries that are built free their memory as their callers do, also with `--fences`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest

from treadle.jit.codegen import heap_buffer
from treadle.jit.host import array_memory


@pytest.fixture(autouse=True, scope="module")
def _usual_allocator() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heap_buffer, "ALLOCATOR", ["realloc", "free"])
        patch.setattr(array_memory, "_library", lambda: ctypes.CDLL(None))
        yield
