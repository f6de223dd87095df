"""Loops: carried types that stay, that are widened, lengths of stacks, the number of inferences."""

import time

import pytest

from tests.infer.models import read, typed
from treadle.infer import infer
from treadle.ir import (
    BlockBuilder,
    Carried,
    Condition,
    Iteration,
    Model,
    attribute,
    show_model,
    tensor,
)

LOOPS = {
    "a carried value that keeps its shape keeps it known": (
        """g (int64 M, float[2,N] s0) => (s, ys) {
        s, ys = Loop <body = b (int64 i, bool c, a) => (c, d, e) { d = Relu(a) e = Exp(d) }>
            (M, "", s0) }""", {"s": "float32[2,N]", "main/loop_0.body a": "float32[2,N]",
         "ys": "float32[main/loop_0.trips,2,N]"}),
    "only the dim that grows is widened": ("""g (int64 M, float[1,3] s0) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Concat<axis=0>(a, a) }>
            (M, "", s0) }""", {"main/loop_0.body a": "float32[main/loop_0:a.0,3]",
         "main/loop_0.body d": "float32[2*main/loop_0:a.0,3]", "s": "float32[1..,3]"}),
    "a growing value has its step in the body": ("""g (int64 M, float[1] s0, float[2] x) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Concat<axis=0>(a, x) }>
            (M, "", s0) }""", {"main/loop_0.body a": "float32[2*main/loop_0.iteration+1]",
         "main/loop_0.body d": "float32[2*main/loop_0.iteration+3]"}),
    "two extents that change are not taken for the same": (
        """g (int64 M, float[1] x, float[2] y) => (s, t) {
        s, t = Loop <body = b (int64 i, bool c, a, b) => (c, d, e) {
            d = Concat<axis=0>(a, a) e = Concat<axis=0>(b, b) f = Add(a, b) }> (M, "", x, y) }""",
         {"main/loop_0.body f": "float32[?]"}),
    "the extent of an iteration is not that of another": ("""g (int64 M, float[9] x) => (s) {
        q = SequenceEmpty() zero = Constant<value_ints=[0]>()
        s = Loop <body = b (int64 i, bool c, r) => (c, s2) {
            n = Unsqueeze(i, zero) y = ConstantOfShape(n) s2 = SequenceInsert(r, y) }>
            (M, "", q) }""", {"main/loop_2.body y": "float32[main/loop_2.iteration]",
         "main/loop_2.body r": "seq(float32[?])", "s": "seq(float32[?])"}),
    "an empty sequence says nothing of its elements": ("""g (float[2] x) => (s, y) {
        M = Constant<value_int=3>() q = SequenceEmpty()
        s = Loop <body = b (int64 i, bool c, r) => (e, s2) {
            e = Identity(c) z = Relu(x) s2 = SequenceInsert(r, z) }> (M, "", q)
        y = ConcatFromSequence<axis=0, new_axis=1>(s) k = ConcatFromSequence<axis=0>(s) }""",
         {"main/loop_2.body r": "seq(float32[2])", "s": "seq(float32[2])", "y": "float32[3,2]",
         "k": "float32[6]"}),
    "a rank that changes is unknown": ("""g (int64 M, float[1] s0) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, d) {
            k = Constant<value_ints=[0]>() d = Unsqueeze(a, k) }> (M, "", s0) }""",
         {"s": "float32[*]"}),
    "a declared shape of a carried value is not believed": ("""g (int64 M, float[1] s0) => (s) {
        s = Loop <body = b (int64 i, bool c, float[1] a) => (c, float[1] d) {
            d = Concat<axis=0>(a, a) }> (M, "", s0) }""",
         {"main/loop_0.body d": "float32[2*main/loop_0:a.0]", "s": "float32[1..]"}),
    "a trip count that is an extent is the length of the stacks": ("""g (float[T,4] x) => (ys) {
        shape = Shape<start=0, end=1>(x) zero = Constant<value_int=0>()
        M = Gather(shape, zero)
        ys = Loop <body = b (int64 i, bool c) => (c, d) { d = Gather(x, i) }> (M, "") }""",
         {"ys": "float32[T,4]"}),
    "after one iteration at least the initial shape is gone": (
        """g (float[1] s0, float[7] x) => (s) {
        M = Constant<value_int=2>()
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Relu(x) }> (M, "", s0) }""",
         {"s": "float32[7]"}),
    "after no iteration it is all there is": ("""g (float[1] s0, float[7] x) => (s) {
        M = Constant<value_int=0>()
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Relu(x) }> (M, "", s0) }""",
         {"s": "float32[1]"}),
    "a counter counts the iterations": ("""g (int64 M, float[9] x) => (ys) {
        zero = Constant<value_ints=[0]>() one = Constant<value_ints=[1]>()
        n, ys = Loop <body = b (int64 i, bool c, n) => (c, m, y) {
            m = Add(n, one) y = Expand(x, n) z = ConstantOfShape(n) }> (M, "", zero) }""",
         {"main/loop_2.body z": "float32[main/loop_2.iteration]"}),
    "sequences and optionals are carried": ("""g (int64 M, float[2] x) => (s, o) {
        s0 = SequenceConstruct(x) o0 = Optional(x)
        s, o = Loop <body = b (int64 i, bool c, q, p) => (c, r, p2) {
            y = Concat<axis=0>(x, x) r = SequenceInsert(q, y) p2 = Identity(p) }> (M, "", s0, o0)
        }""", {"s": "seq(float32[?])", "o": "optional(float32[2])"}),
    "scan takes its length from what it scans": (
        """g (float[4] s0, float[T,4] x, float[4,7] z) => (s, ys, zs) {
        s, ys, zs = Scan <num_scan_inputs=2, scan_input_axes=[0,1], scan_output_axes=[1,-1],
            body = b (a, p, q) => (d, p, q) { d = Add(a, p) }> (s0, x, z) }""",
         {"main/scan_0.body p": "float32[4]", "main/scan_0.body q": "float32[4]",
         "s": "float32[4]", "ys": "float32[4,7]", "zs": "float32[4,7]"}),
    "a scan state has the shape of its first or its next value": (
        """g (float[?] s0, float[T] x, float[4] k) => (s) {
        s = Scan <num_scan_inputs=1, body = b (a, p) => (d) { d = Mul(k, p) }> (s0, x) }""",
         {"s": "float32[4]"}),
}  # fmt: skip
"""The text of a model, and the types that values must have."""


@pytest.mark.parametrize("case", LOOPS)
def test_types_of_loops(case):
    text, wanted = LOOPS[case]
    found = typed(text)
    assert {name: found[name] for name in wanted} == wanted


GROWING = [
    ("Concat<axis=0>(a, a)", "1", "float32[1..]"),
    ("Concat<axis=0>(a, x)", "1", "float32[7*main/loop_0.trips+1]"),
    ("Concat<axis=0>(a, x)", "N", "float32[N+7*main/loop_0.trips]"),
    ("Concat<axis=0>(a, t)", "1", "float32[T*main/loop_0.trips+1]"),
    ("Relu(x)", "1", "float32[?]"),
    ("Relu(t)", "T", "float32[T]"),
    ("Relu(a)", "?", "float32[?]"),
]


@pytest.mark.parametrize(("body", "start", "end"), GROWING)
def test_growth_by_a_constant_step_is_known_from_the_trip_count(body, start, end):
    found = typed(f"""g (int64 M, float[{start}] s0, float[7] x, float[T] t) => (s) {{
        s = Loop <body = b (int64 i, bool c, a) => (c, d) {{ d = {body} }}> (M, "", s0) }}""")
    assert found["s"] == end


@pytest.mark.parametrize(("trips", "end"), [(0, 3), (1, 5), (4, 11)])
def test_growth_over_a_constant_trip_count_has_a_number(trips, end):
    found = typed(f"""g (float[3] s0, float[2] x) => (s, n) {{
        M = Constant<value_int={trips}>()
        s = Loop <body = b (int64 i, bool c, a) => (e, d) {{
            d = Concat<axis=0>(a, x) e = Identity(c) }}> (M, "", s0)
        n = Shape(s) }}""")
    assert found["s"] == f"float32[{end}]"


def test_growth_in_both_of_two_nested_loops_is_known():
    found = typed("""g (float[1] s0, float[2] x) => (s) {
        M = Constant<value_int=3>() K = Constant<value_int=5>()
        s = Loop <body = b (int64 i, bool c, a) => (e, d) { e = Identity(c)
            d = Loop <body = b2 (int64 j, bool c2, p) => (e2, q) {
                q = Concat<axis=0>(p, x) e2 = Identity(c2) }> (K, "", a) }> (M, "", s0) }""")
    inner = "main/loop_2.body/loop_1"
    assert found["main/loop_2.body a"] == "float32[10*main/loop_2.iteration+1]"
    assert found[f"{inner}.body p"] == (f"float32[2*{inner}.iteration+10*main/loop_2.iteration+1]")
    assert found["s"] == "float32[31]"


def test_carried_values_that_feed_each_other_are_widened_together():
    found = typed("""g (int64 M, float[1] x, float[2] y, float[2] z) => (a, b, d) {
        a, b, d = Loop <body = body (int64 i, bool c, p, q, r) => (c, q, r, p) {}>
            (M, "", x, y, z) }""")
    assert [found[name] for name in "abd"] == ["float32[?]"] * 3


@pytest.mark.parametrize(("trips", "length"), [(0, "0"), (1, "1"), (5, "5"), (-3, "0")])
def test_a_constant_trip_count_is_the_length_of_the_stacks(trips, length):
    found = typed(f"""g (float[2] s0) => (s, ys) {{
        M = Constant<value_int={trips}>()
        s, ys = Loop <body = b (int64 i, bool c, a) => (e, d, d) {{
            d = Relu(a) e = Identity(c) }}> (M, "", s0) }}""")
    assert found["ys"] == f"float32[{length},2]"
    assert found["s"] == "float32[2]"


@pytest.mark.parametrize("condition", ["C", '""'])
def test_a_loop_that_may_stop_early_has_stacks_of_a_length_of_their_own(condition):
    found = typed(f"""g (bool C, float s0) => (ys, zs) {{
        M = Constant<value_int=5>()
        s, ys, zs = Loop <body = b (int64 i, bool c, a) => (e, d, d, i) {{
            d = Relu(a) k = Constant<value_int=3>() e = Less(i, k) }}> (M, {condition}, s0) }}""")
    assert found["ys"] == "float32[main/loop_1.trips]"
    assert found["zs"] == "int64[main/loop_1.trips]"


@pytest.mark.parametrize(("declared", "rank"), [("bool", "[]"), ("bool[1]", "[1]"), ("", "[]")])
@pytest.mark.parametrize("outer", ["bool", "bool[1]"])
def test_a_body_sees_a_scalar_condition_unless_it_declares_one_element(outer, declared, rank):
    found = typed(f"""g (int64 M, {outer} C) => (ys) {{
        ys = Loop <body = b (int64 i, {declared} c) => (d, e) {{
            d = Identity(c) e = Cast<to=1>(c) }}> (M, C) }}""")
    assert found["main/loop_0.body c"] == f"bool{rank}"


def test_scan_8_has_a_batch_and_a_time_axis():
    found = typed(
        """g (float[B,5] s0, float[B,T,3] x) => (s, ys) {
        s, ys = Scan <num_scan_inputs=1, body = b (a, p) => (d, e) { d = Relu(a) e = Exp(p) }>
            ("", s0, x) }""",
        8,
    )
    assert found["main/scan_0.body p"] == "float32[3]"
    assert (found["s"], found["ys"]) == ("float32[B,5]", "float32[B,T,3]")


def test_nested_loops_show_all_their_types(golden):
    model = read("""g (int64 M, float[N,4] x) => (ys, last) {
        two = Constant<value_int=2>()
        last, ys = Loop <body = outer (int64 i, bool c, a) => (c1, a2, rows) {
            c1 = Identity(c)
            b = Relu(a)
            a2, rows = Loop <body = inner (int64 j, bool d, p) => (d1, q, r) {
                d1 = Identity(d)
                q = Add(p, b)
                axes = Constant<value_ints=[1]>()
                r = ReduceMean<keepdims=0>(q, axes)
            }> (two, "", b)
        }> (M, "", x) }""")
    golden("infer/nested_loops.txt", show_model(infer(model)))


def nested(depth, count):
    """A loop in a loop in a loop ..., each with `count` leaves and a carried value that grows."""

    def body(level):
        block = BlockBuilder("body")
        iteration, condition, value = (block.param(name) for name in ("i", "c", "s"))
        for position in range(count):
            value = block.leaf("Relu", 14, value, result=f"r{position}")
        value = block.leaf("Concat", 13, value, value, attributes={"axis": attribute("axis", 0)})
        if level:
            inner = body(level - 1)
            (value,) = block.loop(iteration, None, inner, ROLES, [value])
        return block.build(block.leaf("Identity", 16, condition), value)

    block = BlockBuilder("main")
    start = block.param("x", tensor("float32", 3, 8))
    trip = block.param("M", tensor("int64"))
    return Model(block.build(*block.loop(trip, None, body(depth - 1), ROLES, [start])))


ROLES = [Iteration(), Condition(), Carried()]


def leaves_seen(model, monkeypatch):
    from treadle.infer import block

    seen, rule = [], block.infer_leaf

    def counting(run, leaf, place):
        seen.append(leaf)
        return rule(run, leaf, place)

    with monkeypatch.context() as patched:
        patched.setattr(block, "infer_leaf", counting)
        infer(model)
    return len(seen)


def test_nesting_costs_a_factor_of_the_depth_at_most(monkeypatch):
    for depth in (1, 2, 4, 8, 12):
        assert leaves_seen(nested(depth, 10), monkeypatch) <= 3 * depth * 12


def test_a_wide_rotation_comes_to_an_end():
    count = 40
    block = BlockBuilder("body")
    block.param("i"), block.param("c")
    params = [block.param(f"p{k}") for k in range(count)]
    body = block.build(None, *params[1:], params[0])
    block = BlockBuilder("main")
    starts = [block.param(f"x{k}", tensor("float32", *[k] * (k % 5))) for k in range(count)]
    trip = block.param("M", tensor("int64"))
    roles = [Iteration(), Condition(), *[Carried()] * count]
    main = infer(Model(block.build(*block.loop(trip, None, body, roles, starts)))).main
    assert {str(value.inferred) for value in main.results} == {"float32[*]"}


def test_the_time_of_twenty_thousand_nodes_is_in_proportion_to_that_of_two_thousand():
    few, many = (inference_seconds(nested(6, count)) for count in (333, 3333))
    assert many < 25 * few


def inference_seconds(model):
    start = time.process_time()
    infer(model)
    return time.process_time() - start
