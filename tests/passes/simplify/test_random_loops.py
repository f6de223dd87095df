"""Random loops that read items, append rows and fill tables have the same outputs simplified."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import event, given
from hypothesis import strategies as st

from tests.passes.simplify.models import ITS_ERRORS, load, run, run_by_onnxruntime, saved
from tests.seeded import seeded
from tests.values import assert_same
from treadle.errors import TreadleError
from treadle.passes import simplify
from treadle.passes.simplify import concat_to_stack, loop_to_scan, scatter_to_stack

NAMES = {concat_to_stack.NAME, scatter_to_stack.NAME, loop_to_scan.NAME}

HEAD = """g (int64 n, float[{extents}] x, float[2] s0, float[{length},2] t0, float[{grown}] a0)
    => (float[2] s, float[p,2] t, float[{after}] a, float[q,r] z) {{
    {constants}
    s, t, a, z = Loop ({trip}, "", s0, t0, a0) <body = b (int64 i, bool c, float[2] v,
        float[{length},2] table, float[{after}] list)
        => (bool d, float[2] v2, float[k,2] table2, float[{after}] list2, float[2] e) {{
        {lines}
        }}> }}"""


@st.composite
def programs(draw: Callable) -> tuple[str, dict[str, np.ndarray]]:
    """A loop and feeds for it; an index may lie outside."""
    rank, trips = draw(st.integers(1, 3)), draw(st.sampled_from([0, 1, 2, 3, 5]))
    axis = draw(st.integers(0, rank - 1))
    extents = [2] * rank
    extents[axis] = draw(st.integers(max(trips, 1), 6))
    length, along = draw(st.integers(1, 6)), draw(st.integers(0, 1))
    grown = [draw(st.sampled_from([0, 1, 3])), 2][:: 1 if along == 0 else -1]
    place = [draw(st.integers(0, 2)), draw(st.integers(-1, 2))]
    lines = [
        f"j = Sub (k{place[0] + trips}, i)" if draw(st.booleans()) else f"j = Add (i, k{place[0]})"
    ]
    if draw(st.booleans()):
        lines.append(f"item = Gather <axis = {axis}> (x, j)")
    else:
        lines += ["j0 = Unsqueeze (j, l0)", "j1 = Add (j0, l1)"]
        lines += [f"part = Slice (x, j0, j1, l{axis})", f"item = Squeeze (part, l{axis})"]
    lines += ["most = ReduceMax <keepdims = 0> (item)", "v1 = Add (v, most)", "v2 = Mul (v1, half)"]
    lines += ["e = Neg (v2)", "row = Unsqueeze (v2, l0)"]
    lines += [f"m = Add (i, k{place[1]})".replace("-", "_"), "at = Reshape (m, ones)"]
    lines.append("table2 = ScatterND (table, at, row)")
    lines.append(f"new = Unsqueeze (v2, l{along})")
    parts = ["list", "new"][:: draw(st.sampled_from([1, -1]))]
    lines.append(f"list2 = Concat <axis = {along}> ({', '.join(parts)})")
    go = draw(st.sampled_from(["Identity (c)", "Constant <value = bool {1}> ()", "Less (i, n)"]))
    lines.append(f"d = {go}")
    constants = [f"k{n} = Constant <value_int = {n}> ()" for n in range(9)]
    constants.append("k_1 = Constant <value_int = -1> ()")
    constants += [f"l{n} = Constant <value_ints = [{n}]> ()" for n in range(3)]
    constants += [
        "ones = Constant <value_ints = [1, 1]> ()",
        "half = Constant <value_float = 0.5> ()",
    ]
    loose = draw(st.sampled_from([False, False, True]))
    text = HEAD.format(
        extents=",".join(f"x{k}" if loose else str(n) for k, n in enumerate(extents)),
        length=length, grown=",".join(map(str, grown)),
        after="o,2" if along == 0 else "2,o",
        constants=" ".join(constants),
        trip=draw(st.sampled_from(["n", *[f"k{trips}"] * 3])), lines="\n        ".join(lines),
    )  # fmt: skip
    rng = seeded(draw(st.integers(0, 9)))
    shapes = {"x": extents, "s0": [2], "t0": [length, 2], "a0": grown}
    feeds = {name: rng.random(shape, np.float32) for name, shape in shapes.items()}
    return text, {"n": np.int64(trips), **feeds}


def outcome(call: Callable, *given) -> list | None:
    try:
        return call(*given)
    except (TreadleError, *ITS_ERRORS):
        return None


@given(programs())
def test_a_simplified_random_loop_gives_the_same(program):
    text, feeds = program
    model = load(text)
    better, report = simplify(model)
    event(", ".join(sorted(set(report.counts) & NAMES)))
    names = [value.name for value in model.main.results]
    wanted, found = outcome(run, model, feeds), outcome(run, better, feeds)
    assert (wanted is None) == (found is None)
    assert str(simplify(better)[1]) == ""
    if wanted is None or feeds["n"] == 0:
        return
    assert_same(found, wanted, names)
    theirs = outcome(run_by_onnxruntime, saved(better), feeds)
    assert theirs is not None
    assert_same(theirs, wanted, names)
