"""The ELF loader refuses unknown relocations; other code runs as when LLVM loads it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treadle
from tests.jit.native import HEAD
from treadle.jit.runtime import compilation
from treadle.jit.toolchain import elf_loader, llvm, symbols
from treadle.jit.toolchain.elf_loader import load_object
from treadle.jit.toolchain.symbols import Unlinkable, Unrunnable

pytestmark = pytest.mark.skipif(not symbols.is_possible(), reason="x86-64 and Linux alone")

MODULE = """
@table = internal constant [4 x double] [double 1.0, double 2.0, double 3.0, double 4.0]
@narrow = internal constant [3 x float] [float 5.0, float 6.0, float 7.0]
declare double @cos(double)
declare ptr @malloc(i64)
declare void @free(ptr)
define internal double @chosen(i64 %k) noinline {
  %at = getelementptr double, ptr @table, i64 %k
  %found = load double, ptr %at
  ret double %found
}
define i64 @kernel(ptr %slots) {
  %memory = call ptr @malloc(i64 8)
  call void @free(ptr %memory)
  %k = load i64, ptr %slots
  %at = getelementptr float, ptr @narrow, i64 %k
  %narrow = load float, ptr %at
  %wide = fpext float %narrow to double
  %found = call double @chosen(i64 %k)
  %turned = call double @cos(double %found)
  %sum = fadd double %turned, %wide
  store double %sum, ptr %slots
  ret i64 7
}
define i64 @second(ptr %slots) {
  ret i64 8
}
"""
SECTION = 64
BY_LLVM = llvm._placed_by_llvm


@pytest.fixture(scope="module")
def made() -> bytes:
    return llvm.object_code(MODULE)


def called(code: llvm.LoadedKernel) -> tuple[int, float]:
    slots = (ctypes.c_int64 * 1)(2)
    status = code.call(ctypes.addressof(slots))
    return status, ctypes.c_double.from_buffer(slots).value


def test_linked_code_equals_llvms(made, monkeypatch):
    code = llvm.load_kernel(made)
    assert type(code.keep[0]).__name__ == "LoadedObject"
    monkeypatch.setattr(symbols, "is_possible", lambda: False)
    other = llvm.load_kernel(made)
    assert type(other.keep[0]).__name__ == "ExecutionEngine"
    assert called(code) == called(other) == (7, np.cos(3.0) + 7.0)


def test_several_functions_of_one_file(made):
    linked = load_object(made, ("kernel", "second"))
    second = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(linked.places["second"])
    assert second(None) == 8


def test_memory_is_never_written_and_run_at_once(made):
    linked = load_object(made, ("kernel",))
    for line in Path("/proc/self/maps").read_text().splitlines():
        area, rights = line.split()[:2]
        first, end = (int(bound, 16) for bound in area.split("-"))
        if first <= linked.places["kernel"] < end:
            assert rights == "r-xp"
            return
    raise AssertionError("the code is nowhere")


def test_memory_is_given_back(made):
    def areas() -> int:
        gc.collect()
        return sum(
            int(line.split()[1]) for line in _status() if line.startswith(("VmSize", "VmRSS"))
        )

    def work() -> None:
        for _ in range(1000):
            assert called(llvm.load_kernel(made))[0] == 7

    work()
    before = areas()
    work()
    assert areas() <= before + 64


def _status() -> list[str]:
    return Path("/proc/self/status").read_text().splitlines()


def test_many_threads_link_and_run_at_once(made):
    found: list[tuple[int, float]] = []
    threads = [
        threading.Thread(
            target=lambda: found.extend(called(llvm.load_kernel(made)) for _ in range(50))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(7, np.cos(3.0) + 7.0)] * 200


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_the_code_too(made):
    code = llvm.load_kernel(made)
    child = os.fork()
    if child == 0:
        is_right = called(code)[0] == called(llvm.load_kernel(made))[0] == 7
        os._exit(0 if is_right else 3)
    assert os.waitpid(child, 0)[1] == 0
    assert called(code)[0] == 7


# ---- what is refused


def sections(data: bytes) -> list[elf_loader.Section]:
    return elf_loader._sections(data)


def changed(data: bytes, offset: int, form: str, value: int) -> bytes:
    damaged = bytearray(data)
    struct.pack_into(form, damaged, offset, value)
    return bytes(damaged)


def header(data: bytes, kind: int, flags: int = 0) -> int:
    """Where the header of the first such section is."""
    table = struct.unpack_from("<Q", data, 40)[0]
    number = next(
        k for k, s in enumerate(sections(data)) if s.kind == kind and s.flags & flags == flags
    )
    return table + SECTION * number


def relocations(data: bytes) -> int:
    """Where the first relocation of the code is."""
    found = sections(data)
    return next(s.offset for s in found if s.kind == 4 and found[s.info].kind == 1)


def symbol(data: bytes, name: str) -> int:
    """Where the symbol of this name is."""
    found = sections(data)
    table = next(s for s in found if s.kind == 2)
    words = found[table.link]
    for offset in range(table.offset, table.offset + table.size, 24):
        start = words.offset + struct.unpack_from("<I", data, offset)[0]
        if data[start:].startswith(name.encode() + b"\0"):
            return offset
    raise LookupError(name)


CODE = 4
REFUSED = {
    "nothing": ("no header", lambda d: b""),
    "text": ("not an object file", lambda d: b"text" * 99),
    "32 bits": ("not an object file", lambda d: changed(d, 4, "<B", 1)),
    "big-endian": ("not an object file", lambda d: changed(d, 5, "<B", 2)),
    "another system": ("not an object file", lambda d: changed(d, 7, "<B", 9)),
    "an executable": ("not an object file", lambda d: changed(d, 16, "<H", 2)),
    "another machine": ("not an object file", lambda d: changed(d, 18, "<H", 183)),
    "longer headers": ("not an object file", lambda d: changed(d, 58, "<H", 65)),
    "no table": ("no sections", lambda d: changed(d, 60, "<H", 0)),
    "a table beyond": ("beyond the end", lambda d: changed(d, 40, "<Q", len(d) - 10)),
    "a table far beyond": ("beyond the end", lambda d: changed(d, 40, "<Q", 2**64 - 64)),
    "cut": ("beyond the end", lambda d: d[:-1]),
    "zeros": ("kind 0x8", lambda d: changed(d, header(d, 1, CODE) + 4, "<I", 8)),
    "a group": ("kind 0x11", lambda d: changed(d, header(d, 1) + 4, "<I", 17)),
    "written": ("flags 0x", lambda d: changed(d, header(d, 1, CODE) + 8, "<Q", 7)),
    "threads' own": ("flags 0x", lambda d: changed(d, header(d, 1, CODE) + 8, "<Q", 0x402)),
    "content beyond": ("than the file", lambda d: changed(d, header(d, 1, 4) + 32, "<Q", 2**40)),
    "an offset beyond": ("beyond the end", lambda d: changed(d, _filled(d) + 24, "<Q", len(d))),
    "a crooked place": ("aligned to 3", lambda d: changed(d, header(d, 1, CODE) + 48, "<Q", 3)),
    "a wide place": ("aligned to", lambda d: changed(d, header(d, 1, CODE) + 48, "<Q", 2**30)),
    "other entries": ("other entries", lambda d: changed(d, header(d, 2) + 56, "<Q", 16)),
    "no words": ("section 99", lambda d: changed(d, header(d, 2) + 40, "<I", 99)),
    "two tables": ("2 tables", lambda d: changed(d, header(d, 3) + 4, "<I", 2)),
    "no symbols": ("0 tables", lambda d: changed(d, header(d, 2) + 4, "<I", 3)),
    "a target that is none": ("section 99", lambda d: changed(d, header(d, 4) + 44, "<I", 99)),
    "32 bits wide": ("of kind 10", lambda d: changed(d, relocations(d) + 8, "<I", 10)),
    "beyond its section": ("beyond its", lambda d: changed(d, relocations(d), "<Q", 2**20)),
    "at its end": ("beyond its", lambda d: changed(d, relocations(d), "<Q", 2**64 - 4)),
    "no such symbol": ("unknown kind", lambda d: changed(d, relocations(d) + 12, "<I", 9999)),
    "a symbol of nothing": ("unknown kind", lambda d: changed(d, relocations(d) + 12, "<I", 0)),
    "no such function": ("does not have: cox", lambda d: d.replace(b"\0cos\0", b"\0cox\0")),
    "a name not ASCII": ("without a name", lambda d: d.replace(b"\0cos\0", b"\0c\xffs\0")),
    "weak": ("unknown kind", lambda d: changed(d, symbol(d, "cos") + 4, "<B", 0x20)),
    "chosen late": ("no kernel", lambda d: changed(d, symbol(d, "kernel") + 4, "<B", 0x1A)),
    "beyond the code": ("no kernel", lambda d: changed(d, symbol(d, "kernel") + 8, "<Q", 2**20)),
    "absolute": ("no kernel", lambda d: changed(d, symbol(d, "kernel") + 6, "<H", 0xFFF1)),
    "common": ("no kernel", lambda d: changed(d, symbol(d, "kernel") + 6, "<H", 0xFFF2)),
    "of another name": ("no kernel", lambda d: d.replace(b"\0kernel\0", b"\0kernal\0")),
}  # fmt: skip


def _filled(data: bytes) -> int:
    table = struct.unpack_from("<Q", data, 40)[0]
    number = next(k for k, s in enumerate(sections(data)) if s.kind == 1 and s.flags & 4 and s.size)
    return table + SECTION * number


@pytest.mark.parametrize("name", REFUSED)
def test_unknown_relocations_are_refused(made, name):
    why, harm = REFUSED[name]
    with pytest.raises((Unlinkable, Unrunnable)) as refused:
        load_object(harm(made), ("kernel",))
    assert why in str(refused.value)


@given(st.data())
def test_damaged_object_files_load_or_are_refused(made, data):
    damaged = bytearray(made)
    for _ in range(data.draw(st.integers(1, 4), label="how often")):
        at = data.draw(st.integers(0, len(made) - 1), label="where")
        damaged[at] = data.draw(st.integers(0, 255), label="what")
    end = data.draw(st.sampled_from([len(made)] * 3 + [len(made) // 2]), label="cut")
    with contextlib.suppress(Unlinkable, Unrunnable):
        load_object(bytes(damaged[:end]), ("kernel",))


@pytest.mark.parametrize("at", range(0, 64))
def test_damage_of_the_header(made, at):
    for value in (0, 1, 0x7F, 0x80, 0xFF):
        with contextlib.suppress(Unlinkable, Unrunnable):
            load_object(changed(made, at, "<B", value), ("kernel",))


COUNTING = """g (int64 n, float x) => (float y) {
  yes = Constant <value = bool {1}> ()
  y = Loop (n, yes, x) <body = f (int64 i, bool go, float m) => (bool on, float mo) {
    on = Identity (go)
    mo = Mul (m, m)
  }>
}"""


def test_without_executable_memory_another_engine_runs(monkeypatch):
    def refused(memory, place):
        raise Unrunnable("this system does not allow memory to be written and then executed")

    monkeypatch.setattr(elf_loader, "make_executable", refused)
    options = treadle.SessionOptions(cache_dir="")
    session = treadle.InferenceSession(HEAD + COUNTING, options)
    for _ in range(2):  # the loop with its companions, then the loop alone
        (y,) = session.run(None, {"n": np.array(2), "x": np.array(3, np.float32)})
        assert y == 81
    assert "does not allow memory to be written and then executed" in session.explain()


def test_an_undefined_symbol_is_refused(made, monkeypatch):
    monkeypatch.setattr(llvm, "_placed_by_llvm", BY_LLVM)
    with pytest.raises(Unrunnable, match="cannot load a function"):
        llvm.load_kernel(made, "another")


def test_llvm_loads_files_that_the_loader_refuses(made, monkeypatch):
    monkeypatch.setattr(llvm, "_placed_by_llvm", BY_LLVM)
    kept = changed(made, header(made, 1, CODE) + 48, "<Q", 8192)  # a page is less
    with pytest.raises(Unlinkable):
        load_object(kept, ("kernel",))
    assert called(llvm.load_kernel(kept))[0] == 7


# ---- whole models

SHARED = """g (int64 n, float[64,512] p) => (float[64,512] last, float[N] sums) {
  last, sums = Loop (n, , p) <body = f (int64 i, bool go, float[64,512] x) => (bool on,
    float[64,512] x1, float s) {
    on = Identity (go)
    c = Erf (x)
    d = Cos (x)
    x1 = Mul (c, d)
    s = ReduceSum <keepdims = 0> (x1)
  }>
}"""
FEED = {
    "n": np.array(40),
    "p": np.linspace(-2, 2, 64 * 512, dtype=np.float32).reshape(64, 512),
}


def ran(folder: str) -> list[np.ndarray]:
    options = treadle.SessionOptions(cache_dir=folder, intra_op_num_threads=2)
    session = treadle.InferenceSession(HEAD + SHARED, options, engines=("jit",))
    return session.run(None, FEED)


def test_both_ways_of_loading_give_the_same_bits(tmp_path, monkeypatch):
    wanted = ran(str(tmp_path))
    monkeypatch.setattr(symbols, "is_possible", lambda: False)
    compilation._recent.clear()
    found = ran(str(tmp_path))
    assert [a.tobytes() for a in found] == [a.tobytes() for a in wanted]


SCRIPT = """
import sys
from treadle.jit.toolchain import symbols
if sys.argv[2] == "LLVM":
    symbols.is_possible = lambda: False
from tests.jit.toolchain.test_elf_loader import ran
from treadle.jit.toolchain import host_cpu as processor
from treadle.jit.threads import thread_pool
processor.is_possible = symbols.is_possible
results = ran(sys.argv[1])
assert thread_pool._pools[-1].workers == 1, thread_pool._pools[-1].workers
loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "llvmlite")
print(len(loaded), *(result.tobytes().hex() for result in results))
"""


def printed(folder: Path, loader: str) -> list[str]:
    """How many modules of llvmlite a process has when it has run the model, and the results."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT, str(folder), loader]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.split()


def test_a_process_that_finds_its_kernel_never_loads_llvm(tmp_path):
    maker, finder = printed(tmp_path, "linker"), printed(tmp_path, "linker")
    assert int(maker[0]) > 0
    assert int(finder[0]) == 0
    assert maker[1:] == finder[1:]


def test_without_the_elf_loader_llvm_links(tmp_path):
    maker, finder = printed(tmp_path, "LLVM"), printed(tmp_path, "LLVM")
    assert int(finder[0]) > 0
    assert maker[1:] == finder[1:] == printed(tmp_path, "linker")[1:]
