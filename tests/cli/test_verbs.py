"""`treadle inspect`, `check`, `explain` and `infer`."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import treadle as library
from tests.build.models import SCAN
from tests.cli.conftest import Treadle


def test_inspect(treadle: Treadle, folder: Path) -> None:
    done = treadle("inspect", folder / "newton.onnxtxt")
    assert done.code == 0
    assert "main/loop_2  Loop-21" in done.out
    assert "at most 50 times; stops when go_on is false (from main/loop_2.body/less_8)" in done.out
    data = treadle("inspect", folder / "newton.onnxtxt", "--json").data
    assert data["control_flow"][0]["trips"]["count"] == 50


def test_inspect_code(treadle: Treadle, folder: Path) -> None:
    done = treadle("inspect", folder / "newton.onnxtxt", "--code")
    assert "root, guesses = Loop trip most while yes" in done.out
    data = treadle("inspect", folder / "newton.onnxtxt", "--code", "--json").data
    assert data["code"] + "\n" == done.out


def test_check(treadle: Treadle, folder: Path) -> None:
    fine = treadle("check", folder / "newton.onnxtxt")
    assert (fine.code, fine.out) == (0, f"{folder / 'newton.onnxtxt'}: no findings\n")
    done = treadle("check", folder / "broken.onnxtxt")
    assert done.code == 1
    assert "CF101 error" in done.out
    assert "1 error" in done.out
    data = treadle("check", folder / "broken.onnxtxt", "--json").data
    assert data["counts"]["error"] == 1
    assert data["findings"][0]["blocks"] is True


def test_explain(treadle: Treadle, folder: Path) -> None:
    done = treadle("explain", folder / "newton.onnxtxt", "--engines", "interp")
    assert done.code == 0
    assert "interp: " in done.out
    data = treadle("explain", folder / "newton.onnxtxt", "--engines", "interp", "--json").data
    assert set(data["engines"]) == {"interp"}


def test_explain_lists_compiled_kernels(treadle: Treadle, folder: Path) -> None:
    model = folder / "newton.onnxtxt"
    given = ("explain", model, "--random", "--engines", "jit,interp")
    done = treadle(*given)
    assert done.code == 0
    assert " bytes, " in done.out
    (region,) = [each for each in treadle(*given, "--json").data["regions"] if each["made"]]
    assert region["made"][0]["bytes"] > 0
    assert treadle(*given, "--kernel").out.splitlines()[1].startswith("kernel")
    assert ": in order\n" in treadle(*given, "--schedule").out
    assert "i64 @kernel(" in treadle(*given, "--llvm").out
    missing = treadle("explain", folder / "many.onnxtxt", "-i", "n=1", "--kernel")
    assert missing.code == 2
    assert "--random" in missing.err
    none = treadle("explain", model, "--random", "--kernel", "--engines", "interp")
    assert "no part of it" in none.out


def test_explain_without_inputs_runs_nothing(treadle: Treadle, folder: Path) -> None:
    model = folder / "newton.onnxtxt"
    done = treadle("explain", model, "--engines", "jit,interp")
    assert "not compiled yet" in done.out
    (region,) = treadle("explain", model, "--engines", "jit,interp", "--json").data["regions"]
    assert region["made"] == []
    head, kernel, *_ = treadle("explain", model, "--kernel").out.splitlines()
    assert head.endswith(", before its first run")
    assert kernel.startswith("kernel")
    assert "i64 @kernel(" in treadle("explain", model, "--llvm").out


def test_infer(treadle: Treadle, folder: Path) -> None:
    done = treadle("infer", folder / "newton.onnxtxt")
    assert done.code == 0
    assert "quotient: float32[]" in done.out
    values = treadle("infer", folder / "newton.onnxtxt", "--json").data["values"]
    (quotient,) = [value for value in values if value["name"] == "quotient"]
    assert quotient == {
        "path": "main/loop_2.body",
        "name": "quotient",
        "declared": "?",
        "inferred": "float32[]",
    }


def test_infer_writes_a_model(treadle: Treadle, folder: Path) -> None:
    target = folder / "typed.onnx"
    done = treadle("infer", folder / "newton.onnxtxt", "-o", target)
    assert done.code == 0
    assert f"wrote {target}" in done.out
    (loop,) = [step for step in library.load(target).main.steps if step.info.op == "Loop"]
    declared = {value.name: str(value.declared) for s in loop.body.steps for value in s.results}
    assert declared["quotient"] == "float32[]"


def test_infer_refuses_a_suffix(treadle: Treadle, folder: Path) -> None:
    done = treadle("infer", folder / "newton.onnxtxt", "-o", folder / "typed.txt")
    assert done.code == 2
    assert "does not end in .onnx or .onnxtxt or .xml" in done.err
    assert not (folder / "typed.txt").exists()


def test_convert_writes_openvino_as_onnx(treadle: Treadle, tmp_path: Path) -> None:
    source = Path(__file__).parents[1] / "formats" / "openvino" / "data" / "loop_nested.xml"
    target = tmp_path / "nested.onnx"
    done = treadle("convert", source, "-o", target)
    assert done.code == 0
    assert f"wrote {target}: " in done.err
    assert "loops 2, branches 0" in done.err
    assert {step.info.op for step in library.load(target).main.steps} >= {"Loop"}
    data = treadle("convert", source, "-o", target, "--json").data
    assert (data["loops"], data["branches"]) == (2, 0)


def test_convert_requires_a_target(treadle: Treadle, folder: Path) -> None:
    done = treadle("convert", folder / "newton.onnxtxt")
    assert done.code == 2
    assert "-o model.onnx" in done.err


COLLECT = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[0,2] x, float[1,2] r) => (float[N,2] y) {
  y = Loop (n, "", x) <body = b (int64 i, bool c, float[k,2] v) => (bool d, float[l,2] w) {
    d = Identity (c) f = Cast <to = 1> (i) e = Add (r, f) w = Concat <axis = 0> (v, e) }> }"""


def test_optimize(treadle: Treadle, folder: Path) -> None:
    model, target = folder / "collect.onnx", folder / "better.onnx"
    onnx.save(onnx.parser.parse_model(COLLECT), model)
    assert treadle("optimize", model, "-o", target).code == 0
    onnx.checker.check_model(target, full_check=True)
    assert b"Concat" not in target.read_bytes()
    feeds = {"n": np.array(3), "x": np.zeros((0, 2), np.float32), "r": np.ones((1, 2), np.float32)}
    outputs = [onnxruntime.InferenceSession(each).run(None, feeds)[0] for each in (model, target)]
    assert outputs[0].tolist() == outputs[1].tolist() == [[1, 1], [2, 2], [3, 3]]
    data = treadle("optimize", folder / "newton.onnxtxt", "--json").data
    assert data == {"output": "", "counts": {}, "done": []}
    assert "nothing to do" in treadle("optimize", folder / "newton.onnxtxt").out


def test_build(treadle: Treadle, folder: Path) -> None:
    """A C library, with a kernel for each shape told of an input."""
    (folder / "scan.onnxtxt").write_text(SCAN)
    command = ("build", folder / "scan.onnxtxt", "-o", folder / "out")
    said = treadle(*command, "--target", "wasm32").out
    assert "scan.h" in said
    assert (folder / "out/wasm32/libscan.a").exists()
    told = treadle(*command, "--json", "--input", "x=n,3", "--input", "first=3").data
    assert told["kernels"] == ["float32[n0, 3], float32[3]"]
    assert treadle(*command, "--input", "x").code == 2
    assert treadle(*command, "--target", "sparc").code == 1


def test_specialize(treadle: Treadle, folder: Path) -> None:
    (folder / "many.onnxtxt").write_text(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[T] x, int64 k) => (float[U] y)'
        " { y = Add (x, x) z = Neg (k) }"
    )
    target = folder / "static.onnx"
    command = ("specialize", folder / "many.onnxtxt", "--dim", "T=4", "-i", "k=2")
    done = treadle(*command, "-o", target)
    assert done.code == 0
    assert "T is 4" in done.out
    assert "float32[4]" in treadle("inspect", target).out
    assert treadle(*command, "--json").data["counts"]["specialize"] == 2
    assert treadle("specialize", folder / "many.onnxtxt", "--dim", "U=4").code == 1


def test_convert_to_another_opset(treadle: Treadle, folder: Path) -> None:
    (folder / "many.onnxtxt").write_text(
        '<ir_version: 10, opset_import: ["" : 21]>'
        " g (float[2] x, string s) => (float[2] y, string z)"
        " { y = Gelu (x) z = StringConcat (s, s) }"
    )
    (folder / "gelu.onnxtxt").write_text(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Gelu (x) }'
    )
    target = folder / "older.onnx"
    done = treadle("convert", folder / "gelu.onnxtxt", "-o", target, "--opset", "13")
    assert done.code == 0
    assert "Gelu-20 became" in done.out
    assert onnx.load(target).opset_import[0].version == 13
    refused = treadle("convert", folder / "many.onnxtxt", "-o", folder / "no.onnx", "--opset", "13")
    assert refused.code == 1
    assert "main/stringconcat_1" in refused.err
    assert not (folder / "no.onnx").exists()
    half = treadle(
        *("convert", folder / "gelu.onnxtxt", "-o", target, "--opset", "13"),
        *("--dtype", "float16", "--keep", "op:Gelu"),
    )
    assert half.code == 0
    assert "float32 became float16" in half.out
    assert treadle("convert", folder / "gelu.onnxtxt", "-o", target, "--keep", "y").code == 2
    command = ("convert", folder / "gelu.onnxtxt", "-o", target, "--ir-version", "7")
    assert treadle(*command).code == 2


def test_unroll_and_rewrite(treadle: Treadle, folder: Path) -> None:
    (folder / "sum.onnxtxt").write_text(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4,3] x, float[3] s) => (float[3] y) {'
        " y = Scan <num_scan_inputs = 1, body = b (float[3] h, float[3] e) => (float[3] k)"
        " { k = Add (h, e) }> (s, x) }"
    )
    straight, looped = folder / "straight.onnx", folder / "looped.onnx"
    assert treadle("unroll", folder / "sum.onnxtxt", "-o", straight).code == 0
    assert "Scan" not in treadle("inspect", straight).out
    data = treadle("rewrite", folder / "sum.onnxtxt", "scan-to-loop", "-o", looped, "--json").data
    assert data["counts"] == {"scan-to-loop": 1}
    assert "scan-to-loop" in treadle("rewrite", "--list").out
    refused = treadle("rewrite", folder / "sum.onnxtxt", "loops", "-o", folder / "no.onnx")
    assert refused.code == 1
    assert not (folder / "no.onnx").exists()


def test_optimize_reports_its_changes(treadle: Treadle, folder: Path) -> None:
    model = library.load(
        '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y)\n'
        "{ s = Shape (x) r = Reshape (x, s) y = Neg (r) }"
    )
    library.save(model, folder / "idle.onnxtxt")
    done = treadle("optimize", folder / "idle.onnxtxt", "-o", folder / "better.onnxtxt")
    assert "constants folded: 1\n  main: Shape\n" in done.out
    assert "identities eliminated: 1\n  main: Reshape\n" in done.out
    assert "Reshape" not in (folder / "better.onnxtxt").read_text(encoding="utf-8")
    data = treadle("optimize", folder / "idle.onnxtxt", "--json").data
    assert data["counts"]["constants folded"] == 1
    assert data["done"][0] == {"name": "constants folded", "path": "main/shape_0", "done": "Shape"}


def test_expose(treadle: Treadle, folder: Path) -> None:
    target = folder / "exposed.onnx"
    done = treadle("expose", folder / "newton.onnxtxt", "-o", target, "--values", "better")
    assert done.code == 0
    assert "main/loop_2.body/better" in done.out
    assert "main/loop_2.body/better" in treadle("inspect", target).out
    failed = treadle("expose", folder / "newton.onnxtxt", "-o", folder / "no.onnx", "--values", "b")
    assert failed.code == 1
    assert not (folder / "no.onnx").exists()


def test_trace_says_that_nothing_was_recorded(treadle: Treadle, folder: Path) -> None:
    asked = ("--values", "better", "--iterations", "1000:")
    done = treadle("trace", folder / "newton.onnxtxt", "-i", "a=4", *asked)
    assert done.code == 0
    assert "nothing was recorded" in done.err


def test_trace_writes_no_file_for_a_selector_without_a_match(
    treadle: Treadle, folder: Path
) -> None:
    command = ("trace", folder / "newton.onnxtxt", "-i", "a=4", "--values", "nosuch")
    assert treadle(*command, "-o", folder / "trace.npz").code == 1
    assert not (folder / "trace.npz").exists()


def test_trace_writes_a_file(treadle: Treadle, folder: Path) -> None:
    target = folder / "trace.npz"
    command = ("trace", folder / "newton.onnxtxt", "-i", "a=4", "--values", "better")
    assert treadle(*command, "--iterations", "1:3", "-o", target).code == 0
    with np.load(target) as data:
        assert data["main/loop_2.body/better@at"].tolist() == [[1], [2]]
    assert treadle(*command, "--json").data["recorded"] == {"main/loop_2.body/better": "4 times"}
    assert treadle(*command, "--iterations", "a:b").code == 2


def test_compare(treadle: Treadle, folder: Path) -> None:
    model = folder / "newton.onnxtxt"
    same = treadle("compare", f"{model}@jit", f"{model}@onnxruntime", "-i", "a=4")
    assert same.code == 0
    assert "no difference" in same.out
    other = folder / "other.onnxtxt"
    other.write_text(model.read_text(encoding="utf-8").replace("better = Mul", "better = Add"))
    found = treadle("compare", other, model, "-i", "a=4", "--json")
    assert found.code == 1
    assert found.data["first"]["value"] == "main/loop_2.body/better"
    assert treadle("compare", model, folder / "none.onnx", "-i", "a=4").code == 2
    unknown = treadle("compare", f"{model}@onnxruntim", model, "-i", "a=4")
    assert unknown.code == 2
    assert "the runtime is onnxruntim, wanted one of" in unknown.err


def test_report(treadle: Treadle, folder: Path) -> None:
    pytest.importorskip("igraph", reason="igraph, the extra `report`, is not installed")
    target = folder / "report.html"
    done = treadle("report", folder / "newton.onnxtxt", "-o", target, "-i", "a=4")
    assert done.code == 0
    assert f"wrote {target}" in done.err
    again = treadle("report", folder / "newton.onnxtxt", "-o", target, "--json")
    assert again.data["bytes"] == target.stat().st_size
    done = treadle("report", folder / "newton.onnxtxt", "-o", target, "-i", "a=4")
    assert '"main/loop_2.body/better"' in target.read_text(encoding="utf-8")
    assert treadle("report", folder / "newton.onnxtxt", "-o", folder / "report.png").code == 2


def test_report_against_another_model(treadle: Treadle, folder: Path) -> None:
    pytest.importorskip("igraph", reason="igraph, the extra `report`, is not installed")
    model, other = folder / "newton.onnxtxt", folder / "other.onnxtxt"
    other.write_text(model.read_text(encoding="utf-8").replace("better = Mul", "better = Add"))
    target = folder / "report.html"
    given = ("report", model, "-o", target, "-i", "a=4")
    assert treadle(*given, "--against", f"{model}@interp", "--json").data["agrees"]
    assert not treadle(*given, "--against", other, "--json").data["agrees"]
    assert "first difference" in target.read_text(encoding="utf-8")
    assert treadle(*given, "--names", "a=b").code == 2
    assert treadle(*given, "--against", folder / "none.npz").code == 2
