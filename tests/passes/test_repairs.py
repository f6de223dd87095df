"""Repairs: the repaired file has no such finding and the same outputs."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.conformance.data import EXPORTED, Edge, edges, exported
from tests.values import assert_same
from treadle.formats import onnx as files
from treadle.passes import REPAIRED

HEADER = '<ir_version: 10, opset_import: ["" : 21]>'


def outputs(source: object, feeds: dict[str, object]) -> list[object]:
    session = treadle.InferenceSession(source, engines=("interp",))
    return session.run(None, feeds)


def feeds_of(source: object, edge: Edge) -> dict[str, object]:
    names = [value.name for value in treadle.load(source).main.params]
    return dict(zip(names, edge.inputs, strict=False))


def mended(source: object) -> tuple[bytes, list[str]]:
    """The file of the repaired model, and the codes of what was done."""
    model, done = treadle.repair(source)
    return files.to_bytes(model), [each.code for each in done]


def codes(source: object) -> set[str]:
    return {finding.code for finding in treadle.check(source)}


def closes(source: object) -> bool:
    try:
        treadle.load(source)
    except treadle.TreadleError:
        return False
    return True


REPAIRABLE = [n for n, e in edges().items() if closes(e.source) and codes(e.source) & REPAIRED]


@pytest.mark.parametrize("name", REPAIRABLE)
def test_a_repaired_edge_case_is_clean_and_gives_the_same(name: str) -> None:
    edge = edges()[name]
    fixed, done = mended(edge.source)
    left = codes(fixed)
    assert not left & set(done)
    assert left <= codes(edge.source)
    if any(finding.blocks for finding in treadle.check(edge.source)):
        return  # what does not run has no outputs to compare
    try:
        before = outputs(edge.source, feeds_of(edge.source, edge))
    except treadle.TreadleError as wrong:
        with pytest.raises(type(wrong)):
            outputs(fixed, feeds_of(edge.source, edge))
        return
    after = outputs(fixed, feeds_of(edge.source, edge))
    assert_same(after, before, [f"output {k}" for k in range(len(before))])


def test_some_edge_cases_are_repairable() -> None:
    assert {"I18", "L51", "S28"} <= set(REPAIRABLE)


@pytest.mark.parametrize("name", EXPORTED)
def test_a_repaired_exporters_model_gives_the_same(name: str) -> None:
    path, feeds, _ = exported(name)
    model, done = treadle.repair(path)
    if not done:
        return
    fixed = files.to_bytes(model)
    assert not codes(fixed) & {each.code for each in done}
    before, after = outputs(path, dict(feeds)), outputs(fixed, dict(feeds))
    assert_same(after, before, [f"output {k}" for k in range(len(before))])


def run_one(text: str, **feeds: object) -> tuple[object, object, list[str]]:
    """Its output, that of the repaired one, what was done."""
    fixed, done = mended(f"{HEADER}\n{text}")
    (after,) = outputs(fixed, feeds)
    blocked = any(finding.blocks for finding in treadle.check(f"{HEADER}\n{text}"))
    before = after if blocked else outputs(f"{HEADER}\n{text}", feeds)[0]
    return before, after, done


def test_hiding_names_of_every_kind_are_renamed() -> None:
    text = """g (int64 M, float x) => (float y) {
        w = Neg(x)
        y = Loop <body = b (int64 i, bool c, float x) => (c2, e) <float w = {3}> {
            c2 = Identity(c)
            M = Add(x, w)
            e = Loop <body = inner (int64 i, bool c, float p) => (c, q) { q = Add(p, M) }>
                (i, "", x)
        }> (M, "", x) }"""
    before, after, done = run_one(text, M=3, x=np.float32(2))
    assert before == after
    assert done == ["CF103"] * 5
    fixed, _ = treadle.repair(f"{HEADER}\n{text}")
    names = [value.name for value in fixed.main.steps[1].body.params]
    assert names[:3] == ["i", "c", "x_inner"]


def test_an_outer_value_returned_directly_goes_through_an_identity() -> None:
    text = """g (bool C, float x) => (float y) {
        y = If (C) <then_branch = t () => (x) { }, else_branch = e () => (b) { b = Neg(x) }> }"""
    _, after, done = run_one(text, C=True, x=np.float32(2))
    assert after == 2
    assert done == ["CF104"]
    assert not treadle.check(mended(f"{HEADER}\n{text}")[0])


def test_missing_imports_are_added_in_branches_and_functions() -> None:
    text = f"""{HEADER}
        g (bool C, float[2] x) => (float[2] y) {{
            y = If (C) <then_branch = t () => (a) {{
                            a = ai.onnx.ml.Scaler<scale=[2.0], offset=[0.0]>(x) }},
                        else_branch = e () => (b) {{ b = local.f(x) }}> }}
        <opset_import: ["" : 21], domain: "local">
        f (a) => (b) {{ b = ai.onnx.ml.Binarizer(a) }}"""
    fixed, done = mended(text)
    assert done == ["CF702"] * 3
    assert not treadle.check(fixed)
    assert outputs(fixed, {"C": True, "x": [1.0, 2.0]})[0].tolist() == [2, 4]


def test_the_standards_own_opset_is_not_guessed() -> None:
    text = '<ir_version: 10, opset_import: ["local" : 1]>\ng (float x) => (float y) { y = Relu(x) }'
    _, done = treadle.repair(text)
    assert done == []


def test_a_condition_that_is_left_out_is_said() -> None:
    text = """g (int64 M, float x) => (float y) { k = Constant<value_int=2>()
        y = Loop <body = b (int64 i, bool c, float a) => (d, e) {
            d = Less(i, k) e = Add(a, x) }> (M, "", x) }"""
    before, after, done = run_one(text, M=9, x=np.float32(1))
    assert before == after == 4
    assert done == ["CF410"]
    assert not treadle.check(mended(f"{HEADER}\n{text}")[0])


@pytest.mark.parametrize(
    ("goes_on", "made"),
    [
        ("d = Constant<value=bool{1}>()", ["CF802", "CF802"]),
        ("d = Identity(c)", ["CF802", "CF802"]),
        ("k = Identity(c) d = Not(k)", ["CF802"]),
    ],
)
def test_trip_counts_and_conditions_become_scalars(goes_on, made) -> None:
    text = f"""g (int64[1] M, bool[1] C, float x) => (float y) {{
        y = Loop <body = b (i, c, a) => (d, e) {{ {goes_on} e = Add(a, x) }}> (M, C, x) }}"""
    before, after, done = run_one(text, M=[3], C=[True], x=np.float32(1))
    assert before == after
    assert done == made


def test_declared_first_shapes_are_corrected() -> None:
    text = """g (int64 M, float[1] x) => (float[K] y) {
        y = Loop <body = b (int64 i, bool c, float[1] a) => (bool d, float[2] e) {
            d = Identity(c) e = Concat<axis=0>(a, x) }> (M, "", x) }"""
    before, after, done = run_one(text, M=4, x=np.ones(1, np.float32))
    assert before.shape == after.shape == (5,)
    assert set(done) == {"CF412"}
    assert not codes(mended(f"{HEADER}\n{text}")[0]) & {"CF304", "CF412"}


@pytest.mark.parametrize(
    ("declared", "code"), [("float[3]", "CF304"), ("int64[2]", "CF303"), ("float[2,2]", "CF304")]
)
def test_false_declarations_are_corrected(declared: str, code: str) -> None:
    text = f"g (float[2] x) => ({declared} y) {{ y = Relu(x) }}"
    _, after, done = run_one(text, x=np.ones(2, np.float32))
    assert (after.tolist(), done) == ([1, 1], [code])
    assert not treadle.check(mended(f"{HEADER}\n{text}")[0])


def test_an_iteration_number_declared_as_something_else() -> None:
    text = """g (int64 M, float x) => (float y) {
        y = Loop <body = b (int32 i, float c, float a) => (d, e) {
            d = Constant<value=bool{1}>() e = Add(a, x) }> (M, "", x) }"""
    _, after, done = run_one(text, M=3, x=np.float32(1))
    assert (after, done) == (4, ["CF405", "CF405"])


def test_attributes_without_a_meaning_are_removed() -> None:
    _, after, done = run_one("g (float x) => (y) { y = Relu<alpha=0.5>(x) }", x=np.float32(1))
    assert (after, done) == (1, ["CF211"])


def test_a_model_without_faults_is_left_as_it_is() -> None:
    model = treadle.load(f"{HEADER}\ng (float x) => (y) {{ y = Relu(x) }}")
    fixed, done = treadle.repair(model)
    assert done == []
    assert fixed is model


def test_a_model_with_unresolved_names_cannot_be_repaired() -> None:
    with pytest.raises(treadle.TreadleError):
        treadle.repair(f"{HEADER}\ng (float x) => (y) {{ y = Relu(z) }}")
