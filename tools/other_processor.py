"""Runs a module with native code for an older processor than the one here, which has to run it.

    python -m tools.other_processor haswell pytest tests/jit --fences
    python -m tools.other_processor nehalem tools.soak

Without the disk cache, and in this process only: not with pytest's `-n`.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from dataclasses import replace
from functools import cache

from treadle.jit.kernel.target import Target
from treadle.jit.runtime import region_compiler
from treadle.jit.toolchain import llvm

_REGISTERS = {
    "nehalem": (16, 16),
    "haswell": (32, 16),
    "znver2": (32, 16),
    "skylake-avx512": (64, 32),
}
"""The bytes of a vector register of each processor, and how many it has."""


def target_of(processor: str) -> Target:
    """The machine here with the instructions of another processor."""
    vector_bytes, registers = _REGISTERS[processor]
    has_avx2 = vector_bytes > 16
    return replace(
        llvm.host_target(), processor=processor, features="", vector_bytes=vector_bytes,
        registers=registers, has_fma=has_avx2, has_scale=vector_bytes == 64, has_half=has_avx2,
        has_byte_products=False,
    )  # fmt: skip


def main() -> None:
    """Run the module with its arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.other_processor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("processor", choices=_REGISTERS)
    parser.add_argument("module", help="as after python -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    os.environ["TREADLE_CACHE_DIR"] = ""
    target = target_of(given.processor)
    llvm.host_target = cache(lambda: target)
    region_compiler.has_byte_products = lambda: False
    sys.argv = [given.module, *given.arguments]
    runpy.run_module(given.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
