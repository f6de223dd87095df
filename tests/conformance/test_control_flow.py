"""Edge cases of If, Loop and Scan on every engine: right outputs, clear errors, no crash."""

from __future__ import annotations

import pytest

import treadle
from tests.conformance.data import edges
from tests.runners.engines import ENGINES, session
from tests.values import assert_same
from treadle.errors import TreadleError

LITERAL = ("L02", "L11", "L18")
"""Their condition is omitted and their body's turns false: they hold when read literally."""

RUNS_ALL_THE_SAME = ("L51", "L52", "L53", "L58", "I18", "S28", "I24")
"""Errors of the standard that do not block: hidden names, and declared shapes that are false."""

WRONG_DATA = {
    "S09": "the lengths of the two sequences are two symbols, which may be equal",
}
"""Models that are well formed; what they are fed is wrong, and only a run can tell."""

FALSE_CLAIMS = {"L13d": "the body declares bool[1] for a condition that is a scalar"}
"""Models that run as the standard says although something they declare is false."""

WITH_VALUES = [name for name, edge in edges().items() if isinstance(edge.expect, tuple)]
WRONG = [name for name, edge in edges().items() if edge.expect == "error"]
SILENT = [name for name, edge in edges().items() if edge.expect is None]


def run(name, engine):
    edge = edges()[name]
    options = {"omitted_condition": "ignore"} if name in LITERAL else {}
    prepared = session(edge.source, engine, **options)
    names = [value.name for value in prepared.get_inputs()]
    return prepared.run(None, dict(zip(names, edge.inputs, strict=True)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", WITH_VALUES)
def test_the_outputs_are_those_of_the_standard(name, engine):
    wanted = edges()[name].expect
    names = [f"output {k}" for k in range(len(wanted))]
    assert_same(run(name, engine), wanted, names)


@pytest.mark.parametrize("name", WRONG)
def test_check_has_a_finding_for_invalid_models(name):
    edge = edges()[name]
    found = [f for f in treadle.check(edge.source) if f.severity == "error"]
    if name in WRONG_DATA:
        assert not found, WRONG_DATA[name]
    else:
        assert found, edge.title


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [name for name in WRONG if name not in RUNS_ALL_THE_SAME])
def test_invalid_models_raise_when_run(name, engine):
    with pytest.raises(TreadleError) as caught:
        run(name, engine)
    assert str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", sorted({*WRONG} & {*RUNS_ALL_THE_SAME}))
def test_models_with_findings_that_do_not_block_run(name, engine):
    assert run(name, engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SILENT)
def test_models_the_standard_leaves_undefined_terminate(name, engine):
    assert run(name, engine)


def test_the_inner_of_two_names_wins():
    (last,) = run("L51", "interp")
    assert last == 4


@pytest.mark.parametrize("name", WITH_VALUES + SILENT)
def test_check_reports_only_names_that_hide_others(name):
    found = treadle.check(edges()[name].source)
    allowed = {"CF103", "CF304"} if name in FALSE_CLAIMS else {"CF103"}
    assert {f.code for f in found if f.severity == "error"} <= allowed


@pytest.mark.parametrize("engine", ENGINES)
def test_unless_read_literally_the_body_stops_a_loop_whose_condition_is_omitted(engine):
    last, every = session(edges()["L18"].source, engine).run(None, {"M": 3, "s0": 0.0})
    assert last == 1
    assert every.tolist() == [1]
