"""`treadle warm` and `treadle cache`: the files in the cache folder, and the output."""

import logging
import os
from pathlib import Path

import pytest

import treadle as library
from tests.cli.conftest import Treadle
from tests.test_warming import SUM, fed, session_of
from treadle.jit import DiskCache


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "sum.onnx"
    library.save(library.load(SUM), path)
    return path


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_treadle_warm_fills_a_cache(treadle: Treadle, model: Path, cache: Path) -> None:
    done = treadle("warm", model, "--dim", "T=4,5", "--dim", "B=1", "--cache", cache, "--json")
    assert done.code == 0, done.err
    (told,) = done.data
    assert told["files"] >= 2
    assert told["bytes"] == sum(entry.bytes for entry in DiskCache(cache).entries())
    again = treadle("warm", model, "--dim", "B=1", "--cache", cache)
    assert ": 0 files of 0 bytes kept, in " in again.out
    assert "no --dim for T; using 3" in again.err
    assert treadle("warm", model, "--dim", "Q=1", "--cache", cache).code == 1
    assert treadle("warm", model, "--dim", "T", "--cache", cache).code == 2


def test_a_cache_that_may_only_be_read_is_used(
    treadle: Treadle,
    model: Path,
    cache: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    treadle("warm", model, "--dim", "B=1", "--cache", cache)
    for file in (*cache.iterdir(), cache):
        file.chmod(0o500 if file.is_dir() else 0o400)
    try:
        with caplog.at_level(logging.DEBUG, "treadle"):
            session = session_of(model, cache)
            session.run(None, fed(9, 1))
    finally:
        cache.chmod(0o700)
    assert "compiled" not in " ".join(caplog.messages)


def test_treadle_cache(treadle: Treadle, model: Path, cache: Path) -> None:
    empty = treadle("cache", "list", "--cache", cache)
    assert (empty.code, empty.out) == (0, f"{cache}: 0 files, 0 bytes\n")
    for extent in (1, 2):  # the first kernel lies beside the plan, in its file
        treadle("warm", model, "--dim", f"B={extent}", "--cache", cache)
    shown = treadle("cache", "list", "--cache", cache).out
    assert "kernel" in shown
    assert "plan" in shown
    data = treadle("cache", "list", "--cache", cache, "--json").data
    assert {each["kind"] for each in data["files"]} == {"kernel", "plan"}
    assert data["unused_because"] == ""
    assert " 0 files" in treadle("cache", "clear", "--cache", cache, "--older-than", "1").out
    assert "deleted" in treadle("cache", "clear", "--cache", cache).out
    assert DiskCache(cache).entries() == []
    assert treadle("cache", "list", TREADLE_CACHE_DIR="").code == 2


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners and modes are of POSIX")
def test_a_cache_that_others_may_write_to_is_reported(
    treadle: Treadle,
    model: Path,
    cache: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    assert "others than its owner may write" in treadle("cache", "list", "--cache", cache).out
    done = treadle("warm", model, "--dim", "B=1", "--cache", cache)
    assert (done.code, "the cache cannot be used" in done.err) == (1, True)
    with caplog.at_level(logging.INFO, "treadle"):
        session_of(model, cache).run(None, fed(9, 1))
    assert sum("the cache is not used" in line for line in caplog.messages) == 1
