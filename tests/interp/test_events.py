"""The sequence of events of a run."""

import numpy as np
import pytest

from tests.interp.blocks import COUNTED, add, below, body_of, f32, i64, looping, run, yes
from treadle.ir import BlockBuilder, Carried, Invariant, Stacked
from treadle.plan import RunContext
from treadle.tracing import BranchTaken, IterationStarted, LoopEnded, LoopStarted, ValueMade


def events(block, *inputs):
    heard = []
    run(block, *inputs, context=RunContext(heard.append))
    return heard


def shown(heard):
    """Events as tuples; a value made as (path, iterations, name, value, step)."""
    told = []
    for event in heard:
        fields = [getattr(event, name) for name in event.__slots__]
        plain = [f.tolist() if isinstance(f, np.ndarray) else f for f in fields]
        told.append((type(event), *plain))
    return told


def test_a_straight_line():
    b = BlockBuilder()
    x, k = b.param("x"), b.constant(f32(2), "k")
    block = b.build(b.leaf("Neg", 13, add(b, x, k), result="y"))
    assert shown(events(block, f32(1))) == [
        (ValueMade, "main", (), "x", 1.0, ""),
        (ValueMade, "main", (), "k", 2.0, ""),
        (ValueMade, "main", (), "add", 3.0, "main/add_0"),
        (ValueMade, "main", (), "y", -3.0, "main/neg_1"),
    ]


def test_a_loop():
    def make(b, i, c, s):
        t = add(b, s, s)
        return below(b, i, 1), t, t

    block = looping(body_of("i c s", make), [*COUNTED, Carried()], stacks=[Stacked()])
    body = "main/loop_0.body"

    def iteration(k, s):
        return [
            (IterationStarted, "main/loop_0", (k,)),
            (ValueMade, body, (k,), "i", k, ""),
            (ValueMade, body, (k,), "c", True, ""),
            (ValueMade, body, (k,), "s", s, ""),
            (ValueMade, body, (k,), "limit", 1, ""),
            (ValueMade, body, (k,), "add", 2 * s, f"{body}/add_0"),
            (ValueMade, body, (k,), "less", k < 1, f"{body}/less_1"),
        ]

    assert shown(events(block, i64(5), f32(1))) == [
        (ValueMade, "main", (), "trip", 5, ""),
        (ValueMade, "main", (), "carried_0", 1.0, ""),
        (LoopStarted, "main/loop_0", (), 5),
        *iteration(0, 1.0),
        *iteration(1, 2.0),
        (LoopEnded, "main/loop_0", (), 2, "condition"),
        (ValueMade, "main", (), "result_0", 4.0, "main/loop_0"),
        (ValueMade, "main", (), "result_1", [2.0, 4.0], "main/loop_0"),
    ]


@pytest.mark.parametrize(
    ("trip", "condition", "wanted"),
    [
        (0, True, (0, 0, "trip")),
        (-2, True, (0, 0, "trip")),
        (2, True, (2, 2, "trip")),
        (2, False, (2, 0, "condition")),
        (None, False, (None, 0, "condition")),
    ],
)
def test_bounds_trip_count_and_reason_of_the_end_of_a_loop(trip, condition, wanted):
    body = body_of("i c s", lambda b, i, c, s: (c, add(b, s, s)))
    block = looping(body, [*COUNTED, Carried()], condition=True)
    inputs = [None if trip is None else i64(trip), yes(condition), f32(1)]
    heard = [e for e in events(block, *inputs) if isinstance(e, LoopStarted | LoopEnded)]
    started, ended = heard
    assert (started.trip, ended.trips, ended.by) == wanted


def test_a_loop_whose_condition_turns_false_in_its_last_iteration_ends_by_its_trip_count():
    body = body_of("i c s", lambda b, i, c, s: (below(b, i, 1), add(b, s, s)))
    block = looping(body, [*COUNTED, Carried()])
    assert events(block, i64(2), f32(1))[-2] == LoopEnded("main/loop_0", (), 2, "trip")


def test_nested_loops_and_branches_report_their_paths():
    then = BlockBuilder("then")
    t = then.param("t")
    then_block = then.build(then.leaf("Neg", 13, t, result="negative"))
    other = BlockBuilder("else")
    u = other.param("u")
    else_block = other.build(u)

    def inner(b, c, t):
        return None, *b.branch(c, then_block, else_block, [t])

    def outer(b, i, c, s):
        flag = below(b, i, 1)
        two = b.constant(i64(2), "two")
        body = body_of("c t", inner)
        return None, *b.loop(two, None, body, [Invariant(), Carried()], [flag, s])

    block = looping(body_of("i c s", outer), [*COUNTED, Carried()])
    heard = events(block, i64(2), f32(3))
    inside = "main/loop_0.body/loop_1"
    assert [e for e in heard if isinstance(e, BranchTaken)] == [
        BranchTaken(f"{inside}.body/if_0", (k, j), "then_branch" if k < 1 else "else_branch")
        for k in range(2)
        for j in range(2)
    ]
    assert [(e.path, e.iterations) for e in heard if isinstance(e, IterationStarted)] == [
        ("main/loop_0", (0,)), (inside, (0, 0)), (inside, (0, 1)),
        ("main/loop_0", (1,)), (inside, (1, 0)), (inside, (1, 1)),
    ]  # fmt: skip
    made = [e for e in heard if isinstance(e, ValueMade) and e.name == "negative"]
    assert [(e.path, e.iterations, e.step, e.value.item()) for e in made] == [
        (f"{inside}.body/if_0.then_branch", (0, 0), f"{inside}.body/if_0.then_branch/neg_0", -3),
        (f"{inside}.body/if_0.then_branch", (0, 1), f"{inside}.body/if_0.then_branch/neg_0", 3),
    ]


def test_absent_values_and_results_left_out():
    body = body_of("s t", lambda _, s, t: (None, s, t))
    block = looping(body, [Carried(), Carried()], omitted=[1])
    made = [e for e in events(block, i64(1), None, f32(1)) if isinstance(e, ValueMade)]
    assert [(e.name, e.value is None) for e in made if e.path == "main"] == [
        ("trip", False), ("carried_0", True), ("carried_1", False), ("result_0", True),
    ]  # fmt: skip
