"""Reduced models are small, and the command still fails on them."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

import treadle
from treadle.cli.main import main
from treadle.ir import Loop, walk

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
main (float[T, 3] x, float[3] h0, bool c, int64 n) => (float[3] h, float[T, 3] ys, float[3] z) {
    scaled = Mul(x, x)
    moved = Add(scaled, x)
    h, ys = Scan <num_scan_inputs = 1, body = step (float[3] s, float[3] item)
        => (float[3] next, float[3] y) {
        a = Add(s, item)
        b = Softplus(a)
        next = Tanh(b)
        y = If (c) <then_branch = t () => (float[3] p) { q = Erf(next) p = Neg(q) },
                    else_branch = e () => (float[3] r) { r = Exp(next) }>
    }>(h0, moved)
    k = Constant<value = bool {1}>()
    z = Loop (n, k, h) <body = again (int64 i, bool d, float[3] v) => (bool d2, float[3] w) {
        d2 = Identity(d)
        w = Sin(v)
    }>
}"""


def reduced(tmp_path: Path, command: str, *more: str) -> tuple[onnx.ModelProto, dict]:
    path, folder = tmp_path / "model.onnx", tmp_path / "small"
    treadle.save(treadle.load(MODEL), path)
    feeds = {
        "x": np.ones((9, 3), np.float32), "h0": np.zeros(3, np.float32),
        "c": np.array(True), "n": np.array(7),
    }  # fmt: skip
    np.savez(tmp_path / "in.npz", **feeds)
    given = ["reduce", str(path), "--input", str(tmp_path / "in.npz"), "--check", command]
    ran = CliRunner().invoke(main, [*given, "-o", str(folder), "--json", *more])
    assert ran.exit_code == 0, ran.output
    return onnx.load(folder / "model.onnx"), json.loads(ran.stdout)


def operators(model: onnx.ModelProto) -> list[str]:
    return [type_ for type_ in _operators(model.graph)]


def _operators(graph: onnx.GraphProto) -> list[str]:
    found = []
    for node in graph.node:
        found.append(node.op_type)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += _operators(attribute.g)
    return found


def test_one_operator_of_a_branch_in_a_body_is_left(tmp_path: Path) -> None:
    model, told = reduced(tmp_path, "! grep -aq Erf {model}")
    assert "Erf" in operators(model)
    assert told["done"]
    assert told["nodes"] <= 2
    onnx.checker.check_model(model, full_check=True)
    text = (tmp_path / "small" / "README.md").read_text(encoding="utf-8")
    assert "ended with code 1" in text


def test_a_loop_that_matters_stays_with_few_iterations(tmp_path: Path) -> None:
    model, _ = reduced(tmp_path, "! (grep -aq Loop {model} && grep -aq Sin {model})")
    loaded = treadle.load(model)
    assert any(isinstance(visit.step, Loop) for visit in walk(loaded))
    assert {"Loop", "Sin"} <= set(operators(model))
    assert "Scan" not in operators(model)


def test_an_interrupted_search_continues(tmp_path: Path) -> None:
    command = "! grep -aq Erf {model}"
    _, first = reduced(tmp_path, command, "--tries", "4")
    assert (first["done"], first["tries"]) == (False, 4)
    _, second = reduced(tmp_path, command)
    assert second["done"]
    assert second["nodes"] < first["nodes"]
    _, third = reduced(tmp_path, command)
    assert (third["tries"], third["nodes"]) == (0, second["nodes"])


def test_another_failure_is_not_the_failure(tmp_path: Path) -> None:
    command = "grep -aq Erf {model} || exit 9; grep -aq Softplus {model} && exit 3; exit 0"
    model, told = reduced(tmp_path, command)
    assert told["code"] == 3
    assert {"Erf", "Softplus"} <= set(operators(model))


def test_a_command_that_hangs_fails_too(tmp_path: Path) -> None:
    _, told = reduced(
        tmp_path, "grep -aq Erf {model} && sleep 9; exit 0", "--timeout", "0.3", "--tries", "3"
    )
    assert told["code"] is None


@pytest.mark.parametrize("command", ["true", "test -f {inputs} && test -f {model}"])
def test_a_command_that_does_not_fail_is_said(command: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    treadle.save(treadle.load(MODEL), path)
    given = ["reduce", str(path), "--random", "--dim", "T=2", "-o", str(tmp_path / "small")]
    ran = CliRunner().invoke(main, [*given, "--check", command])
    assert ran.exit_code == 1
    assert "does not fail on the model" in ran.output
