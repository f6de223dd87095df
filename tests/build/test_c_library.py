"""C libraries called through ctypes: outputs equal treadle's, statuses, no leaked memory."""

from __future__ import annotations

import ctypes
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.build import models
from tests.build.host import COMPILER, Loaded, Memory, Run, shared_library, tensors

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")
Load = Callable[[str], Loaded]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], treadle.build]:
    """A library of a model of `models` by its name, built once."""
    made: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            treadle.build(getattr(models, name.upper()), folder, name=name, cpu="native")
            made[name] = folder
        return made[name]

    return find


@pytest.fixture(scope="module")
def load(built: Callable[[str], Path]) -> Load:
    """The functions of such a library."""
    loaded: dict[str, Loaded] = {}

    def find(name: str) -> Loaded:
        if name not in loaded:
            (archive,) = built(name).glob("*/*.a")
            loaded[name] = Loaded(shared_library(archive), name)
        return loaded[name]

    return find


def of_treadle(name: str, *arrays: np.ndarray) -> list[np.ndarray]:
    session = treadle.InferenceSession(getattr(models, name.upper()))
    return session.run(None, dict(zip([i.name for i in session.get_inputs()], arrays, strict=True)))


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 10_000])
def test_a_result_of_unknown_length(load: Load, limit: int) -> None:
    arrays = [np.array(limit), np.arange(4, dtype=np.float32)]
    status, found = load("grow").call(arrays, 2)
    assert status == 0
    for one, other in zip(found, of_treadle("grow", *arrays), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("length", [0, 1, 2, 7, 100])
def test_a_library_with_a_dynamic_length(load: Load, length: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((length, 3)).astype(np.float32)
    arrays = [x, np.ones(3, np.float32)]
    status, found = load("scan").call(arrays, 2)
    assert status == 0
    for one, other in zip(found, of_treadle("scan", *arrays), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("go", [True, False])
@pytest.mark.parametrize("trips", [-1, 0, 1, 2, 5])
def test_a_condition_that_is_false_at_the_start(load: Load, go: bool, trips: int) -> None:
    arrays = [np.array(trips), np.array(go), np.ones(3, np.float32)]
    status, found = load("whether").call(arrays, 2)
    assert status == 0
    assert found[1].shape == (max(trips, 0) if go else 0, 3)
    for one, other in zip(found, of_treadle("whether", *arrays), strict=True):
        np.testing.assert_array_equal(one, other)


def test_indices_of_data_are_checked(load: Load) -> None:
    table = np.arange(5, dtype=np.float32)
    good, bad = np.array([0, -1, 4]), np.array([0, 5])
    assert load("pick").call([table, good], 1)[1][0] == 8
    status, _ = load("pick").call([table, bad], 1)
    assert (status, load("pick").reason(status)) == (1, "an index is out of range")


def test_inputs_that_do_not_fit(load: Load) -> None:
    good = [np.array(3), np.zeros(4, np.float32)]
    for wrong in (
        [np.array([3]), good[1]],
        [good[0].astype(np.int32), good[1]],
        [good[0], np.zeros(5, np.float32)],
        [good[0], np.zeros((4, 1), np.float32)],
    ):
        assert load("grow").call(wrong, 2)[0] == 5


def test_a_failed_allocation_leaks_no_memory(load: Load) -> None:
    arrays = [np.array(5), np.zeros(4, np.float32)]
    memory = Memory(fails=0)
    assert load("grow").call(arrays, 2, memory=memory)[0] == 2
    assert memory.asked == 1


def test_a_poll_stops_a_run(load: Load) -> None:
    asked: list[int] = []

    def poll(_: object) -> int:
        asked.append(1)
        return len(asked) == 2

    arrays = [np.array(2**60), np.array(1.0, np.float32)]
    assert load("forever").call(arrays, 1, poll=poll)[0] == 4
    assert len(asked) == 2


def test_bounds_stop_a_run(load: Load) -> None:
    arrays = [np.array(1000), np.array(1.0, np.float32)]
    assert load("forever").call(arrays, 1, iterations=999)[0] == 7
    assert load("forever").call(arrays, 1, iterations=1000)[0] == 0
    rows = [np.array(100), np.zeros(4, np.float32)]
    assert load("grow").call(rows, 2, bytes_=64)[0] == 8


def test_a_run_struct_without_its_size_is_refused(load: Load) -> None:
    loaded = load("forever")
    given, keep = tensors([np.array(1), np.array(1.0, np.float32)])
    made, more = tensors([np.array(0.0, np.float32)])
    assert loaded.run(given, made, ctypes.byref(Run())) == 9
    assert loaded.run(given, made, None) == 0
    assert keep
    assert more


def test_several_kernels_are_chosen_by_shape(tmp_path: Path, rng: np.random.Generator) -> None:
    shapes = [{"x": (None, 2, 4)}, {"x": (None, "B", 4)}]
    treadle.build(models.BATCH, tmp_path, name="batch", inputs=shapes, cpu="native")
    loaded = Loaded(shared_library(next(tmp_path.glob("*/*.a"))), "batch")
    assert len(json.loads(loaded.describe())["kernels"]) == 2
    for batch in (2, 3, 8):
        x = rng.standard_normal((5, batch, 4)).astype(np.float32)
        arrays = [x, np.zeros((batch, 4), np.float32)]
        status, found = loaded.call(arrays, 1)
        assert status == 0
        np.testing.assert_allclose(found[0], of_treadle("batch", *arrays)[0], rtol=1e-5)
    wrong = [x, np.zeros((batch + 1, 4), np.float32)]
    assert loaded.call(wrong, 1)[0] == 5


def test_nothing_but_memory_is_asked_of_the_c_library(built: Callable[[str], Path]) -> None:
    allowed = {"realloc", "free"}
    for name in ("grow", "scan", "forever"):
        (archive,) = built(name).glob("*/*.a")
        shown = subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout
        entries = [line.split() for line in shown.splitlines() if line.split()]
        wanted = {entry[-1] for entry in entries if entry[-2:-1] == ["U"]}
        own = {entry[-1] for entry in entries if entry[-2:-1] in (["T"], ["R"])}
        assert wanted - own <= allowed


@pytest.mark.parametrize("language", ["c99", "c++11"])
def test_the_header_compiles_without_a_warning(
    built: Callable[[str], Path], tmp_path: Path, language: str
) -> None:
    source = tmp_path / ("a.c" if language == "c99" else "a.cc")
    source.write_text(f'#include "{built("grow")}/grow.h"\n')
    flags = ["-std=" + language, "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([COMPILER, *flags, "-c", source, "-o", tmp_path / "a.o"], check=True)


def test_the_test_program_says_that_the_outputs_are_right(
    built: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = built("grow")
    (archive,) = folder.glob("*/*.a")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    program = tmp_path / "test"
    command = [COMPILER, *flags, folder / "test/main.c", archive, "-lm", "-o", program]
    subprocess.run(command, check=True)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert said == "grow: the outputs are right\n"


def test_building_twice_gives_the_same_bytes(built: Callable[[str], Path], tmp_path: Path) -> None:
    treadle.build(models.GROW, tmp_path, name="grow", cpu="native")
    first = {p.relative_to(built("grow")): p for p in built("grow").rglob("*") if p.is_file()}
    first = {name: path for name, path in first.items() if path.suffix != ".so"}
    assert first
    for name, path in first.items():
        assert (tmp_path / name).read_bytes() == path.read_bytes()


def test_all_obstacles_are_reported_at_once(tmp_path: Path) -> None:
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.build(models.BESIDE, tmp_path / "out")
    assert 'output "made" is seq(float32[2])' in str(caught.value)
    assert "Resize" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_callers_threads_share_the_work(tmp_path: Path, rng: np.random.Generator) -> None:
    treadle.build(models.WIDE, tmp_path, name="wide", cpu="native")
    loaded = Loaded(shared_library(next(tmp_path.glob("*/*.a"))), "wide")
    x = rng.standard_normal((3, 384, 384)).astype(np.float32) / 99
    arrays = [x, np.ones((64, 384), np.float32)]
    called: list[int] = []

    def share(user: object, part: Callable[..., None], data: int, nanoseconds: int) -> None:
        called.append(nanoseconds)
        threads = [threading.Thread(target=part, args=(data, k, 4)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    alone = loaded.call(arrays, 1)[1][0]
    together = loaded.call(arrays, 1, share=share)[1][0]
    assert called
    np.testing.assert_array_equal(alone, together)
