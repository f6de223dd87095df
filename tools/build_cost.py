"""Measures a call of a C library against treadle's own call, and the size of the library.

    python -m tools.build_cost FOLDER [--write]

`--write` puts the table into docs/building.md, between its markers.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import treadle
from tests.build.host import COMPILER, Loaded, Run, Tensor, room_of, shared_library, tensors
from tools.build_models import cases, session_of
from tools.build_operators import microseconds

_LOOP = """
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
typedef struct { void *data; int64_t *shape; int32_t rank, dtype; } tensor;
typedef int32_t (*run)(const void *, void *, const void *);
double seconds(run call, const void *in, tensor *out, const void *asked, const char *is_grown,
               int outputs, long count) {
  struct timespec a, b;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
  for (long k = 0; k < count; k++) {
    if (call(in, out, asked)) return -1;
    for (int j = 0; j < outputs; j++) if (is_grown[j]) free(out[j].data);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
  return (b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) * 1e-9) / count;
}
"""
_BEGIN, _END = "<!-- cost -->", "<!-- /cost -->"


def timer(folder: Path) -> Any:
    """The function that calls a library again and again."""
    source = folder / "loop.c"
    source.write_text(_LOOP)
    command = [str(COMPILER), "-O2", "-shared", "-fPIC", str(source), "-o", str(folder / "loop.so")]
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(folder / "loop.so")).seconds
    function.restype = ctypes.c_double
    return function


def in_c(loaded: Loaded, arrays: list[np.ndarray], count: int, seconds: Any) -> float:
    """The microseconds of a call from C."""
    given, keep = tensors(arrays)
    made = (Tensor * max(count, 1))()
    shapes = [(ctypes.c_int64 * 32)() for _ in range(count)]
    for tensor, shape in zip(made, shapes, strict=False):
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    assert loaded.shapes(given, made) == 0
    rooms = [room_of(tensor) for tensor in made[:count]]
    for tensor, room in zip(made, rooms, strict=False):
        tensor.data = None if room is None else room.ctypes.data
    workspace = ctypes.create_string_buffer(loaded.workspace(given) or 1)
    run = Run(ctypes.sizeof(Run), workspace=ctypes.addressof(workspace))
    is_grown = bytes(room is None for room in rooms)

    def call(times: int) -> float:
        return float(
            seconds(loaded.run, given, made, ctypes.byref(run), is_grown, count,
                    ctypes.c_long(times))
        )  # fmt: skip

    first = call(1)
    assert first >= 0
    assert keep
    times = max(1, round(0.02 / max(min(first, call(3)), 1e-9)))
    return min(call(times) for _ in range(7)) * 1e6


def measure(folder: Path, only: str) -> list[tuple[str, float, float, int]]:
    """For each model: the microseconds of a call from C, of treadle's, and the bytes of code."""
    found = []
    with tempfile.TemporaryDirectory() as room:
        seconds = timer(Path(room))
        for name, model, feeds in cases(folder):
            if only in name and (row := _row(name, model, feeds, Path(room), seconds)):
                print(f"{row[0]:36} {row[1]:9.2f} {row[2]:9.2f} {row[3]:9,}", flush=True)
                found.append(row)
    return found


def _row(
    name: str, model: Any, feeds: Mapping[str, np.ndarray], room: Path, seconds: Any
) -> tuple[str, float, float, int] | None:
    try:
        built = treadle.build(model, room / name, name=name, cpu="native", data=feeds)
    except treadle.TreadleError:
        return None
    archive = next(path for path in built.files if path.suffix == ".a")
    loaded = Loaded(shared_library(archive), name)
    session = session_of(model)
    arrays = [feeds[value.name] for value in session.get_inputs()]
    (own,) = microseconds(lambda: session.run(None, dict(feeds)))
    count = len(session.get_outputs())
    return name, in_c(loaded, arrays, count, seconds), own, archive.stat().st_size


def page(rows: list[tuple[str, float, float, int]]) -> str:
    """The table in Markdown."""
    lines = [
        "| model | call from C, µs | treadle's call, µs | archive, bytes |",
        "|---|---:|---:|---:|",
    ]
    lines += [f"| {name} | {c:.2f} | {own:.1f} | {size:,} |" for name, c, own, size in rows]
    mean = math.exp(sum(math.log(own / c) for _, c, own, _ in rows) / len(rows))
    sizes = sorted(size for *_, size in rows)
    median = sizes[len(sizes) // 2]
    said = f"The geometric mean is {mean:.1f} times; the median archive has {median:,} bytes."
    return "\n".join([*lines, "", said])


def main() -> int:
    """Print a line for each model; the number of calls that cost more than treadle's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = measure(asked.folder, asked.only)
    print(page(rows).splitlines()[-1])
    if asked.write:
        path = Path(__file__).parent.parent / "docs/building.md"
        head, _, rest = path.read_text().partition(_BEGIN)
        path.write_text(f"{head}{_BEGIN}\n{page(rows)}\n{_END}{rest.partition(_END)[2]}")
    return sum(c > own for _, c, own, _ in rows)


if __name__ == "__main__":
    sys.exit(main())
