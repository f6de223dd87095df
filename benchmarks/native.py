"""The models in C: compiled by gcc to a temporary folder, called by ctypes.

A function `f` in `c/f.c` takes the instance's sizes as int64_t, then the feed in order (tensors of
rank 0 by value, others as pointers), then a pointer for each output.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.registry import Arrays, Benchmark, Instance

SOURCES = Path(__file__).parent / "c"
FLAGS = (
    "-O3",
    "-march=native",
    "-fopenmp-simd",
    "-std=gnu11",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-Wall",
    "-Werror",
    "-fPIC",
    "-shared",
)

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
MOST_KEPT = 2**30

BY_VALUE = {
    np.dtype(np.float32): ctypes.c_float,
    np.dtype(np.float64): ctypes.c_double,
    np.dtype(np.int64): ctypes.c_int64,
    np.dtype(np.uint32): ctypes.c_uint32,
}


def compiler() -> str | None:
    """What compiles C here."""
    return shutil.which("gcc")


def version() -> str:
    """The version of that compiler."""
    command = [str(compiler()), "-dumpfullversion"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def keep_memory() -> None:
    """Have the C library keep what is freed, for all columns.

    Else large results are new pages in some calls and used ones in others, by luck, and pages that
    are touched for the first time may cost more than the work.
    """
    if sys.platform == "linux":
        process = ctypes.CDLL(None)
        for parameter in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
            process.mallopt(parameter, MOST_KEPT)


@functools.cache
def library(twin: str) -> ctypes.CDLL:
    """The function of a model, in a library whose file is gone once it is loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{twin}.so"
        command = [str(compiler()), *FLAGS, str(SOURCES / f"{twin}.c"), "-o", str(path), "-lm"]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(path))


def has_twin(benchmark: Benchmark) -> bool:
    """Whether the model is written in C."""
    return (SOURCES / f"{benchmark.twin}.c").exists()


def prepare(benchmark: Benchmark, instance: Instance, wanted: Arrays) -> Callable[[], Arrays]:
    """A call of the model in C that fills new arrays, shaped as the wanted ones are."""
    function = getattr(library(benchmark.twin), benchmark.twin)
    function.restype = None
    feed = {name: np.array(value, order="C") for name, value in instance.feed.items()}
    given = [ctypes.c_int64(size) for size in instance.sizes] + [
        ctypes.c_void_p(value.ctypes.data) if value.ndim else BY_VALUE[value.dtype](value.item())
        for value in feed.values()
    ]

    def call(_kept: object = feed) -> Arrays:
        outputs = [np.empty(value.shape, value.dtype) for value in wanted]
        function(*given, *(ctypes.c_void_p(value.ctypes.data) for value in outputs))
        return outputs

    return call
