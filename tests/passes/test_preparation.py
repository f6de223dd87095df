"""Small passes: attributes, defaults, conditions, calls, and their order."""

import pytest

from tests.interp.blocks import TRIPS, f32, i64, same
from tests.passes.models import load, run
from treadle.errors import LimitExceeded
from treadle.execution import prepare as prepare_run
from treadle.formats import schema_function
from treadle.infer import infer
from treadle.ir import (
    Attribute,
    BlockBuilder,
    Call,
    Function,
    FunctionId,
    Kind,
    Loop,
    Reference,
    attribute,
    walk,
)
from treadle.passes import (
    bind_attributes,
    expand_functions,
    ignore_omitted_condition,
    prepare,
    resolve_default_inputs,
)
from treadle.plan import Limits, RunContext, plan

DEFAULTS = """g (float x, float k) => (float y) <float k = {10.0}> { y = Add (x, k) }"""
COUNTED = """g (int64 n, float s0, float limit) => (float s, float[m] all) {
    s, all = Loop (n, COND, s0) <body = b (int64 i, bool c, v) => (bool go, w, x) {
        w = Add (v, v) x = Identity (w) go = Less (w, limit) }>
}"""
MAPPED = """g (seq(float[n]) xs, float k) => (seq(float[m]) ys) {
    ys = SequenceMap <body = b (float[n] x) => (float[m] y) { y = Mul (x, k) }> (xs)
}"""


def function(**defaults):
    b = BlockBuilder()
    x = b.param("x")
    alpha = Attribute("alpha", Kind.FLOAT, Reference("slope"))
    y = b.leaf("Elu", 6, x, attributes={"alpha": alpha})
    return Function(FunctionId("local", "f"), b.build(y), ("slope",), defaults)


@pytest.mark.parametrize(
    ("defaults", "given", "value"),
    [
        ({}, {}, None),
        ({"slope": attribute("slope", 2.0)}, {}, 2.0),
        ({"slope": attribute("slope", 2.0)}, {"slope": attribute("slope", 3.0)}, 3.0),
        ({}, {"other": attribute("other", 3.0)}, None),
    ],
)
def test_an_attribute_reference_is_the_calls_value_the_default_or_absent(defaults, given, value):
    (step,) = bind_attributes(function(**defaults), given).steps
    assert {name: a.value for name, a in step.attributes.items()} == (
        {} if value is None else {"alpha": value}
    )
    assert all(a.name == name for name, a in step.attributes.items())


def test_a_block_without_references_is_returned_unchanged():
    bound = Function(FunctionId("local", "f"), bind_attributes(function(), {}))
    assert bind_attributes(bound, {}) is bound.block


@pytest.mark.parametrize(
    ("fed", "params", "inputs", "wanted"),
    [((), ["x"], [f32(1)], f32(11)), (["k"], ["x", "k"], [f32(1), f32(2)], f32(3)),
     (["x"], ["x"], [f32(1)], f32(11))],
)  # fmt: skip
def test_a_default_is_a_constant_unless_it_is_fed(fed, params, inputs, wanted):
    model = resolve_default_inputs(load(DEFAULTS), fed)
    assert [value.name for value in model.main.params] == params
    same(run(model, *inputs), [wanted])


def test_a_model_without_defaults_is_returned_unchanged():
    model = load(COUNTED.replace("COND", '""'))
    assert resolve_default_inputs(model) is model


@pytest.mark.parametrize("trips", TRIPS)
def test_an_omitted_condition_is_ignored_on_demand(trips):
    text = COUNTED.replace("COND", '""')
    stopped, literal = load(text), ignore_omitted_condition(load(text))
    early = min(trips, 2)
    for model, n in ((stopped, early), (literal, trips)):
        sums = f32([2.0 ** (k + 1) for k in range(n)])
        same(run(model, i64(trips), f32(1), f32(4)), [f32(2.0**n), sums])


def test_a_condition_that_is_given_stays():
    text = COUNTED.replace("COND", "go").replace("float limit)", "float limit, bool go)")
    model = ignore_omitted_condition(load(text))
    (loop,) = (visit.step for visit in walk(model) if isinstance(visit.step, Loop))
    assert loop.body.results[0] is not None


def test_a_loop_without_trip_count_and_condition_never_ends():
    text = COUNTED.replace("COND", '""').replace("(n, ", '("", ')
    model = infer(ignore_omitted_condition(load(text)))
    context = RunContext(limits=Limits(iterations=100))
    with pytest.raises(LimitExceeded):
        prepare_run(plan(model, []))([i64(0), f32(1), f32(4)], context)


def expander(model):
    return lambda step, types: schema_function(step, types, model.opsets)


def test_a_call_of_known_types_becomes_its_definition():
    model = load(MAPPED)
    made = expand_functions(model, expander(model))
    assert not any(isinstance(visit.step, Call) for visit in walk(made))
    assert all(visit.path.startswith("main/sequencemap_0/") for visit in walk(made))
    same(run(made, [f32(1, 2), f32([3])], f32(10)), [[f32(10, 20), f32([30])]])
    same(run(made, [], f32(10)), [[]])


def test_a_call_of_unknown_types_is_left_for_the_run():
    text = """g (float k, float[2] x) => (seq(float[m]) ys) {
        xs = local.unknown (x)
        ys = SequenceMap <body = b (x_in) => (y) { y = Mul (x_in, k) }> (xs) }
        <domain: "local", opset_import: ["" : 21]>
        unknown (a) => (b) { b = SequenceConstruct (a, a) }"""
    model = load(text, imports=', "local" : 1')
    left = expand_functions(model, lambda *_: None)
    assert sum(isinstance(visit.step, Call) for visit in walk(left)) == 2
    same(run(prepare(model), f32(2), f32(1, 2)), [[f32(2, 4), f32(2, 4)]])


def test_small_passes_run_in_order():
    """A SequenceMap in a function, with a default, beside a Loop without a condition."""
    text = """g (seq(float) xs, int64 n, float k) => (seq(float) ys, float s)
        <float k = {10.0}> {
        ys = local.scaled (xs, k)
        s = Loop (n, "", k) <body = b (int64 i, bool c, v) => (bool never, w) {
            w = Add (v, v) never = Constant <value = bool {0}> () }>
        }
        <domain: "local", opset_import: ["" : 21]>
        scaled (a, factor) => (b) {
            b = SequenceMap <body = d (x) => (y) { y = Mul (x, factor) }> (a) }"""
    model = load(text, imports=', "local" : 1')
    for ignored, last in (("stop", 20), ("ignore", 80)):
        made = prepare(model, expand=expander(model), omitted_condition=ignored)
        assert made.functions == {}
        same(run(made, [f32(1), f32(2)], i64(3)), [[f32(10), f32(20)], f32(last)])


def test_a_prepared_model_is_returned_unchanged():
    model = load("g (float x) => (float y) { y = Neg (x) }")
    assert prepare(model, expand=expander(model)) is model
