"""Limits, termination, Ctrl-C, threads, deep nesting, numpy's warnings."""

import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest

from tests.interp.blocks import COUNTED, TRIPS, add, below, body_of, f32, i64, looping, run, same
from treadle.errors import LimitExceeded, RunError, Terminated
from treadle.execution import prepare
from treadle.ir import BlockBuilder, Carried, Iteration, Stacked, attribute, tensor
from treadle.plan import Limits, RunContext, interp_only

AXIS = {"axis": attribute("axis", 0)}


def endless():
    """A loop that goes on for ever: s = s + s."""
    body = body_of("s", lambda b, s: (None, add(b, s, s)))
    return looping(body, [Carried()], trip=False)


def limited(**bounds):
    return RunContext(limits=Limits(**bounds))


@pytest.mark.parametrize("most", TRIPS)
def test_a_bound_of_iterations(most):
    body = body_of("s", lambda b, s: (None, add(b, s, s)))
    block = looping(body, [Carried()])
    same(run(block, i64(most), f32(1), context=limited(iterations=most)), [f32(2.0**most)])
    with pytest.raises(LimitExceeded) as caught:
        run(block, i64(most + 1), f32(1), context=limited(iterations=most))
    assert caught.value.path == "main/loop_0"
    assert caught.value.iterations == (most,)


def test_iterations_of_nested_loops_are_counted_together():
    block = nested(2, trips=3)
    same(run(block, i64(3), i64(0), context=limited(iterations=12)), [i64(9)])
    with pytest.raises(LimitExceeded) as caught:
        run(block, i64(3), i64(0), context=limited(iterations=11))
    assert caught.value.iterations == (2, 2)


def nested(depth, trips):
    """Loops `depth` deep around s + 1, `trips` iterations each."""

    def level(k):
        def make(b, n, s):
            if k == depth:
                return None, n, add(b, s, b.constant(i64(1), "one"))
            return None, n, b.loop(n, None, level(k + 1), [Carried(), Carried()], [n, s])[1]

        return body_of("n s", make)

    main = BlockBuilder("main")
    n, s = main.param("n"), main.param("s")
    return main.build(main.loop(n, None, level(1), [Carried(), Carried()], [n, s])[1])


def test_a_bound_of_seconds():
    started = time.monotonic()
    with pytest.raises(LimitExceeded, match="max_seconds"):
        run(endless(), f32(1), context=limited(seconds=0.1))
    assert 0.1 <= time.monotonic() - started < 0.4


def test_a_bound_of_bytes_on_a_growing_value():
    body = body_of("s", lambda b, s: (None, b.leaf("Concat", 13, s, s, attributes=AXIS)))
    block = looping(body, [Carried()])
    same(run(block, i64(4), f32([1]), context=limited(bytes=64)), [np.ones(16, np.float32)])
    with pytest.raises(LimitExceeded, match="hold 128 bytes, over max_bytes=64") as caught:
        run(block, i64(100), f32([1]), context=limited(bytes=64))
    assert caught.value.iterations == (4,)


def test_a_bound_of_bytes_on_a_growing_stack_sequence_and_string():
    stack = looping(body_of("s", lambda b, s: (None, s, s)), [Carried()], stacks=[Stacked()])
    run(stack, i64(9), f32(1), context=limited(bytes=40))
    with pytest.raises(LimitExceeded, match="hold 44 bytes"):
        run(stack, i64(10), f32(1), context=limited(bytes=40))
    body = body_of("i s", lambda b, i, s: (None, b.leaf("SequenceInsert", 11, s, i)))
    sequence = looping(body, [Iteration(), Carried()])
    with pytest.raises(LimitExceeded, match="hold 48 bytes"):
        run(sequence, i64(99), [], context=limited(bytes=40))
    text = np.array("a", object)
    body = body_of("s", lambda b, s: (None, b.leaf("StringConcat", 20, s, s)))
    with pytest.raises(LimitExceeded, match="would have 128 bytes"):
        run(looping(body, [Carried()]), i64(99), text, context=limited(bytes=100))
    stack = looping(body_of("s", lambda b, s: (None, s, s)), [Carried()], stacks=[Stacked()])
    with pytest.raises(LimitExceeded, match="hold 108 bytes"):
        run(stack, i64(99), text, context=limited(bytes=100))


def test_memory_of_nested_loops_is_summed():
    def make(b, s):
        inner = body_of("t", lambda _, t: (None, t, t))
        last, all_ = b.loop(b.constant(i64(3), "three"), None, inner, [Carried()], [s], [Stacked()])
        return None, last, all_

    block = looping(body_of("s", make), [Carried()], stacks=[Stacked()])
    row, rows = f32(range(10)), 40
    # outer: its state and two stacked elements of three rows; inner: its state and three rows
    most = rows + 2 * 3 * rows + rows + 3 * rows
    context = limited(bytes=most)
    run(block, i64(3), row, context=context)
    assert context.held == 0
    with pytest.raises(LimitExceeded) as caught:
        run(block, i64(3), row, context=limited(bytes=most - 1))
    assert str(caught.value).startswith("main/loop_0.body/loop_0, iteration 2, iteration 2: ")


@dataclass
class Options:
    terminate: bool = False


@pytest.mark.parametrize("deep", [False, True])
def test_terminate_from_another_thread(deep):
    options = Options()
    at = []

    def stop():
        at.append(time.monotonic())
        options.terminate = True

    timer = threading.Timer(0.1, stop)
    timer.start()
    block = nested(3, trips=1) if deep else endless()
    inputs = [i64(10**9), i64(0)] if deep else [f32(1)]
    with pytest.raises(Terminated):
        run(block, *inputs, context=RunContext(options=options))
    assert time.monotonic() - at[0] < 0.2


def test_terminate_between_steps_of_a_straight_line():
    b = BlockBuilder()
    x = b.param("x")
    options = Options()

    def listen(event):
        options.terminate = options.terminate or event.name == "b"

    y = b.leaf("Neg", 13, b.leaf("Neg", 13, b.leaf("Neg", 13, x, result="a"), result="b"))
    with pytest.raises(Terminated) as caught:
        run(b.build(y), f32(1), context=RunContext(listen, options=options))
    assert caught.value.path == "main/neg_2"


SCRIPT = """
import sys, time
sys.path[:0] = {path!r}
from tests.execution.test_running import endless, f32, run
print("ready", flush=True)
try:
    run(endless(), f32(1))
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_ctrl_c_stops_a_loop():
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(path=sys.path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        assert time.monotonic() - sent < 0.2
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def test_many_threads_at_once():
    def make(b, i, c, s):
        return below(b, i, 40), add(b, s, i), s

    block = looping(body_of("i c s", make), [*COUNTED, Carried()], stacks=[Stacked()])
    program = prepare(interp_only(block))
    failures = []

    def work(first):
        sums = first + np.concatenate([[0], np.cumsum(np.arange(41))]).astype(np.int64)
        for _ in range(5):
            found = program([i64(99), i64(first)], RunContext())
            if found[0] != sums[41] or not np.array_equal(found[1], sums[:41]):
                failures.append(found)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("trips", [1, 0])
def test_sixty_loops_deep(trips):
    same(run(nested(60, trips), i64(trips), i64(0)), [i64(trips)])


def test_deeper_than_python_goes(monkeypatch):
    program = prepare(interp_only(nested(60, 1)))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(150)
    try:
        with pytest.raises(RunError, match="nested deeper"):
            program([i64(1), i64(0)], RunContext())
    finally:
        sys.setrecursionlimit(limit)


def test_an_allocation_beyond_memory_is_an_error():
    def make(b, s):
        shape = b.constant(i64([2**40, 2**10]), "shape")
        return None, b.leaf("Expand", 13, s, shape), s

    block = looping(body_of("s", make), [Carried()])
    with pytest.raises(RunError, match=r"Expand-13|memory"):
        run(block, i64(1), f32(1))


def test_a_stack_larger_than_memory(monkeypatch):
    def stack(*_):
        raise MemoryError

    monkeypatch.setattr(np, "stack", stack)
    block = looping(body_of("s", lambda _, s: (None, s, s)), [Carried()], stacks=[Stacked()])
    with pytest.raises(RunError, match="is too large: 3 elements do not fit"):
        run(block, i64(3), f32(1))


def test_warnings_of_numpy_are_not_heard():
    b = BlockBuilder()
    x = b.param("x", tensor("float32"))
    same(
        prepare(interp_only(b.build(b.leaf("Log", 13, x), b.leaf("Div", 14, x, x))))(
            [f32(0)], RunContext()
        ),
        [f32(-np.inf), f32(np.nan)],
    )
