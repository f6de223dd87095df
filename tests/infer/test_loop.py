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


def test_a_carried_value_that_keeps_its_shape_keeps_it_known():
    found = typed("""g (int64 M, float[2,N] s0) => (s, ys) {
        s, ys = Loop <body = b (int64 i, bool c, a) => (c, d, e) { d = Relu(a) e = Exp(d) }>
            (M, "", s0) }""")
    assert found["s"] == "float32[2,N]"
    assert found["main/loop_0.body a"] == "float32[2,N]"
    assert found["ys"] == "float32[main/loop_0.trips,2,N]"


def test_only_the_dim_that_grows_is_widened():
    found = typed("""g (int64 M, float[1,3] s0) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Concat<axis=0>(a, a) }>
            (M, "", s0) }""")
    assert found["main/loop_0.body a"] == "float32[main/loop_0:a.0,3]"
    assert found["main/loop_0.body d"] == "float32[2*main/loop_0:a.0,3]"
    assert found["s"] == "float32[1..,3]"


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


def test_a_growing_value_has_its_step_in_the_body():
    found = typed("""g (int64 M, float[1] s0, float[2] x) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Concat<axis=0>(a, x) }>
            (M, "", s0) }""")
    assert found["main/loop_0.body a"] == "float32[2*main/loop_0.iteration+1]"
    assert found["main/loop_0.body d"] == "float32[2*main/loop_0.iteration+3]"


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


def test_two_extents_that_change_are_not_taken_for_the_same():
    found = typed("""g (int64 M, float[1] x, float[2] y) => (s, t) {
        s, t = Loop <body = b (int64 i, bool c, a, b) => (c, d, e) {
            d = Concat<axis=0>(a, a) e = Concat<axis=0>(b, b) f = Add(a, b) }> (M, "", x, y) }""")
    assert found["main/loop_0.body f"] == "float32[?]"


def test_the_extent_of_an_iteration_is_not_that_of_another():
    found = typed("""g (int64 M, float[9] x) => (s) {
        q = SequenceEmpty() zero = Constant<value_ints=[0]>()
        s = Loop <body = b (int64 i, bool c, r) => (c, s2) {
            n = Unsqueeze(i, zero) y = ConstantOfShape(n) s2 = SequenceInsert(r, y) }>
            (M, "", q) }""")
    assert found["main/loop_2.body y"] == "float32[main/loop_2.iteration]"
    assert found["main/loop_2.body r"] == found["s"] == "seq(float32[?])"


def test_an_empty_sequence_says_nothing_of_its_elements():
    found = typed("""g (float[2] x) => (s, y) {
        M = Constant<value_int=3>() q = SequenceEmpty()
        s = Loop <body = b (int64 i, bool c, r) => (e, s2) {
            e = Identity(c) z = Relu(x) s2 = SequenceInsert(r, z) }> (M, "", q)
        y = ConcatFromSequence<axis=0, new_axis=1>(s) k = ConcatFromSequence<axis=0>(s) }""")
    assert found["main/loop_2.body r"] == found["s"] == "seq(float32[2])"
    assert (found["y"], found["k"]) == ("float32[3,2]", "float32[6]")


def test_a_rank_that_changes_is_unknown():
    found = typed("""g (int64 M, float[1] s0) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (c, d) {
            k = Constant<value_ints=[0]>() d = Unsqueeze(a, k) }> (M, "", s0) }""")
    assert found["s"] == "float32[*]"


def test_a_declared_shape_of_a_carried_value_is_not_believed():
    found = typed("""g (int64 M, float[1] s0) => (s) {
        s = Loop <body = b (int64 i, bool c, float[1] a) => (c, float[1] d) {
            d = Concat<axis=0>(a, a) }> (M, "", s0) }""")
    assert found["main/loop_0.body d"] == "float32[2*main/loop_0:a.0]"
    assert found["s"] == "float32[1..]"


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


def test_a_trip_count_that_is_an_extent_is_the_length_of_the_stacks():
    found = typed("""g (float[T,4] x) => (ys) {
        shape = Shape<start=0, end=1>(x) zero = Constant<value_int=0>()
        M = Gather(shape, zero)
        ys = Loop <body = b (int64 i, bool c) => (c, d) { d = Gather(x, i) }> (M, "") }""")
    assert found["ys"] == "float32[T,4]"


@pytest.mark.parametrize("condition", ["C", '""'])
def test_a_loop_that_may_stop_early_has_stacks_of_a_length_of_their_own(condition):
    found = typed(f"""g (bool C, float s0) => (ys, zs) {{
        M = Constant<value_int=5>()
        s, ys, zs = Loop <body = b (int64 i, bool c, a) => (e, d, d, i) {{
            d = Relu(a) k = Constant<value_int=3>() e = Less(i, k) }}> (M, {condition}, s0) }}""")
    assert found["ys"] == "float32[main/loop_1.trips]"
    assert found["zs"] == "int64[main/loop_1.trips]"


def test_after_one_iteration_at_least_the_initial_shape_is_gone():
    found = typed("""g (float[1] s0, float[7] x) => (s) {
        M = Constant<value_int=2>()
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Relu(x) }> (M, "", s0) }""")
    assert found["s"] == "float32[7]"


def test_after_no_iteration_it_is_all_there_is():
    found = typed("""g (float[1] s0, float[7] x) => (s) {
        M = Constant<value_int=0>()
        s = Loop <body = b (int64 i, bool c, a) => (c, d) { d = Relu(x) }> (M, "", s0) }""")
    assert found["s"] == "float32[1]"


def test_a_counter_counts_the_iterations():
    found = typed("""g (int64 M, float[9] x) => (ys) {
        zero = Constant<value_ints=[0]>() one = Constant<value_ints=[1]>()
        n, ys = Loop <body = b (int64 i, bool c, n) => (c, m, y) {
            m = Add(n, one) y = Expand(x, n) z = ConstantOfShape(n) }> (M, "", zero) }""")
    assert found["main/loop_2.body z"] == "float32[main/loop_2.iteration]"


def test_sequences_and_optionals_are_carried():
    found = typed("""g (int64 M, float[2] x) => (s, o) {
        s0 = SequenceConstruct(x) o0 = Optional(x)
        s, o = Loop <body = b (int64 i, bool c, q, p) => (c, r, p2) {
            y = Concat<axis=0>(x, x) r = SequenceInsert(q, y) p2 = Identity(p) }> (M, "", s0, o0)
        }""")
    assert found["s"] == "seq(float32[?])"
    assert found["o"] == "optional(float32[2])"


@pytest.mark.parametrize(("declared", "rank"), [("bool", "[]"), ("bool[1]", "[1]"), ("", "[]")])
@pytest.mark.parametrize("outer", ["bool", "bool[1]"])
def test_a_body_sees_a_scalar_condition_unless_it_declares_one_element(outer, declared, rank):
    found = typed(f"""g (int64 M, {outer} C) => (ys) {{
        ys = Loop <body = b (int64 i, {declared} c) => (d, e) {{
            d = Identity(c) e = Cast<to=1>(c) }}> (M, C) }}""")
    assert found["main/loop_0.body c"] == f"bool{rank}"


def test_scan_takes_its_length_from_what_it_scans():
    found = typed("""g (float[4] s0, float[T,4] x, float[4,7] z) => (s, ys, zs) {
        s, ys, zs = Scan <num_scan_inputs=2, scan_input_axes=[0,1], scan_output_axes=[1,-1],
            body = b (a, p, q) => (d, p, q) { d = Add(a, p) }> (s0, x, z) }""")
    assert found["main/scan_0.body p"] == found["main/scan_0.body q"] == "float32[4]"
    assert (found["s"], found["ys"], found["zs"]) == (
        "float32[4]", "float32[4,7]", "float32[4,7]",
    )  # fmt: skip


def test_a_scan_state_has_the_shape_of_its_first_or_its_next_value():
    found = typed("""g (float[?] s0, float[T] x, float[4] k) => (s) {
        s = Scan <num_scan_inputs=1, body = b (a, p) => (d) { d = Mul(k, p) }> (s0, x) }""")
    assert found["s"] == "float32[4]"


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


def test_twenty_thousand_nodes_take_no_longer_than_a_second_and_a_half():
    model = nested(6, 3333)
    start = time.process_time()
    infer(model)
    assert time.process_time() - start < 1.5
