"""onnxruntime's Python API by name: names that the page calls the same behave the same."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnxruntime
import pytest

import treadle
from tests.parity import bindings, options, page, runs, sessions  # their probes register themselves
from tests.parity.probes import COVERED, PROBES
from treadle import parity

assert all((bindings, options, runs, sessions))

ENGINES = {"default": None, "interp": ("interp",), "native": ("jit", "interp")}
"""The probes run with the default engines, and those of sessions with others too."""


RUNS = ("run_", "ort_values", "async", "bound")
"""How probes of runs are called, which every engine must answer; the others are asked once."""


def _chosen() -> Iterator[tuple[str, str]]:
    for name in PROBES:
        yield from ((name, e) for e in ENGINES if e == "default" or name.startswith(RUNS))


class With:
    """The package, whose sessions have certain engines."""

    def __init__(self, engines: tuple[str, ...] | None) -> None:
        self._engines = engines

    def __getattr__(self, name: str) -> Any:
        found = getattr(treadle, name)
        if name == "InferenceSession" and self._engines is not None:
            return partial(found, engines=self._engines)
        return found


def _answer(probe: Any, package: Any) -> Any:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = probe(package)
        except Exception as error:  # noqa: BLE001  # compared, whatever it is
            return SimpleNamespace(error=error)
    users = {str(each.message) for each in heard if each.category is UserWarning}
    return SimpleNamespace(error=None, found=found, users=users)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBE_FOLDER", str(tmp_path))
    onnxruntime.set_default_logger_severity(4)


@pytest.mark.parametrize(("name", "engines"), list(_chosen()))
def test_a_probe_has_the_answer_of_onnxruntime(name: str, engines: str, capfd) -> None:
    wanted = _answer(PROBES[name], onnxruntime)
    given = _answer(PROBES[name], With(ENGINES[engines]))
    capfd.readouterr()
    if wanted.error is not None:
        assert given.error is not None, f"gives {given.found}, onnxruntime: {wanted.error!r}"
        assert isinstance(given.error, type(wanted.error)), repr(given.error)
        return
    assert given.error is None, repr(given.error)
    assert wanted.users <= given.users
    _compare(given.found, wanted.found)


def _compare(given: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray):
        assert isinstance(given, np.ndarray)
        assert given.dtype == wanted.dtype
        assert given.shape == wanted.shape
        if wanted.dtype == object:
            assert given.tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(given, wanted, rtol=1e-6)
    elif isinstance(wanted, list | tuple):
        assert type(given) is type(wanted)
        assert len(given) == len(wanted)
        for one, other in zip(given, wanted, strict=True):
            _compare(one, other)
    else:
        assert type(given) is type(wanted)
        assert given == wanted


of_its_version = pytest.mark.skipif(
    onnxruntime.__version__ != page.VERSION, reason="the page goes over the names of another"
)
EACH = [(owner, name) for owner in page.OWNERS for name in page.names_of(owner)]


@of_its_version
@pytest.mark.parametrize(("owner", "name"), EACH)
def test_a_name_is_there_and_probed_or_missing_with_its_reason(owner: str, name: str) -> None:
    word, why = page.standing(owner, name)
    if word == "missing":
        with pytest.raises(AttributeError, match=f"'{name}'") as raised:
            getattr(_own(owner), name)
        assert why in str(raised.value)
        return
    assert hasattr(_own(owner), name)
    if page.is_shared(owner, name):
        theirs = onnxruntime if owner == "onnxruntime" else getattr(onnxruntime, owner)
        ours = treadle if owner == "onnxruntime" else getattr(treadle, owner)
        assert getattr(ours, name) == getattr(theirs, name)
        return
    assert word == "differs" or COVERED.get(f"{owner}.{name}"), "no probe calls it"


def _own(owner: str) -> Any:
    """The package, or an object of one of its classes."""
    match owner:
        case "onnxruntime":
            return treadle
        case "InferenceSession":
            return sessions.session(treadle)
        case "IOBinding":
            return sessions.session(treadle).io_binding()
        case "NodeArg":
            return sessions.session(treadle).get_inputs()[0]
        case "ModelMetadata":
            return sessions.session(treadle).get_modelmeta()
        case "SessionOptions" | "RunOptions" | "LoraAdapter":
            return getattr(treadle, owner)()
    return getattr(treadle, owner)


@of_its_version
def test_documented_names_exist_in_onnxruntime() -> None:
    besides = {"training", "experimental", "ORTModule"}
    for table in (parity.MISSING, parity.DIFFERS):
        for owner, reasons in table.items():
            assert set(reasons) <= {*page.names_of(owner), *besides}


@of_its_version
def test_the_parity_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("page")("onnxruntime-api.md", page.text())


def test_the_optimized_model_is_written(tmp_path) -> None:
    options = treadle.SessionOptions(optimized_model_filepath=str(tmp_path / "made.onnx"))
    feeds = {"h": np.ones(2, np.float32), "n": np.array(3)}
    wanted = sessions.session(treadle, "loop", options).run(None, feeds)
    peer = onnxruntime.InferenceSession(str(tmp_path / "made.onnx"))
    _compare(peer.run(None, feeds), wanted)
