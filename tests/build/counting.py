"""A library whose `realloc` and `free` are counted, and fail on request."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

from tests.build.host import COMPILER, Loaded, shared_library

_SOURCE = """
#include <stddef.h>
long treadle_held, treadle_asked, treadle_fails = -1;
void *__real_realloc(void *place, size_t size);
void __real_free(void *place);
void *__wrap_realloc(void *place, size_t size) {
  void *made;
  if (treadle_fails >= 0 && treadle_asked >= treadle_fails) return NULL;
  treadle_asked++;
  made = __real_realloc(place, size);
  treadle_held += made && !place;
  return made;
}
void __wrap_free(void *place) {
  treadle_held -= place != NULL;
  __real_free(place);
}
"""


class Counting(Loaded):
    """The functions of a library that knows how many blocks of memory it holds."""

    def __init__(self, archive: Path, name: str) -> None:
        source = archive.with_name("counting.c")
        source.write_text(_SOURCE)
        made = source.with_suffix(".o")
        subprocess.run([str(COMPILER), "-c", "-fPIC", str(source), "-o", str(made)], check=True)
        wrapped = ("-Wl,--wrap=realloc", "-Wl,--wrap=free", str(made))
        super().__init__(shared_library(archive, *wrapped), name)

    def _word(self, name: str) -> ctypes.c_long:
        return ctypes.c_long.in_dll(self.library, f"treadle_{name}")

    @property
    def held(self) -> int:
        """How many blocks of memory are held."""
        return self._word("held").value

    @property
    def asked(self) -> int:
        """How often memory was asked for."""
        return self._word("asked").value

    def fail_after(self, count: int) -> None:
        """Give memory so often, and then no more; -1: always."""
        self._word("fails").value, self._word("asked").value = count, 0
