"""The disk cache: other processes find machine code; a damaged file or folder is ignored."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, outcomes
from treadle.jit.kernel.artifact import deserialize, serialize
from treadle.jit.kernel.fingerprint import fingerprint
from treadle.jit.runtime import compilation
from treadle.jit.toolchain import llvm, symbols
from treadle.jit.toolchain.disk_cache import VARIABLE, DiskCache, default_folder

LOOP = """g (int64 n, float[K] p) => (float[K] last, float[N] sums) {
  weight = Constant <value = float[3] {0.5, 0.25, 0.125}> ()
  last, sums = Loop (n, , p) <body = f (int64 i, bool go, float[K] x) => (bool on, float[K] x1,
    float s) {
    on = Identity (go)
    c = Cos (x)
    x1 = Mul (c, weight)
    s = ReduceSum <keepdims = 0> (x1)
  }>
}"""
P = np.array([0.1, 0.2, 0.3], np.float32)
FEED = {"n": np.array(5), "p": P}


def ran(folder: Path | str, text: str = LOOP):
    """A kernel that was made, as by a new process, and what it gave."""
    compilation._recent.clear()
    options = treadle.SessionOptions(cache_dir=str(folder))
    session = treadle.InferenceSession(HEAD + text, options, engines=("jit", "interp"))
    found = session.run(None, FEED)
    (made,) = outcomes(session)
    return made, found


@pytest.fixture(autouse=True, scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The functions that kernels call have a file of their own, made once a process."""
    ran(tmp_path_factory.mktemp("libraries"))


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.kernel")) if folder.exists() else []


def test_a_kernel_is_made_once(tmp_path):
    first, wanted = ran(tmp_path)
    (file,) = files(tmp_path)
    second, found = ran(tmp_path)
    assert (first.machine.was_kept, second.machine.was_kept) == (False, True)
    assert files(tmp_path) == [file]
    assert all(map(np.array_equal, found, wanted))


def test_kernels_with_large_constants_are_found_again(tmp_path):
    numbers = ", ".join(f"{k}.5" for k in range(40))
    text = LOOP.replace("float[3] {0.5, 0.25, 0.125}", f"float[40,1] {{{numbers}}}")
    text = text.replace("x1 = Mul", "m = Mul").replace(
        "s = Red", "x1 = ReduceMax (m, ax)\n s = Red"
    )
    text = text.replace("on = Id", "ax = Constant <value = int64[1] {0}> ()\n on = Id")
    text = text.replace("x1 = ReduceMax", "x2 = ReduceMax").replace(
        "s = Red", "x1 = Reshape (x2, th)\n s = Red"
    )
    text = text.replace("on = Id", "th = Constant <value = int64[1] {3}> ()\n on = Id")
    first, wanted = ran(tmp_path, text)
    second, found = ran(tmp_path, text)
    assert "array" in {slot.kind for slot in first.code.slots}
    assert (first.machine.was_kept, second.machine.was_kept) == (False, True)
    assert all(map(np.array_equal, found, wanted))


def test_sessions_of_a_process_share_kernels_in_memory():
    ran("")
    session = treadle.InferenceSession(HEAD + LOOP, engines=("jit", "interp"))
    session.run(None, FEED)
    (made,) = outcomes(session)
    assert made.machine.was_kept


def test_recent_kernels_are_found_in_memory(monkeypatch):
    monkeypatch.setattr(compilation, "_MAX_RECENT_KERNELS", 2)
    texts = [LOOP.replace("0.25", number) for number in ("0.25", "0.26", "0.27")]

    def is_found(text):
        session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
        session.run(None, FEED)
        (made,) = outcomes(session)
        return made.machine.was_kept

    assert [is_found(text) for text in texts] == [False, False, False]
    assert [is_found(text) for text in texts[1:]] == [True, True]
    assert not is_found(texts[0]), "two are kept"


@pytest.mark.parametrize(
    ("old", "new"), [("0.25", "0.26"), ("Cos", "Sin"), ("ReduceSum", "ReduceMax")]
)
def test_another_kernel_has_another_file(tmp_path, old, new):
    ran(tmp_path)
    made, _ = ran(tmp_path, LOOP.replace(old, new))
    assert not made.machine.was_kept
    assert len(files(tmp_path)) == 2


@pytest.mark.parametrize("harm", ["cut", "empty", "bit", "other"])
def test_a_damaged_file_is_ignored_and_replaced(tmp_path, harm):
    _, wanted = ran(tmp_path)
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    file.write_bytes({"cut": whole[:-7], "empty": b"", "bit": changed, "other": b"text" * 99}[harm])
    made, found = ran(tmp_path)
    assert not made.machine.was_kept
    assert all(map(np.array_equal, found, wanted))
    assert ran(tmp_path)[0].machine.was_kept


def test_an_empty_cache_path_disables_the_cache(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not ran("")[0].machine.was_kept
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_fails_no_run(tmp_path):
    occupied = tmp_path / "file"
    occupied.write_text("no folder")
    for folder in (occupied, occupied / "inside", Path("/proc/none")):
        assert not ran(folder)[0].machine.was_kept


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners here")
def test_a_folder_that_others_may_write_is_not_used(tmp_path):
    ran(tmp_path)
    tmp_path.chmod(0o777)
    assert not ran(tmp_path)[0].machine.was_kept
    tmp_path.chmod(0o700)
    assert ran(tmp_path)[0].machine.was_kept


def test_the_least_recently_used_file_is_evicted(tmp_path):
    store = DiskCache(tmp_path, most_bytes=4000)
    for number in range(6):
        store.write(f"k{number}", bytes(900))
        os.utime(tmp_path / f"k{number}.kernel", (number + 1, number + 1))
        if number == 1:
            assert store.read("k0") is not None  # used now
    left = [file.stem for file in files(tmp_path)]
    assert "k0" in left
    assert "k5" in left
    assert "k1" not in left
    assert sum(file.stat().st_size for file in files(tmp_path)) <= 4000


def test_the_folder_is_measured_once_for_every_64th_of_its_limit(tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(DiskCache, "_shrink", lambda store: measured.append(store))
    store = DiskCache(tmp_path, most_bytes=64_000)
    for number in range(1000):
        store.write("k", number.to_bytes(10, "big"))
    assert 3 <= len(measured) <= 25  # 10,000 bytes are ten times a 64th
    measured.clear()
    store.write("k", bytes(1000))
    assert len(measured) == 1


def test_a_folder_stays_near_its_limit_though_it_is_measured_seldom(tmp_path, rng):
    store = DiskCache(tmp_path, most_bytes=100_000)
    for number in range(2000):
        store.write(f"k{number}", rng.bytes(200))
    assert 75_000 <= sum(file.stat().st_size for file in files(tmp_path)) <= 112_000


def test_temporary_files_of_killed_writers_are_deleted(tmp_path):
    for name in ("old.kernel-part", "new.kernel-part", "another's"):
        (tmp_path / name).write_bytes(b"half")
    for name in ("old.kernel-part", "another's"):
        os.utime(tmp_path / name, (1, 1))
    DiskCache(tmp_path, most_bytes=300).write("k", b"whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "another's",
        "k.kernel",
        "new.kernel-part",
    ]


def test_the_folder_is_the_platforms_or_the_variables(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert default_folder() == tmp_path
    monkeypatch.setenv(VARIABLE, "")
    assert default_folder() is None
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    if sys.platform == "linux":
        assert default_folder() == tmp_path / "caches" / "treadle"


def test_equal_kernels_of_two_sessions_have_one_name_and_one_form():
    (first, _), (second, _) = ran(""), ran("")
    names = [fingerprint(c.kernel, ()) for c in (first, second)]
    assert names[0] == names[1]
    data = serialize(first.kernel, first.code, b"machine code")
    code, machine_code = deserialize(second.kernel, data)
    assert machine_code == b"machine code"
    assert replace(code, text="").workspace == second.code.workspace
    assert [s.kind for s in code.slots] == [s.kind for s in second.code.slots]
    assert [type(s.which) for s in code.slots] == [type(s.which) for s in second.code.slots]
    assert len(code.grown) == len(second.code.grown)


def test_code_depends_on_the_source_of_the_room(tmp_path, monkeypatch):
    ran(tmp_path)
    monkeypatch.setattr(compilation, "_source", lambda: "another version")
    assert not ran(tmp_path)[0].machine.was_kept
    monkeypatch.setattr(compilation, "_source", lambda: "")
    assert not ran(tmp_path)[0].machine.was_kept
    assert len(files(tmp_path)) == 2


SCRIPT = """
import sys, numpy as np
from tests.jit.toolchain.test_disk_cache import FEED, ran
for _ in range(4):
    made, (last, sums) = ran(sys.argv[1])
    print(last.tobytes().hex(), sums.tobytes().hex())
"""


def test_processes_that_write_at_once(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(3)
    ]
    stop = threading.Event()
    breaker = threading.Thread(target=_break, args=(tmp_path, stop))
    breaker.start()
    printed = [process.communicate()[0].split("\n") for process in running]
    stop.set()
    breaker.join()
    assert all(process.returncode == 0 for process in running)
    assert len({line for lines in printed for line in lines if line}) == 1
    assert not list(tmp_path.glob("*.kernel-part"))


def _break(folder: Path, stop: threading.Event) -> None:
    """Harm the files while others read and write them."""
    number = 0
    while not stop.wait(0.002):
        for file in files(folder):
            number += 1
            try:
                if number % 2:
                    file.unlink()
                else:
                    file.write_bytes(file.read_bytes()[: number % 900])
            except OSError:
                continue


def cut_in_half(code):
    return code[: len(code) // 2]


def without_a_section(code):
    return code[:60] + b"\x01\x00" + code[62:]


def for_another_processor(code):
    return code[:18] + b"\xb7\x00" + code[20:]


def of_zeros(code):
    return bytes(len(code))


def of_nothing(code):
    return b""


HARM = (cut_in_half, without_a_section, for_another_processor, of_zeros, of_nothing)


@pytest.mark.skipif(not symbols.is_possible(), reason="LLVM loads the files of this system")
@pytest.mark.parametrize("harm", HARM)
def test_files_that_the_elf_loader_refuses_are_compiled_again(tmp_path, monkeypatch, harm):
    _, wanted = ran(tmp_path)
    (file,) = files(tmp_path)
    store, key = DiskCache(tmp_path), file.stem
    kept = store.read(key)
    end = 8 + int.from_bytes(kept[:8], "little")
    store.write(key, kept[:end] + harm(kept[end:]))

    def by_llvm(data, names):
        raise AssertionError("LLVM was handed a file from disk")

    monkeypatch.setattr(llvm, "_placed_by_llvm", by_llvm)
    made, found = ran(tmp_path)
    assert not made.machine.was_kept
    assert store.read(key) == kept, "the file is written again"
    assert all(map(np.array_equal, found, wanted))


@pytest.mark.parametrize("head", [b"", b"[]", b"{}", b'{"slots": 3}', b"\xff", b"{"])
def test_a_file_with_an_invalid_header_is_compiled_again(tmp_path, head):
    _, wanted = ran(tmp_path)
    (file,) = files(tmp_path)
    DiskCache(tmp_path).write(file.stem, len(head).to_bytes(8, "little") + head)
    made, found = ran(tmp_path)
    assert not made.machine.was_kept
    assert all(map(np.array_equal, found, wanted))


def test_the_key_of_a_kernel_depends_on_every_file_of_the_engine():
    engine = Path(treadle.__file__).parent / "jit"
    assert set(compilation._files(compilation._ENGINE)) == set(map(str, engine.rglob("*.py")))
