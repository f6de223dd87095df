"""Every case on every engine, in every version in which its model is valid."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Hashable
from pathlib import Path

import pytest

import treadle
from tests.cases.loader import Case, Run, cases
from tests.runners.engines import ENGINES, REFUSALS, session
from tests.values import assert_same
from treadle.errors import TreadleError, Unsupported
from treadle.ir import Model, show_model, walk

Prepare = Callable[[], treadle.InferenceSession]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", cases())
def test_every_engine_and_version_gives_the_outputs_of_the_case(name: str, engine: str) -> None:
    """At every version that changes the program; the default engines also at the newest."""
    case, programs = cases()[name], set[Hashable]()
    versions = case.versions()
    for opset in versions:
        model = treadle.load(case.model(opset))
        is_newest = engine == "default" and opset == versions[-1]
        program = opset if is_newest else program_of(model)
        if program not in programs:
            programs.add(program)
            try:
                check_case(case, model, engine)
            except BaseException as error:
                error.add_note(f"in {name} of opset {opset} on {engine}")
                raise


def program_of(model: Model) -> Hashable:
    """What an engine sees of a model: its steps, and the versions of their operators."""
    _, *lines = show_model(model).splitlines()
    return *lines, *(getattr(visit.step, "version", None) for visit in walk(model))


def check_case(case: Case, model: Model, engine: str) -> None:
    """Every run gives the outputs of the case, or its error, or is refused where that is right."""
    if case.name in REFUSALS[engine]:
        with pytest.raises(Unsupported):
            session(model, engine)
        return
    prepare = functools.cache(lambda options: session(model, engine, **dict(options)))
    for run in case.runs:
        check_run(functools.partial(prepare, tuple(run.options.items())), run)


def check_run(prepare: Prepare, run: Run) -> None:
    """The run gives its outputs, or fails in its words; its inputs are left as they were."""
    before = pickle.dumps(run.inputs)
    if run.outputs is None:
        with pytest.raises(TreadleError) as caught:
            prepare().run(None, dict(run.inputs))
        missing = [word for word in run.error if word not in str(caught.value)]
        assert not missing, f"{missing} not in: {caught.value}"
    else:
        prepared = prepare()
        names = [output.name for output in prepared.get_outputs()]
        assert names == list(run.outputs)
        assert_same(prepared.run(None, dict(run.inputs)), list(run.outputs.values()), names)
    assert pickle.dumps(run.inputs) == before


@pytest.mark.parametrize("name", cases())
def test_check_reports_exactly_the_findings_of_the_case(name: str) -> None:
    case = cases()[name]
    for opset in (case.opsets[0], case.opsets[-1]):
        found = {f.code for f in treadle.check(case.model(opset)) if f.severity == "error"}
        assert found == set(case.findings)


@pytest.mark.parametrize("name", cases())
def test_a_saved_case_gives_the_same(name: str, tmp_path: Path) -> None:
    case = cases()[name]
    treadle.save(treadle.load(case.model(case.opsets[-1])), tmp_path / "saved.onnx")
    for run in case.runs:
        prepare = functools.partial(session, tmp_path / "saved.onnx", "interp", **run.options)
        check_run(prepare, run)
