"""The plan: the engine of each step, maximal regions, a valid order, and reasons."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from treadle.errors import Unsupported
from treadle.ir import (
    Block,
    BlockBuilder,
    Carried,
    Condition,
    Constant,
    Invariant,
    Iteration,
    Leaf,
    Literal,
    Model,
    bodies,
    reads,
    tensor,
)
from treadle.plan import INTERP, EngineTraits, Verdict, interp_only, plan, region_growing


@dataclass
class Takes:
    """An engine that takes leaves of these operators, and refuses to prepare some."""

    ops: frozenset[str]
    name: str = "fast"
    takes_bodies: bool = False
    refused: frozenset[str] = frozenset()
    prepared: list[int] = field(default_factory=list)
    traits: EngineTraits = field(default_factory=EngineTraits)

    def judge(self, step, model, *, inside):
        if any(bodies(step)):
            taken = self.takes_bodies and not inside
            return Verdict(taken, f"{self.name} takes loops" if taken else f"{self.name}: a body")
        assert isinstance(step, Leaf)
        taken = step.op in self.ops
        return Verdict(taken, f"{self.name} has {step.op if taken else 'no ' + step.op}")

    def prepare(self, region, model):
        self.prepared.append(len(region.steps))
        bad = [s.op for s in region.steps if isinstance(s, Leaf) and s.op in self.refused]
        if bad:
            raise Unsupported(bad[0], None, f"{self.name} chokes on {bad[0]}")
        return lambda inputs, context: inputs


FAST = frozenset(("MatMul", "Gemm"))


def regions(model, *engines, **options):
    return plan(model, engines, **options).main.regions


def shown(model, *engines, **options):
    return [(r.engine, len(r.steps)) for r in regions(model, *engines, **options)]


def chain(*ops):
    block = BlockBuilder("main")
    value = block.param("x", tensor("float32", 2, 2))
    for op in ops:
        value = block.leaf(op, 1, value)
    return Model(block.build(value))


def assert_runs(block: Block, found) -> None:
    """Every step once, each region after what it reads, borders exact."""
    assert sorted(map(id, block.steps)) == sorted(id(s) for r in found for s in r.steps)
    there = {*block.params, *(c.value for c in block.constants)}
    for region in found:
        own = set()
        for step in region.steps:
            for value in reads(step):
                if value is not None:
                    assert value in there or value in own
                    known = {c.value for c in region.constants}
                    assert value in own or value in region.inputs or value in known
            own.update(v for v in step.results if v is not None)
        assert set(region.outputs) <= own
        there.update(region.outputs)
    assert {v for v in block.results if v is not None} <= there


def test_steps_of_one_engine_are_one_region():
    assert shown(chain("MatMul", "Gemm", "MatMul"), Takes(FAST)) == [("fast", 3)]


def test_a_main_block_of_one_small_step_is_still_one_region():
    assert shown(chain("Neg"), Takes(frozenset(("Neg",)))) == [("fast", 1)]


def test_no_engine_means_interp():
    assert shown(chain("MatMul")) == [(INTERP, 1)]


def test_interp_ends_the_list_of_those_asked():
    assert shown(chain("MatMul"), Takes(frozenset(), INTERP), Takes(FAST)) == [(INTERP, 1)]


def test_a_step_goes_to_the_first_engine_that_takes_it():
    model = chain("MatMul", "Gemm")
    first, second = Takes(frozenset(("Gemm",)), "first"), Takes(FAST, "second")
    assert shown(model, first, second) == [("second", 1), ("first", 1)]


def test_steps_move_past_those_they_do_not_depend_on():
    block = BlockBuilder("main")
    x, y = block.param("x", tensor("float32", 2, 2)), block.param("y", tensor("float32", 2, 2))
    for _ in range(3):
        x = block.leaf("MatMul", 1, x)
        y = block.leaf("Odd", 1, y)
    model = Model(block.build(x, y))
    assert sorted(shown(model, Takes(FAST))) == [("fast", 3), (INTERP, 3)]


def test_regions_around_another_engines_step_stay_acyclic():
    model = chain("MatMul", "Odd", "MatMul")
    found = regions(model, Takes(FAST))
    assert [r.engine for r in found] == ["fast", INTERP, "fast"]
    assert_runs(model.main, found)


@pytest.mark.parametrize("seed", range(30))
def test_random_blocks_run_in_order(seed):
    pick = random.Random(seed)
    block = BlockBuilder("main")
    values = [block.param("x", tensor("float32")), block.constant(np.ones(2))]
    for _ in range(40):
        op = pick.choice(("MatMul", "Gemm", "Odd", "Third"))
        values.append(block.leaf(op, 1, pick.choice(values), pick.choice(values)))
    model = Model(block.build(*pick.sample(values, 3)))
    third = Takes(frozenset(("Third",)), "third")
    found = regions(model, Takes(FAST), third)
    assert_runs(model.main, found)


def test_small_regions_between_others_are_left_to_interp():
    (region,) = regions(chain("Odd", "Neg", "Neg"), Takes(frozenset(("Neg",))))
    assert (region.engine, len(region.steps)) == (INTERP, 3)
    assert "2 small steps: numpy runs them faster than one call of fast" in region.reason


def test_four_small_steps_are_worth_a_call():
    model = chain("Odd", *["Neg"] * 4)
    assert shown(model, Takes(frozenset(("Neg",)))) == [(INTERP, 1), ("fast", 4)]


def test_a_refused_step_is_planned_alone():
    engine = Takes(FAST | {"Bad"}, refused=frozenset(("Bad",)))
    model = chain(*["MatMul"] * 10, "Bad", *["MatMul"] * 10)
    found = regions(model, engine)
    assert [(r.engine, len(r.steps)) for r in found] == [("fast", 10), (INTERP, 1), ("fast", 10)]
    assert found[1].reason == "fast chokes on Bad"
    assert_runs(model.main, found)


def test_reasons_name_every_refusal():
    (region,) = regions(chain("Odd"), Takes(FAST, "one"), Takes(FAST, "two"))
    assert region.reason == "one has no Odd; two has no Odd"


def looped(*, captured_constant: bool = False) -> Model:
    body = BlockBuilder("body")
    body.param("i", tensor("int64"))
    go = body.param("c", tensor("bool"))
    v, w = body.param("v", tensor("float32", 2, 2)), body.param("w", tensor("float32", 2, 2))
    block = BlockBuilder("main")
    trip, x = block.param("M", tensor("int64")), block.param("x", tensor("float32", 2, 2))
    weights = block.constant(np.eye(2, dtype=np.float32)) if captured_constant else x
    built = body.build(go, body.leaf("MatMul", 1, v, w))
    roles = (Iteration(), Condition(), Carried(), Invariant())
    y = block.leaf("MatMul", 1, x)
    (z,) = block.loop(trip, None, built, roles, (y, weights))
    return Model(block.build(block.leaf("MatMul", 1, z)))


def test_a_loop_taken_whole_is_in_one_region_with_the_leaves_around_it():
    assert shown(looped(), Takes(FAST, takes_bodies=True)) == [("fast", 3)]


def test_the_body_of_a_loop_that_no_engine_takes_is_planned():
    found = regions(looped(), Takes(FAST))
    assert [(r.engine, len(r.steps)) for r in found] == [("fast", 1), (INTERP, 1), ("fast", 1)]
    body = found[1].bodies["body"]
    assert body.path == "main/loop_1.body"
    assert [(r.engine, r.reason) for r in body.regions] == [("fast", "fast has MatMul")]


def test_inside_plans_the_body_of_every_loop():
    found = regions(looped(), Takes(FAST, takes_bodies=True), inside=True)
    assert [r.engine for r in found] == ["fast", INTERP, "fast"]


def test_outer_constants_are_known_inside_a_body():
    found = regions(looped(captured_constant=True), Takes(FAST))
    (inner,) = found[1].bodies["body"].regions
    assert [v.name for v in inner.inputs] == ["v"]
    (constant,) = inner.constants
    assert constant.value.name == "w"
    np.testing.assert_array_equal(constant.array, np.eye(2))


def test_an_input_with_a_default_is_fed():
    block = BlockBuilder("main")
    x = block.param("x", tensor("float32"))
    y = block.leaf("MatMul", 1, x)
    built = block.build(y)
    default = Constant(x, Literal.of(np.ones((), np.float32)))
    (region,) = regions(Model(replace(built, constants=(default,))), Takes(FAST))
    assert (region.inputs, region.constants) == ((x,), ())


def test_otherwise_plans_the_body_and_keeps_the_engine_for_leaves():
    model = looped()
    (region,) = regions(model, Takes(FAST, takes_bodies=True))
    instead = region.otherwise()
    assert instead is region.otherwise()
    assert [r.engine for r in instead.regions] == ["fast", INTERP, "fast"]
    assert_runs(region.block(), instead.regions)
    last = instead.regions[0].otherwise()
    assert [(r.engine, r.reason) for r in last.regions] == [
        (INTERP, "fast declined it on this data")
    ]


def test_without_engines_interp_runs_all_steps():
    found = interp_only(looped().main, reason="told so")
    assert [(r.engine, r.reason, len(r.steps)) for r in found.regions] == [
        (INTERP, "told so", 1)
    ] * 3
    assert found.regions[1].bodies["body"].regions[0].reason == "told so"


def negating_body():
    """The body of a loop that carries a 2 x 2 matrix and negates it."""
    body = BlockBuilder("body")
    body.param("i", tensor("int64"))
    go, v = body.param("c", tensor("bool")), body.param("v", tensor("float32", 2, 2))
    return body.build(go, body.leaf("Neg", 1, v))


def test_planning_is_linear():
    engine = Takes(FAST)
    shown(chain(*["MatMul"] * 3000), engine)
    assert engine.prepared == [3000]


@dataclass
class TakesBeside(Takes):
    """An engine of loops that takes leaves of its operators beside them."""

    takes_bodies: bool = True

    def judge(self, step, model, *, inside):
        if any(bodies(step)):
            return super().judge(step, model, inside=inside)
        return replace(super().judge(step, model, inside=inside), takes=False,
                       joins=lambda: step.op in self.ops)  # fmt: skip


def around_a_loop(*ops: str, aside: str = "", unread: str = "") -> Model:
    built = negating_body()
    block = BlockBuilder("main")
    trip, x = block.param("M", tensor("int64")), block.param("x", tensor("float32", 2, 2))
    others = [block.leaf(aside, 1, x)] if aside else []
    y = block.leaf(ops[0], 1, x)
    if unread:
        block.leaf(unread, 1, y)
    (z,) = block.loop(trip, None, built, (Iteration(), Condition(), Carried()), (y,))
    return Model(block.build(*(block.leaf(op, 1, z) for op in ops[1:]), *others))


def test_small_neighbours_of_a_loop_join_its_region():
    engine = TakesBeside(frozenset(("Neg",)))
    assert shown(around_a_loop("Neg", "Neg"), engine) == [("fast", 3)]
    assert shown(around_a_loop("Neg", "Odd"), engine) == [("fast", 2), (INTERP, 1)]
    assert shown(around_a_loop("Odd", "Neg"), engine) == [(INTERP, 1), ("fast", 2)]


def test_a_step_that_nothing_reads_does_not_keep_others_out():
    engine = TakesBeside(frozenset(("Neg",)))
    assert shown(around_a_loop("Neg", unread="Neg"), engine) == [("fast", 3)]
    assert dict(shown(around_a_loop("Neg", unread="Odd"), engine))["fast"] == 1


def test_the_number_of_steps_that_join_a_loop_is_bounded():
    engine, most = TakesBeside(frozenset(("Neg",))), region_growing._MOST
    full = shown(around_a_loop("Neg", *("Neg",) * (most - 1)), engine)
    assert full == [("fast", most + 1)]
    more = shown(around_a_loop("Neg", *("Neg",) * (most + 1)), engine)
    assert dict(more)["fast"] == most + 1


def test_steps_away_from_a_loop_do_not_join_it():
    engine = TakesBeside(frozenset(("Neg",)))
    assert shown(around_a_loop("Odd", "Odd", aside="Neg"), engine, inside=False) == [
        (INTERP, 2), ("fast", 1), (INTERP, 1)
    ]  # fmt: skip
    assert shown(chain("Neg", "Neg"), engine) == [(INTERP, 2)]


def beside_a_loop(*ops: str, shared: bool = False) -> Model:
    """`loop(x) + f(x)`: f are these operators; `shared`: the loop begins with f(x) too."""
    built = negating_body()
    block = BlockBuilder("main")
    trip, x = block.param("M", tensor("int64")), block.param("x", tensor("float32", 2, 2))
    aside = x
    for op in ops:
        aside = block.leaf(op, 1, aside)
    start = aside if shared else x
    (z,) = block.loop(trip, None, built, (Iteration(), Condition(), Carried()), (start,))
    return Model(block.build(block.leaf("Add", 1, z, aside)))


def test_what_is_added_to_a_loops_result_joins_with_the_sum():
    engine = TakesBeside(frozenset(("Neg", "Add")))
    for shared in (False, True):
        for count in (1, 2, 5):
            model = beside_a_loop(*("Neg",) * count, shared=shared)
            assert shown(model, engine) == [("fast", count + 2)]


def test_what_needs_a_step_that_joins_nothing_does_not_join_with_the_sum():
    engine = TakesBeside(frozenset(("Neg", "Add")))
    for ops in (("Odd",), ("Odd", "Neg"), ("Neg", "Odd"), ("Neg", "Odd", "Neg")):
        model = beside_a_loop(*ops)
        found = regions(model, engine)
        assert [len(region.steps) for region in found if region.engine == "fast"] == [1]
        assert_runs(model.main, found)


def test_what_joins_with_a_sum_is_bounded():
    engine, most = TakesBeside(frozenset(("Neg", "Add"))), region_growing._MOST
    assert shown(beside_a_loop(*("Neg",) * (most - 1)), engine) == [("fast", most + 1)]
    assert dict(shown(beside_a_loop(*("Neg",) * most), engine))["fast"] == 1


def test_a_refused_region_is_tried_without_the_joined_steps():
    engine = TakesBeside(frozenset(("Neg",)))
    (region,) = regions(around_a_loop("Neg", "Neg"), engine)
    instead = region.otherwise().regions
    assert [(r.engine, len(r.steps)) for r in instead] == [
        (INTERP, 1), ("fast", 1), (INTERP, 1)
    ]  # fmt: skip
    last = instead[1].otherwise().regions
    assert [r.engine for r in last] == [INTERP]


def test_a_step_that_must_run_before_others_does_not_join():
    """`first` is a result and joins nothing; what only `both` reads runs with it, after `first`."""
    built = negating_body()
    block = BlockBuilder("main")
    trip, x = block.param("M", tensor("int64")), block.param("x", tensor("float32", 2, 2))
    first = block.leaf("Neg", 1, x)
    both = block.leaf("Add", 1, block.leaf("MatMul", 1, block.leaf("MatMul", 1, x)), first)
    (z,) = block.loop(trip, None, built, (Iteration(), Condition(), Carried()), (both,))
    engine = TakesBeside(frozenset(("Neg", "Add", "MatMul")))
    assert shown(Model(block.build(first, z)), engine) == [(INTERP, 1), ("fast", 4)]


def test_what_joins_a_loop_waits_for_the_steps_before_the_loop():
    built = negating_body()
    block = BlockBuilder("main")
    trip, x = block.param("M", tensor("int64")), block.param("x", tensor("float32", 2, 2))
    late = block.leaf("Odd", 1, trip)
    small = block.leaf("Small", 1, x)
    (z,) = block.loop(late, None, built, (Iteration(), Condition(), Carried()), (small,))
    model = Model(block.build(z))
    found = regions(model, TakesBeside(frozenset(("Small",))))
    assert [(region.engine, len(region.steps)) for region in found] == [(INTERP, 1), ("fast", 2)]
    assert_runs(model.main, found)


def test_the_next_best_engine_takes_the_loops_too():
    def rivals(model, *others):
        engine = TakesBeside(frozenset(("Neg",)))
        return [r.next_best_engine for r in regions(model, engine, *others) if r.engine == "fast"]

    loop = around_a_loop("Neg", "Neg")
    leaves, whole = Takes(FAST, "leaves"), Takes(FAST, "whole", takes_bodies=True)
    assert rivals(loop) == [""]
    assert rivals(loop, leaves) == [""]
    assert rivals(loop, leaves, whole) == ["whole"]
    model = chain("MatMul", "MatMul", "MatMul")
    assert [r.next_best_engine for r in regions(model, Takes(FAST), whole)] == [""]
