"""Prepared models on disk: the same outputs without reading or planning the model again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import treadle
from tests.conformance.data import EXPORTED, exported
from treadle import formats, plan
from treadle.jit.runtime import region_compiler

X = np.arange(6, dtype=np.float32).reshape(3, 2)
SCAN = """<ir_version: 8, opset_import: ["" : 17]>
main (float[T, 2] x, float[2] h0) => (float[2] h, float[T, 2] ys) {
    h, ys = Scan <num_scan_inputs = 1,
                  body = step (float[2] s, float[2] item) => (float[2] n, float[2] y) {
        a = Add(s, item)
        n = Tanh(a)
        y = Mul(n, item)
    }>(h0, x)
}"""
BRANCH = """<ir_version: 8, opset_import: ["" : 17]>
main (float[3, 2] x, bool c) => (float[3, 2] y) {
    y = If (c) <then_branch = t () => (float[3, 2] a) { a = Relu(x) },
                else_branch = e () => (float[3, 2] b) { b = Softmax(x) }>
}"""
WHOLE = """<ir_version: 8, opset_import: ["" : 17]>
main (int64[n] a, int64[n] b) => (int64[n] c) { m = Max(a, b)  c = Clip(m, a, b) }"""
TEXT = """<ir_version: 8, opset_import: ["" : 26]>
main (string[n] a, string[n] b) => (string[n] c) { c = StringConcat(a, b) }"""
CALLED = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
main (float[3, 2] x) => (float[3, 2] y) { y = own.twice(x) }
<domain: "own", opset_import: ["" : 17]> twice (x) => (y) { y = Add(x, x) }"""
WORDS = np.array(["a", "b"], object)
NUMBERS = np.array([2**40, -(2**62), 5]), np.array([7, 2**62, 5])
MODELS = {
    "scan": (SCAN, {"x": X, "h0": X[0]}),
    "branch": (BRANCH, {"x": X - 2, "c": np.array(False)}),
    "whole numbers": (WHOLE, {"a": NUMBERS[0], "b": NUMBERS[1]}),
    "text": (TEXT, {"a": WORDS, "b": WORDS}),
    "function": (CALLED, {"x": X}),
}

Open = Callable[..., treadle.InferenceSession]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """A session over bytes or a path, whose cache is a folder of the test."""

    def made(source: object, **settings: object) -> treadle.InferenceSession:
        options = treadle.SessionOptions(**{"cache_dir": str(tmp_path / "cache"), **settings})
        return treadle.InferenceSession(source, options)

    return made


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, reading, planning and lowering a model fail."""

    def forbid() -> None:
        def never(*_: object, **__: object) -> None:
            raise AssertionError("the model was prepared again")

        monkeypatch.setattr(formats, "read", never)
        monkeypatch.setattr(plan.planner, "_plan_block", never)
        monkeypatch.setattr(region_compiler, "specialize", never)

    return forbid


def source_of(text: str) -> bytes:
    return parser.parse_model(text).SerializeToString()


@pytest.mark.parametrize("name", MODELS)
def test_the_second_session_reads_nothing_and_answers_the_same(
    name: str, opened: Open, unread: Callable[[], None]
) -> None:
    text, feed = MODELS[name]
    first = opened(source_of(text))
    wanted = first.run(None, feed)
    unread()
    second = opened(source_of(text))
    for got, expected in zip(second.run(None, feed), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)
    assert second.get_inputs() == first.get_inputs()
    assert second.get_outputs() == first.get_outputs()


def test_the_first_kernel_is_stored_in_the_plan_file(
    tmp_path: Path, opened: Open, unread: Callable[[], None]
) -> None:
    wanted = opened(source_of(SCAN)).run(None, {"x": X, "h0": X[0]})
    (plan_file,) = (tmp_path / "cache").glob("plan-*")
    for other in set((tmp_path / "cache").iterdir()) - {plan_file}:
        other.unlink()
    unread()
    again = opened(source_of(SCAN)).run(None, {"x": X, "h0": X[0]})
    np.testing.assert_array_equal(again[1], wanted[1])


def test_weights_are_read_from_the_models_own_file(
    tmp_path: Path, opened: Open, unread: Callable[[], None], rng: np.random.Generator
) -> None:
    weights = {name: rng.random((100, 100), np.float32) for name in "abc"}
    weights["d"], weights["e"] = weights["a"], np.zeros((100, 100), np.float32)
    names = list("xebdac")
    steps = [onnx.helper.make_node("MatMul", [x, w], [f"x{w}"]) for x, w in _chained(names)]
    kept = [numpy_helper.from_array(each, name) for name, each in weights.items()]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        steps, "g", [value("x", 1, (2, 100))], [value("xc", 1, (2, 100))], kept
    )
    imports = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    source, feed = model.SerializeToString(), {"x": rng.random((2, 100), np.float32)}
    (wanted,) = opened(source).run(None, feed)
    size = sum(file.stat().st_size for file in (tmp_path / "cache").iterdir())
    assert size < 20_000
    unread()
    np.testing.assert_array_equal(opened(source).run(None, feed)[0], wanted)


def _chained(names: list[str]) -> list[tuple[str, str]]:
    values = ["x", *(f"x{name}" for name in names[1:])]
    return list(zip(values, names[1:], strict=False))


def test_a_cached_session_runs_other_lengths_and_listeners(opened: Open) -> None:
    opened(source_of(SCAN)).run(None, {"x": X, "h0": X[0]})
    again, plain = opened(source_of(SCAN)), opened(source_of(SCAN), cache_dir="")
    longer = {"x": np.concatenate([X, X]), "h0": X[0]}
    for got, wanted in zip(again.run(None, longer), plain.run(None, longer), strict=True):
        np.testing.assert_array_equal(got, wanted)
    events: list[object] = []
    again.run(None, longer, listener=events.append)
    assert sum(getattr(event, "name", "") == "n" for event in events) == 6
    assert str(again.explain()).splitlines()[0] == str(plain.explain()).splitlines()[0]


def test_other_bytes_and_other_options_are_other_models(tmp_path: Path, opened: Open) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(source_of(BRANCH))
    feed = MODELS["branch"][1]
    relu_free = opened(file).run(None, feed)[0]
    file.write_bytes(source_of(BRANCH.replace("Softmax(x)", "Neg(x)")))
    assert not np.array_equal(opened(file).run(None, feed)[0], relu_free)
    tight = treadle.LoadLimits(nodes=1)
    with pytest.raises(treadle.LoadLimitExceeded):
        opened(source_of(SCAN), load_limits=tight)


def test_tensors_in_other_files_are_read_again(tmp_path: Path, opened: Open) -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> main (float[2] x) => (float[2] y) '
        "<float[2] w = {1, 2}> { y = Mul(x, w) }"
    )
    tensor = model.graph.initializer[0]
    tensor.CopyFrom(numpy_helper.from_array(np.array([1, 2], np.float32), tensor.name))
    path, feed = tmp_path / "model.onnx", {"x": np.ones(2, np.float32)}
    onnx.save_model(
        model, path, save_as_external_data=True, location="weights", size_threshold=0,
        convert_attribute=True,
    )  # fmt: skip
    assert list(opened(path).run(None, feed)[0]) == [1, 2]
    (tmp_path / "weights").write_bytes(np.array([5, 6], np.float32).tobytes())
    assert list(opened(path).run(None, feed)[0]) == [5, 6]


def test_a_file_that_changes_while_it_is_read_is_not_kept(
    tmp_path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, feed = tmp_path / "model.onnx", MODELS["branch"][1]
    old, new = source_of(BRANCH), source_of(BRANCH.replace("Softmax(x)", "Neg(x)"))
    file.write_bytes(old)
    wanted = treadle.InferenceSession(old).run(None, feed)[0]
    read = formats.read

    def replaced(source: object, **more: object) -> object:
        file.write_bytes(new)
        return read(source, **more)

    with monkeypatch.context() as patched:
        patched.setattr(formats, "read", replaced)
        opened(file)
    file.write_bytes(old)
    np.testing.assert_array_equal(opened(file).run(None, feed)[0], wanted)


@pytest.mark.parametrize("damage", ["cut", "pickle", "empty"])
def test_a_damaged_file_is_replaced(damage: str, tmp_path: Path, opened: Open) -> None:
    feed = {"x": X, "h0": X[0]}
    wanted = opened(source_of(SCAN)).run(None, feed)
    for file in (tmp_path / "cache").glob("*.kernel"):
        data = file.read_bytes()
        spoilt = {"cut": data[:-9], "pickle": data[:40] + b"\x80\x05N.", "empty": b""}[damage]
        file.write_bytes(spoilt)
    for got, expected in zip(opened(source_of(SCAN)).run(None, feed), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.skipif(not EXPORTED, reason="the conformance data is not here")
@pytest.mark.parametrize("name", EXPORTED[::6])
def test_exporters_models_answer_the_same_from_disk(name: str, opened: Open) -> None:
    path, feed, _ = exported(name)
    wanted = opened(path).run(None, feed)
    for got, expected in zip(opened(path).run(None, feed), wanted, strict=True):
        np.testing.assert_array_equal(got, expected)
