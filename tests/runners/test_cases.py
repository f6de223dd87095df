"""Every case on every engine, at every version where its model is legal."""

from __future__ import annotations

import functools

import pytest

import treadle
from tests.cases.loader import cases
from tests.runners.engines import ENGINES, REFUSALS, session
from tests.values import assert_same
from treadle.errors import TreadleError, Unsupported

AT_VERSIONS = [(name, v) for name, case in cases().items() for v in case.versions()]


def _refused(name, engine):
    return name in REFUSALS[engine]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "opset"), AT_VERSIONS)
def test_case(name, opset, engine):
    case = cases()[name]
    source = treadle.load(case.model(opset))
    if _refused(name, engine):
        with pytest.raises(Unsupported):
            session(source, engine)
        return
    prepare = functools.cache(lambda options: session(source, engine, **dict(options)))
    for run in case.runs:
        check_run(functools.partial(prepare, tuple(run.options.items())), run)


def check_run(prepare, run):
    if run.outputs is None:
        with pytest.raises(TreadleError) as caught:
            prepare().run(None, dict(run.inputs))
        missing = [word for word in run.error if word not in str(caught.value)]
        assert not missing, f"{missing} not in: {caught.value}"
        return
    prepared = prepare()
    names = [output.name for output in prepared.get_outputs()]
    assert names == list(run.outputs)
    assert_same(prepared.run(None, dict(run.inputs)), list(run.outputs.values()), names)


@pytest.mark.parametrize("name", cases())
def test_check_reports_what_the_case_says_and_nothing_else(name):
    case = cases()[name]
    for opset in (case.opsets[0], case.opsets[-1]):
        found = {f.code for f in treadle.check(case.model(opset)) if f.severity == "error"}
        assert found == set(case.findings)


@pytest.mark.parametrize("name", cases())
def test_a_saved_case_gives_the_same(name, tmp_path):
    case = cases()[name]
    treadle.save(treadle.load(case.model(case.opsets[-1])), tmp_path / "saved.onnx")
    for run in case.runs:
        prepare = functools.partial(session, tmp_path / "saved.onnx", "interp", **run.options)
        check_run(prepare, run)


@pytest.mark.parametrize("engine", ENGINES)
def test_inputs_are_left_as_they_were(engine):
    for case in cases().values():
        run = next((run for run in case.runs if run.outputs is not None), None)
        if run is None or _refused(case.name, engine):
            continue
        before = repr(run.inputs)
        session(case.model(case.opsets[-1]), engine, **run.options).run(None, dict(run.inputs))
        assert repr(run.inputs) == before, case.name
