"""Recorder and Verbose."""

import io

import numpy as np
import pytest

from treadle.tracing import (
    BranchTaken,
    IterationStarted,
    LoopEnded,
    LoopStarted,
    Recorder,
    StageDone,
    ValueMade,
    Verbose,
)

BODY = "main/loop_0.body"


def value(name, number, *iterations, path=BODY, step=""):
    return ValueMade(path, iterations, name, np.array(number, np.float32), step)


def told(recorder):
    return {
        key: {iterations: array.item() for iterations, array in values.items()}
        for key, values in recorder.values.items()
    }


def test_every_value_is_kept_by_place_and_iteration():
    recorder = Recorder()
    for event in (
        value("x", 1, path="main"), LoopStarted("main/loop_0", (), 2), value("s", 2, 0),
        value("s", 3, 1), value("x", 4, 1),
    ):  # fmt: skip
        recorder(event)
    assert told(recorder) == {
        ("main", "x"): {(): 1.0}, (BODY, "s"): {(0,): 2.0, (1,): 3.0}, (BODY, "x"): {(1,): 4.0},
    }  # fmt: skip
    assert [event.value for event in recorder.of("x")] == [1.0, 4.0]
    assert [event.value for event in recorder.of("x", "main/*")] == [4.0]
    recorder.clear()
    assert told(recorder) == {}


@pytest.mark.parametrize(
    ("names", "paths", "kept"),
    [
        ("*", "*", {"h", "hx", "y"}), ("h*", "*", {"h", "hx"}), ("h", "*", {"h"}),
        ("*", "main", {"y"}), ("h*", "main", set()), ("[hy]", "*", {"h", "y"}),
    ],
)  # fmt: skip
def test_names_and_paths_are_globs(names, paths, kept):
    recorder = Recorder(names=names, paths=paths)
    for event in (value("h", 1, 0), value("hx", 2, 0), value("y", 3, path="main")):
        recorder(event)
    assert {name for _, name in recorder.values} == kept


def test_the_oldest_values_are_dropped():
    recorder = Recorder(max_bytes=8)
    for k in range(5):
        recorder(value("s", k, k))
    assert told(recorder) == {(BODY, "s"): {(3,): 3.0, (4,): 4.0}}
    assert recorder.dropped == 3


def test_the_lines_of_a_run():
    stream = io.StringIO()
    verbose = Verbose(stream)
    inner = f"{BODY}/if_1"
    for event in (
        StageDone("plan", 0.0125),
        value("x", 1.5, path="main"),
        LoopStarted("main/loop_0", (), 2),
        IterationStarted("main/loop_0", (0,)),
        value("s", 2, 0),
        BranchTaken(inner, (0,), "then_branch"),
        value("t", 3, 0, path=f"{inner}.then_branch", step=f"{inner}.then_branch/add_0"),
        value("r", 3, 0, step=f"{inner}"),
        IterationStarted("main/loop_0", (1,)),
        value("s", 3, 1),
        LoopEnded("main/loop_0", (), 2, "trip"),
        value("y", 3, path="main", step="main/loop_0"),
        LoopStarted("main/loop_1", (), None),
        LoopEnded("main/loop_1", (), 1, "condition"),
    ):
        verbose(event)
    assert (
        stream.getvalue()
        == """\
plan: 12.5 ms
x: float32[] 1.5
main/loop_0: at most 2 iterations
  iteration 0
    s: float32[] 2
    main/loop_0.body/if_1: then_branch
      t: float32[] 3   add_0
    r: float32[] 3   if_1
  iteration 1
    s: float32[] 3
main/loop_0: 2 iterations, ended by its trip count
y: float32[] 3   loop_0
main/loop_1: no bound
main/loop_1: 1 iteration, ended by its condition
"""
    )


def test_lines_go_to_a_function():
    lines = []
    Verbose(log=lines.append)(value("x", 1, path="main"))
    assert lines == ["x: float32[] 1"]


def test_lines_go_to_standard_output(capsys):
    Verbose()(value("x", 1, path="main"))
    assert capsys.readouterr().out == "x: float32[] 1\n"
