"""Regions run by their engine as a whole, or by interp if the engine refuses them."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.interp.blocks import TRIPS, add, body_of, f32, i64, looping, run, same
from treadle.errors import LimitExceeded, RunError
from treadle.execution import prepare
from treadle.ir import BlockBuilder, Carried, Leaf, Model
from treadle.plan import (
    EngineTraits,
    FallbackRequired,
    Pending,
    RunContext,
    RunnableTraits,
    Verdict,
    interp_only,
    plan,
)
from treadle.tracing import ValueMade


@dataclass
class Ready:
    """A Runnable that gives what `act` says."""

    act: object
    traits: RunnableTraits = field(default_factory=RunnableTraits)

    def __call__(self, inputs, context):
        return self.act(*inputs)


@dataclass
class Engine:
    """Takes every Add and gives what `act` says; counts its calls."""

    act: object
    name: str = "other"
    calls: list = field(default_factory=list)
    traits: EngineTraits = field(default_factory=EngineTraits)

    def judge(self, step, model, *, inside):
        return Verdict(isinstance(step, Leaf) and step.op in ("Add", "Wibble"), "for the test")

    def prepare(self, region, model):
        def act(*inputs):
            self.calls.append(inputs)
            return self.act(*inputs)

        return Ready(act)


def more(value):
    return [np.asarray(value + 1)]


def planned(block, engine):
    return prepare(plan(Model(block), [engine]))


def many_adds():
    """main(x) = -(x doubled 9 times): as many steps of another engine as are worth a call."""
    b = BlockBuilder()
    y = b.param("x")
    for _ in range(9):
        y = add(b, y, y)
    return b.build(b.leaf("Neg", 13, y))


def refusing(message="it will not"):
    def act(*_):
        raise FallbackRequired(RunError(message, "main"))

    return act


def test_a_region_is_called_whole():
    engine = Engine(more)
    same(planned(many_adds(), engine)([f32(1)], RunContext()), [f32(-2)])
    assert len(engine.calls) == 1


def test_a_refused_region_is_interpreted_every_time():
    engine = Engine(refusing())
    program = planned(many_adds(), engine)
    for _ in range(2):
        same(program([f32(1)], RunContext()), [f32(-512)])
    assert len(engine.calls) == 2


def test_a_fallback_that_fails_names_path_and_iteration():
    b = BlockBuilder()
    x, y = b.param("x"), b.param("y")
    z = x
    for _ in range(9):
        z = add(b, z, y)
    engine = Engine(refusing())
    with pytest.raises(RunError, match=r"main/add_\d: Add-14\(float32\[2\], float32\[3\]\)"):
        planned(b.build(z), engine)([f32(1, 2), f32(1, 2, 3)], RunContext())


def test_without_a_fallback_the_engines_error_is_raised():
    b = BlockBuilder()
    y = b.param("x")
    for _ in range(9):
        y = b.leaf("Wibble", 1, y, domain="somewhere")
    program = planned(b.build(y), Engine(refusing("wibbling failed")))
    with pytest.raises(RunError, match="main: wibbling failed"):
        program([f32(1)], RunContext())


def loop_of_adds():
    def make(b, s):
        for _ in range(9):
            s = add(b, s, s)
        return None, s

    return looping(body_of("s", make), [Carried()])


@pytest.mark.parametrize("trips", TRIPS)
def test_a_region_in_a_body(trips):
    engine = Engine(more)
    same(planned(loop_of_adds(), engine)([i64(trips), f32(1)], RunContext()), [f32(1 + trips)])
    assert len(engine.calls) == trips


@pytest.mark.parametrize("kind", [RunError, LimitExceeded])
def test_an_error_of_a_region_gets_the_iterations_around_it(kind):
    def act(s):
        if s > 2:
            raise kind("enough", "main/somewhere")
        return more(s)

    with pytest.raises(kind) as caught:
        planned(loop_of_adds(), Engine(act))([i64(5), f32(1)], RunContext())
    assert type(caught.value) is kind
    assert str(caught.value) == "main/somewhere, iteration 2: enough"


def test_a_listener_receives_results_of_a_region():
    heard = []

    def listen(event):
        if isinstance(event, ValueMade) and event.step:
            heard.append((event.name, event.step))

    planned(many_adds(), Engine(more))([f32(1)], RunContext(listen))
    assert heard == [("add_8", "main/add_8"), ("neg", "main/neg_9")]


def test_the_plan_of_one_block():
    same(run(many_adds(), f32(1)), [f32(-512)])
    assert all(region.engine == "interp" for region in interp_only(many_adds()).regions)


@dataclass
class OwnEngine(Engine):
    """Its runnables own what they give."""

    def judge(self, step, model, *, inside):
        return Verdict(True, "for the test")

    def prepare(self, region, model):
        return Ready(self.act, RunnableTraits(returns_fresh_arrays=True))


def passed_on():
    """main(x) = x doubled 9 times, and x itself."""
    b = BlockBuilder()
    x = y = b.param("x")
    for _ in range(9):
        y = add(b, y, y)
    return b.build(y, b.leaf("Identity", 14, x))


def test_fresh_arrays_of_an_engine_are_not_copied():
    given = [np.ones(2, np.float32), np.ones(2, np.float32)]
    given[1].flags.writeable = False  # of other engines it would be copied
    program = planned(passed_on(), OwnEngine(lambda x: given))
    found = program([np.ones(2, np.float32)], RunContext())
    assert all(one is other for one, other in zip(found, given, strict=True))
    assert found is not given


def test_an_engine_is_called_by_name_where_it_can_be():
    def by_name(names):
        return lambda feed: [np.asarray(feed[name] + 1) for name in names]

    @dataclass
    class Named(OwnEngine):
        def prepare(self, region, model):
            return Ready(self.act, RunnableTraits(returns_fresh_arrays=True, by_name=by_name))

    b = BlockBuilder()
    x = b.param("x")
    block = b.build(add(b, x, x))
    same(planned(block, Named(more)).direct({"x": f32(1)}), [f32(2)])
    assert planned(block, OwnEngine(more)).direct is None


def test_results_of_a_fallback_are_copied():
    program = planned(passed_on(), OwnEngine(refusing()))
    x = np.ones(2, np.float32)
    _, same_x = program([x], RunContext())
    assert not np.shares_memory(x, same_x)


def test_one_result_asked_for_twice_is_two_arrays():
    b = BlockBuilder()
    y = b.param("x")
    for _ in range(9):
        y = add(b, y, y)
    program = planned(b.build(y, y), OwnEngine(more))
    first, second = program([np.ones(2, np.float32)], RunContext())
    assert not np.shares_memory(first, second)


@dataclass(eq=False)
class Code(Pending):
    """Code that is never there."""

    is_over: bool = False
    was_met: bool = False
    starts: int = 0

    def start(self, before=None):
        self.starts += 1


def test_code_that_a_loop_meets_in_each_iteration_is_told_once():
    code = Code()
    runs = planned(many_adds(), Engine(lambda x: code))
    context = RunContext()
    for _ in range(3):
        (y,) = runs([np.float32([1, 2])], context)
        assert y.tolist() == [-512, -1024]
    assert context.pending == [code]
    assert code.starts == 2
