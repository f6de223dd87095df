"""Findings on the shapes of a Scan's values."""

import pytest

from tests.checks.models import found, only


def scan(inputs, attributes="", body="so = Add(s, p) y = Identity(so)", opset=21, params="s, p"):
    return (
        f"""g ({inputs}) => (sf, ys) {{
        sf, ys = Scan <num_scan_inputs=1 {attributes},
            body = b ({params}) => (so, y) {{ {body} }}> (s0, x) }}""",
        opset,
    )


BAD = [
    ("CF505", ("float s0, float[t] x", ", scan_input_axes=[1]"), "main/scan_0",
     "x is float32[t], it has no axis 1 to scan"),
    ("CF505", ("float s0, float[t] x", ", scan_output_axes=[1]"), "main/scan_0.body",
     "y is float32[], no axis 1 to stack on"),
    ("CF505", ("float s0, float[t] x", ", scan_output_axes=[-2]"), "main/scan_0.body",
     "y is float32[], no axis -2 to stack on"),
    ("CF506", ("float s0, float x",), "main/scan_0", "x is float32[], a scalar cannot be scanned"),
    ("CF508", ("float[2] s0, float[t] x", "", "so = Concat<axis=0>(s, s) y = Identity(p)"),
     "main/scan_0.body", "the state s starts as [2] and becomes [4] (so)"),
    ("CF508", ("float[n] s0, float[t] x", "", "k = Constant<value_ints=[0]>() "
      "so = Unsqueeze(s, k) y = Identity(p)"),
     "main/scan_0.body", "the state s starts as [n] and becomes [1,n] (so)"),
    ("CF509", ("float[n] s0, float[t] x", "", "so = Concat<axis=0>(s, s) y = Identity(p)"),
     "main/scan_0.body", "the state s starts as [n] and becomes [2*n] (so)"),
    ("CF408", ("float s0, float[t] x", "", "so = Cast<to=7>(s) y = Identity(p)"),
     "main/scan_0.body", "s starts as float32[] and becomes int64[] (so)"),
    ("CF304", ("float[2] s0, float[t] x", "", "so = Add(s, p) y = Identity(p)", 21,
               "float[3] s, float p"),
     "main/scan_0.body", "s is declared float32[3], it is float32[2]"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "model", "path", "message"), BAD)
def test_axes_states_and_declared_shapes(code, model, path, message):
    finding = only(*scan(*model))
    assert (finding.code, finding.path, finding.message) == (code, path, message)
    assert finding.blocks is (code not in ("CF304", "CF509"))


def test_scanned_values_are_equally_long():
    finding = only("""g (float[3] x, float[4] z) => (ys) {
        ys = Scan <num_scan_inputs=2, body = b (p, q) => (y) { y = Add(p, q) }> (x, z) }""")
    assert (finding.code, finding.message) == (
        "CF507", "the scanned values are not equally long: x 3, z 4",
    )  # fmt: skip


def test_lengths_that_only_a_run_knows_are_no_fault():
    assert not found("""g (float[a] x, float[b] z) => (ys) {
        ys = Scan <num_scan_inputs=2, body = b (p, q) => (y) { y = Add(p, q) }> (x, z) }""")


def scan_8(inputs, body="so = Add(s, p) y = Identity(so)", lengths='""'):
    return f"""g ({inputs}) => (sf, ys) {{
        sf, ys = Scan <num_scan_inputs=1, body = b (s, p) => (so, y) {{ {body} }}>
            ({lengths}, s0, x) }}"""


@pytest.mark.parametrize(
    ("inputs", "rest", "code", "message"),
    [
        ("float[3] s0, float[2,t] x", {}, "CF511",
         "the batches are not equally large: s0 3, x 2"),
        ("int32[b] L, float[b] s0, float[b,t] x", {"lengths": "L"}, "CF510",
         "sequence_lens L is int32[b], wanted int64[batch]"),
        ("int64 L, float[b] s0, float[b,t] x", {"lengths": "L"}, "CF510",
         "sequence_lens L is int64[], wanted int64[batch]"),
        ("float[b] s0, float[b] x", {"body": "so = Identity(s) y = Identity(s)"}, "CF506",
         "x is float32[b], wanted [batch, time, ...]"),
        ("float[b] s0, float[b,t] x",
         {"body": "so = Cast<to=7>(s) y = Identity(p)"}, "CF408",
         "the state s starts as float32[] and becomes int64[] (so)"),
        ("float[b,2] s0, float[b,t] x",
         {"body": "so = Concat<axis=0>(s, s) y = Identity(p)"}, "CF508",
         "the state s starts as float32[2] and becomes float32[4] (so)"),
    ],
)  # fmt: skip
def test_scan_8(inputs, rest, code, message):
    finding = only(scan_8(inputs, **rest), 8)
    assert (finding.code, finding.message) == (code, message)
    assert finding.blocks


def test_a_right_scan_8_has_no_fault():
    text = scan_8("int64[b] L, float[b,2] s0, float[b,t,2] x", lengths="L")
    assert not found(text, 8)
