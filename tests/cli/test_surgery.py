"""`treadle surgery`: each command writes the result of the function of its name."""

from pathlib import Path

from tests.cli.conftest import Treadle

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'
SUM = """ g (float[4,3] x, float[3] s) => (float[3] y) {
  y = Scan <num_scan_inputs = 1, body = b (float[3] h, float[3] e) => (float[3] k)
    { k = Add (h, e) }> (s, x) }"""
NEGATE = " h (float[3] a) => (float[3] z) { z = Neg (a) }"


def test_the_commands(treadle: Treadle, tmp_path: Path) -> None:
    whole, part, out = (tmp_path / name for name in ("whole.onnxtxt", "part.onnxtxt", "out.onnx"))
    whole.write_text(HEAD + SUM)
    part.write_text(HEAD + NEGATE)
    for command, inputs in (
        (("extract", whole, "main/scan_0.body"), ["h", "e"]),
        (("extract", whole, "--input", "x", "--input", "s", "--to", "y"), ["x", "s"]),
        (("merge", whole, part, "y=a"), ["x", "s"]),
        (("rename", whole, "x=rows", "--prefix", "a/"), ["rows", "a/s"]),
        (("inline", whole), ["x", "s"]),
        (("outline", whole, "main/scan_0.body", "step"), ["x", "s"]),
        (("replace", part, "main/neg_0", part), ["a"]),
    ):
        done = treadle("surgery", *command, "-o", out, "--json")
        assert done.code == 0, done.err
        assert done.data["inputs"] == inputs
        assert treadle("inspect", out).code == 0


def test_a_mistake_writes_nothing(treadle: Treadle, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.onnxtxt", tmp_path / "out.onnx"
    whole.write_text(HEAD + SUM)
    assert treadle("surgery", "extract", whole, "main/loop_7", "-o", out).code == 1
    assert treadle("surgery", "rename", whole, "x", "-o", out).code == 2
    assert not out.exists()
