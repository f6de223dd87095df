"""Inference is as precise as onnx's for every version; the exceptions have reasons."""

import onnx
import pytest

import treadle
from tests.backend import suite
from tests.conformance.data import EXPORTED, edges, exported
from tests.infer.models import read, typed
from tests.infer.standard import by_onnx, by_treadle, lacking, strip
from treadle import formats
from treadle.formats.onnx.write import write_model

DIFFERENCES = {
    "L13c": "gives a body's undeclared condition the outer one's shape; it sees a scalar",
    "L15": "the condition has two elements: a fault, which `check` finds",
    "torch_script_beam_search": "believes the first iteration's shape that the body declares",
    "torch_script_nms_while": "believes the first iteration's shape that the body declares",
    "torch_script_viterbi": "believes the first iteration's shape that the body declares",
    "torch_script_if_resize_conv": "believes a name that a branch declares of an unknown extent",
    "test_loop11": "believes the first iteration's shape that the body declares",
    "test_loop13_seq": "takes the elements of a carried sequence for those it starts with",
    "test_affine_grid_3d_expanded": "splits 5 elements into 4 parts of 2, 2, 2 and -1",
    "test_affine_grid_3d_align_corners_expanded": "splits 5 elements into parts 2, 2, 2 and -1",
    "test_loop16_seq_none": "believes what the body declares of the elements of a carried sequence",
}
"""Where onnx says more than is true, or than can be known."""

OPSETS = {1: 10, 11: 12, 13: 15, 16: 18, 19: 20, 21: 22, 23: 23, 24: 24, 25: 28}
"""An opset of each version of If and Loop."""


def models():
    """Every edge case, every exporter's model, the suite's control flow and a share of the rest."""
    for name, edge in edges().items():
        model, _ = formats.read(edge.source)
        if model is not None:
            yield name, write_model(model)
    for name in EXPORTED:
        yield name, onnx.load(exported(name)[0])
    for position, (name, sample) in enumerate(suite.node_samples().items()):
        if sample.has_control_flow or position % 12 == 0:
            yield name, sample.model


def lacks(proto):
    """What onnx's inference finds and ours does not, without value_info, then without claims."""
    found = []
    for bodies in (False, True):
        stripped = strip(proto, bodies=bodies)
        try:
            theirs = by_onnx(stripped)
        except onnx.shape_inference.InferenceError:
            continue
        found += lacking(theirs, by_treadle(treadle.load(stripped)))
    return found


def test_inference_knows_at_least_what_onnx_infers():
    asked = {name: lacks(proto) for name, proto in models()}
    assert len(asked) > 350
    assert {name for name, found in asked.items() if found} <= DIFFERENCES.keys()


@pytest.mark.parametrize("name", [name for name in DIFFERENCES if not name.startswith("test_")])
def test_listed_differences_from_onnx_exist(name):
    if name in edges():
        proto = write_model(treadle.load(edges()[name].source))
    else:
        proto = onnx.load(exported(name)[0])
    assert lacks(proto)


@pytest.mark.parametrize("name", [name for name in DIFFERENCES if name.startswith("test_")])
def test_listed_differences_in_the_suite_exist(name):
    assert lacks(suite.node_samples()[name].model)


LOOPS = {
    "carried and stacked": """g (int64 M, bool C, float[2,N] s0, float[N] k) => (s, ys) {
        s, ys = Loop <body = b (int64 i, bool c, a) => (e, d, f) {
            e = Identity(c) d = Add(a, k) f = Exp(d) }> (M, C, s0) }""",
    "captured and nested": """g (int64 M, bool C, float[3] s0, float[3] k) => (s, ys) {
        s, ys = Loop <body = b (int64 i, bool c, a) => (e, d, f) {
            e = Identity(c) d, f = Loop <body = b2 (int64 j, bool c2, p) => (e2, q, r) {
                e2 = Identity(c2) q = Mul(p, k) r = Neg(k) }> (M, c, a) }> (M, C, s0) }""",
    "another shape each time": """g (int64 M, bool C, float[1,3] s0) => (s) {
        s = Loop <body = b (int64 i, bool c, a) => (e, d) {
            e = Identity(c) d = Concat<axis=0>(a, a) }> (M, C, s0) }""",
}
SEQUENCES = """g (int64 M, bool C, float[2] x) => (s) {
    q = SequenceConstruct(x)
    s = Loop <body = b (int64 i, bool c, a) => (e, d) {
        e = Identity(c) d = SequenceInsert(a, x) }> (M, C, q) }"""
OPTIONALS = """g (int64 M, bool C, float[2] x) => (s) {
    q = Optional(x)
    s = Loop <body = b (int64 i, bool c, a) => (e, d) {
        e = Identity(c) d = Identity(a) }> (M, C, q) }"""
BRANCHES = """g (bool C, float[2,3] x, float[2,N] z) => (y) {
    y = If (C) <then_branch = t () => (a) { a = Relu(x) },
                else_branch = e () => (b) { b = Relu(z) }> }"""


@pytest.mark.parametrize("version", OPSETS)
@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_a_loop_of_every_version(text, version):
    assert not lacks(write_model(read(text, OPSETS[version])))


@pytest.mark.parametrize("version", [version for version in OPSETS if version >= 13])
@pytest.mark.parametrize("text", [SEQUENCES, OPTIONALS])
def test_a_loop_over_sequences_and_optionals_of_every_version(text, version):
    if version < 16 and text is OPTIONALS:
        return
    assert not lacks(write_model(read(text, OPSETS[version])))


@pytest.mark.parametrize("version", [version for version in OPSETS if version >= 11])
def test_a_branch_of_every_version(version):
    assert not lacks(write_model(read(BRANCHES, OPSETS[version])))


def test_branches_of_version_1_need_not_be_of_one_shape():
    """If-1's inference takes both shapes for the same and says [2,3]; nothing holds them to it."""
    model = read(BRANCHES, 10)
    assert lacks(write_model(model)) == ["y: dim 1 is 3, not "] * 2
    assert typed(BRANCHES, 10)["y"] == "float32[2,?]"


@pytest.mark.parametrize("opset", [11, 12])
def test_an_else_branch_of_unknown_rank_is_no_scalar(opset):
    """If-11's inference takes the empty shape of an unknown rank for that of a scalar."""
    text = """g (bool C, float x, float[2] z, int64[?] k) => (y) {
        y = If (C) <then_branch = t () => (a) { a = Identity(x) },
                    else_branch = e () => (b) { b = Reshape(z, k) }> }"""
    assert lacks(write_model(read(text, opset)))
    assert typed(text, opset)["y"] == "float32[*]"


SCANS = {
    "axes and directions": (
        9,
        """g (float[4] s0, float[T,4] x, float[4,T] z) => (s, ys, zs) {
        s, ys, zs = Scan <num_scan_inputs=2, scan_input_axes=[0,1], scan_output_axes=[1,0],
            scan_input_directions=[1,0], body = b (a, p, q) => (d, e, f) {
                d = Add(a, p) e = Mul(p, q) f = Neg(d) }> (s0, x, z) }""",
    ),
    "negative axes": (
        11,
        """g (float[4] s0, float[4,7] x) => (s, ys) {
        s, ys = Scan <num_scan_inputs=1, scan_input_axes=[-1], scan_output_axes=[-1],
            body = b (a, p) => (d, e) { d = Add(a, p) e = Neg(d) }> (s0, x) }""",
    ),
    "lengths that meet": (
        9,
        """g (float[3] x, float[N] z) => (ys) {
        ys = Scan <num_scan_inputs=2, body = b (p, q) => (e) { e = Add(p, q) }> (x, z) }""",
    ),
}


@pytest.mark.parametrize("opset", [9, 11, 15, 18, 20, 22, 23, 24, 28])
@pytest.mark.parametrize(("since", "text"), SCANS.values(), ids=SCANS)
def test_a_scan_of_every_version(since, text, opset):
    if opset >= since:
        assert not lacks(write_model(read(text, opset)))


def test_scan_8():
    text = """g (float[B,5] s0, float[B,T,3] x) => (s, ys) {
        s, ys = Scan <num_scan_inputs=1, body = b (a, p) => (d, e) { d = Relu(a) e = Exp(p) }>
            ("", s0, x) }"""
    assert not lacks(write_model(read(text, 8)))


def test_an_extent_that_engines_round_differently_is_unknown():
    """10 * 0.7 is 7 in floats, as in onnxruntime, and 6 in doubles, as in onnx.reference."""
    text = """g (float[10] x) => (y) {
        s = Constant<value=float[1] {0.7}>() y = Resize<mode="nearest">(x, "", s) }"""
    assert typed(text)["y"] == "float32[?]"
    assert typed(text.replace("0.7", "0.5"))["y"] == "float32[5]"


@pytest.mark.parametrize("name", [name for name, edge in edges().items() if edge.expect == "error"])
def test_a_justified_failure_of_onnx_inference_is_a_finding(name):
    source = edges()[name].source
    text = isinstance(source, str)
    proto = onnx.parser.parse_model(source) if text else onnx.ModelProto.FromString(source)
    try:
        by_onnx(proto)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        assert any(finding.severity == "error" for finding in treadle.check(source))


@pytest.mark.parametrize(
    ("opset", "text"),
    [
        (21, "d = Cast<to=7>(a)"),
        (21, "d = Gather<axis=5>(k, i)"),
        (10, "d = Gather<axis=5>(k, i)"),
        (21, "w = Concat<axis=0>(k, k) d = Add(k, w)"),
        (13, "w = Concat<axis=0>(k, k) d = MatMul(k, w)"),
    ],
)
def test_a_fault_inside_a_body_is_a_finding_too(opset, text):
    model = f"""<ir_version: 8, opset_import: ["" : {opset}]>
        g (int64 M, bool C, float[2] s0, float[2] k) => (float[n] s) {{
        s = Loop <body = b (int64 i, bool c, float[n] a) => (bool e, d) {{
            e = Identity(c) {text} }}> (M, C, s0) }}"""
    with pytest.raises(onnx.shape_inference.InferenceError):
        by_onnx(onnx.parser.parse_model(model))
    findings = treadle.check(model)
    assert any(f.severity == "error" and "body" in f.path for f in findings), findings


def test_a_condition_declared_as_one_element_beside_a_scalar_one_is_no_fault():
    """onnx refuses it (L13d); OpenVINO and the reference implementation run it."""
    edge = edges()["L13d"]
    with pytest.raises(onnx.shape_inference.InferenceError):
        by_onnx(onnx.parser.parse_model(edge.source))
    assert not [f for f in treadle.check(edge.source) if f.severity == "error"]


UNTYPED = """g (int64 M, float k) => (ys) {
    ys = Loop <body = b (int64 i, bool c) => (c, i) { }> (M, "") }"""


def test_a_body_that_gives_what_it_got_without_a_declared_type_is_no_fault():
    """onnx never types such a result and fails the loop (L26, L28, S16)."""
    model = read(UNTYPED)
    with pytest.raises(onnx.shape_inference.InferenceError):
        by_onnx(write_model(model))
    assert typed(UNTYPED)["ys"] == "int64[main/loop_0.trips]"


def test_a_constant_trip_count_says_more_than_the_standard():
    text = """g (float[2] k) => (ys) { M = Constant<value_int=5>()
        ys = Loop <body = b (int64 i, bool c) => (d, e) { d = Identity(c) e = Relu(k) }>
            (M, "") }"""
    assert typed(text)["ys"] == "float32[5,2]"


def test_a_branch_that_is_never_taken_fails_nothing():
    text = """g (float[2] x, float[3] z) => (y) { no = Constant<value = bool {0}>()
        y = If (no) <then_branch = t () => (a) { a = Add(x, z) },
                     else_branch = e () => (b) { b = Relu(z) }> }"""
    with pytest.raises(onnx.shape_inference.InferenceError):
        by_onnx(write_model(read(text)))
    assert typed(text)["y"] == "float32[3]"


def test_the_elements_of_a_carried_sequence_may_change():
    """onnx gives the result the elements of the initial value."""
    text = """g (int64 M, bool C, float[2] x) => (s) {
        q = SequenceConstruct(x)
        s = Loop <body = b (int64 i, bool c, a) => (e, d) {
            e = Identity(c) z = Concat<axis=0>(x, x) d = SequenceInsert(a, z) }> (M, C, q) }"""
    assert "s: dim 0 is 2, not " in lacks(write_model(read(text)))
    assert typed(text)["s"] == "seq(float32[?])"


def test_one_name_for_all_iterations_is_not_kept_where_the_extent_grows():
    """L21: onnx has `n` for what comes in and what goes out of a body that doubles it."""
    proto = write_model(treadle.load(edges()["L21"].source))
    names = [by_onnx(proto)[("sf.body",), name].tensor_type.shape.dim[0] for name in ("s", "so")]
    assert names[0].dim_param == names[1].dim_param == "n"
    ours = by_treadle(treadle.load(proto))
    names = [ours[("sf.body",), name].tensor_type.shape.dim[0] for name in ("s", "so")]
    assert [n.dim_param for n in names] == ["main/loop_0:s.0", "2*main/loop_0:s.0"]
