"""The memory that is left to a process, and what is refused for want of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from treadle import machine
from treadle.jit.toolchain import symbols

MACHINE = "MemTotal: 4000 kB\nMemFree: 1 kB\nMemAvailable: 3000 kB\nSwapFree: 500 kB\n"
NEW, OLD = "0::/a/b\n", "4:memory:/a\n"


def system(folder: Path, own: str, files: dict[str, str]) -> tuple[Path, Path, Path]:
    """A /sys/fs/cgroup, a /proc/self/cgroup and a /proc/meminfo."""
    for name, content in files.items():
        path = folder / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "own").write_text(own)
    (folder / "meminfo").write_text(files.get("meminfo", MACHINE))
    return folder / "cgroup", folder / "own", folder / "meminfo"


@pytest.mark.parametrize(
    ("own", "files", "wanted"),
    [
        (NEW, {}, 3500 * 1024),
        (NEW, {"meminfo": "MemTotal: 1 kB\n"}, float("inf")),
        (NEW, {"meminfo": "MemAvailable: many kB\n"}, float("inf")),
        (NEW, {"a/memory.max": "max\n", "a/memory.current": "7"}, 3500 * 1024),
        (NEW, {
            "a/memory.max": "100000\n", "a/memory.current": "60000",
            "a/memory.stat": "anon 1\ninactive_file 5000\nactive_file 1000\n",
        }, 46000),
        (NEW, {"a/b/memory.max": "100000\n"}, 100000),
        (NEW, {
            "a/memory.max": "900000", "a/memory.current": "880000", "a/memory.stat": "",
            "a/b/memory.max": "100000", "a/b/memory.current": "0", "a/b/memory.stat": "",
        }, 20000),
        (OLD, {
            "memory/a/memory.limit_in_bytes": "100000", "memory/a/memory.usage_in_bytes": "70000",
            "memory/a/memory.stat": "inactive_file 1\ntotal_inactive_file 2000\n",
        }, 32000),
    ],
)  # fmt: skip
def test_what_is_left(tmp_path: Path, own: str, files: dict[str, str], wanted: float) -> None:
    assert machine.free_memory(*system(tmp_path, own, files)) == wanted


def test_the_memory_of_this_process() -> None:
    assert machine.resident_memory() + machine.free_memory() > machine.LARGE
    assert machine.resident_memory(Path("/nowhere")) == 0


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 2.0**28)
    monkeypatch.setattr(machine, "memory_of_machine", lambda: 2.0**30)
    assert machine.refusal(machine.LARGE) == ""
    assert machine.refusal(2**28) == ""
    assert machine.refusal(2**29) == "5.37e+08 bytes are needed, of memory there are 2.68e+08"
    assert machine.refusal(2**31) == "2.15e+09 bytes are needed, of memory there are 1.07e+09"
    assert machine.refusal(2**29, held=2**28) == ""
    assert machine.refusal(100, 99) == "100 bytes are needed, over max_bytes=99"


def test_small_values_are_not_held_against_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: pytest.fail("the system was asked"))
    assert machine.refusal(machine.LARGE, machine.LARGE) == ""


def test_what_machine_code_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 2.0**28)
    monkeypatch.setattr(symbols.ROOM, "bound", 2**28)
    assert symbols.has_room(2**28, 0)
    assert not symbols.has_room(2**29, 2**29 - 1)
    assert "max_bytes" in symbols.ROOM.refusal
    seen = []
    thread = threading.Thread(target=lambda: seen.append(symbols.has_room(2**29, 2**28)))
    thread.start()
    thread.join()
    assert seen == [True], "the bound is that of a run on another thread"


def test_an_interrupt_in_the_question_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(machine, "free_memory", interrupted)
    assert not symbols.has_room(2**29, 0)
    interrupt, symbols.ROOM.interrupt = symbols.ROOM.interrupt, None
    assert isinstance(interrupt, KeyboardInterrupt)
