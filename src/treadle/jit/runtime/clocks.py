"""The counts of a profiled kernel's clocks, over all its calls, in nanoseconds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np

from treadle.jit.kernel.artifact import CLOCK_WORDS, CodePlace, KernelArtifact
from treadle.jit.toolchain.line_table import LineTable
from treadle.jit.toolchain.llvm import LoadedKernel


@dataclass(eq=False, slots=True)
class Clocks:
    """Sums over all calls of a kernel, which took `ns` nanoseconds.

    `words`, int64[clocks, words], are those that the kernel adds to. The first clock is that of the
    whole kernel, which gives the length of a tick. `lines` is the line table of its machine code.
    """

    code: KernelArtifact
    lines: bytes = b""
    ns: int = 0
    words: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """The words, all 0."""
        self.words = np.zeros((len(self.code.clocks), len(CLOCK_WORDS)), np.int64)

    def reset(self) -> None:
        """Reset all counts."""
        self.ns = 0
        self.words[:] = 0

    def measured(self) -> list[dict[str, object]]:
        """The measurement of each clock, in nanoseconds; for a loop its iterations too."""
        whole = int(self.words[0, 0])
        tick = self.ns / whole if whole else 0.0
        told: list[dict[str, object]] = []
        for (kind, path, words), row in zip(self.code.clocks, self.words.tolist(), strict=True):
            sums = dict(zip(CLOCK_WORDS, row, strict=True))
            scale = tick * sums["entries"] / sums["timed"] if sums["timed"] else tick
            told.append({
                "kind": kind, "path": path, "words": words,
                "ns": sums["ticks"] * scale, "entries": sums["entries"],
                "iterations": sums["iterations"],
                "first_ns": sums["first"] * scale, "last_ns": sums["last"] * scale,
            })  # fmt: skip
        return told

    def places(self, samples: np.ndarray) -> list[tuple[CodePlace, int]]:
        """Count the samples of each place of the code.

        `samples`, int64[samples, words], are addresses, the newest first: where the thread was, and
        what was on its stack. A sample belongs to the first one that has a line.
        """
        lines = LineTable.read(self.lines).of(samples)
        first = np.take_along_axis(lines, (lines > 0).argmax(axis=1)[:, None], axis=1)
        counts = np.bincount(first[:, 0], minlength=len(self.code.places) + 1)[1:].tolist()
        return [
            (CodePlace(*place), count)
            for place, count in zip(self.code.places, counts, strict=True)
            if count
        ]


def clocked(machine: LoadedKernel, clocks: Clocks) -> LoadedKernel:
    """The kernel, with its calls timed."""

    def call(address: int) -> int:
        started = time.perf_counter_ns()
        status = machine.call(address)
        clocks.ns += time.perf_counter_ns() - started
        return status

    return replace(machine, call=call)
