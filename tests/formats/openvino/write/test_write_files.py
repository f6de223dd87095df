"""Written files: constants in the .bin, names, variables, the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper, numpy_helper

import treadle
from tests.formats.openvino.fixtures import DATA, NAMES, differences, feeds
from tests.formats.openvino.write.written import layers, net, run, text, write
from treadle.cli.main import main
from treadle.errors import InputError
from treadle.formats import openvino
from treadle.formats.openvino.xml import parse

RANKS_DIFFER = {"onnx_if_rank_differs"}
STATES = {"state_readvalue"}
PACKED = (
    (TensorProto.INT4, [-8, 7, -1, 3, 0]),
    (TensorProto.UINT4, [15, 0, 9, 1, 2]),
    (TensorProto.FLOAT8E4M3FN, [0.5, -2.0, 448.0]),
    (TensorProto.FLOAT8E5M2, [0.5, -2.0, 57344.0]),
    (TensorProto.BFLOAT16, [0.5, -2.0, 3.0]),
    (TensorProto.FLOAT16, [0.5, -2.0, 3.0]),
)
FIXTURES = [name for name in NAMES if name not in RANKS_DIFFER and (DATA / f"{name}.bin").exists()]


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_written_again_give_the_recorded_outputs(name: str, tmp_path: Path) -> None:
    treadle.save(DATA / f"{name}.xml", tmp_path / "first.onnx", external_data=False)
    for source in (DATA / f"{name}.xml", tmp_path / "first.onnx"):
        path = write(source, tmp_path)
        for feed in feeds(name):
            session = treadle.InferenceSession(path, engines=["interp"])
            names = [output.name for output in session.get_outputs()]
            given = {k: v for k, v in feed.inputs.items() if name not in STATES or "state" not in k}
            made = dict(zip(names, session.run(None, given), strict=True))
            assert differences(made, feed.outputs) == [] or name in STATES


def test_a_variable_stays_one(tmp_path: Path) -> None:
    body = net(DATA / "state_readvalue.xml", tmp_path).body
    assert len(layers(body, "ReadValue")) == len(layers(body, "Assign")) == 1


def test_the_records_are_those_of_the_text(tmp_path: Path) -> None:
    path = write(DATA / "loop_nested.xml", tmp_path)
    records = parse(path.read_bytes())
    assert openvino.print_net(records) == path.read_text()
    assert parse(openvino.print_net(records).encode()) == records


def test_equal_bytes_lie_once_and_aligned(tmp_path: Path) -> None:
    weights = np.arange(100, dtype=np.float32)
    nodes = [
        helper.make_node("Add", ["x", "one"], ["a"]),
        helper.make_node("Add", ["a", "two"], ["b"]),
        helper.make_node("Add", ["b", "three"], ["y"]),
    ]
    tensors = [numpy_helper.from_array(weights, "one"), numpy_helper.from_array(weights, "two")]
    tensors.append(numpy_helper.from_array(weights + 1, "three"))
    ports = [helper.make_tensor_value_info(name, 1, [100]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    constants = layers(net(model, tmp_path).body, "Const")
    offsets = [int(layer.data["offset"]) for layer in constants]
    assert len(offsets) == 3
    assert len(set(offsets)) == 2
    assert all(offset % 64 == 0 for offset in offsets)
    assert (tmp_path / "model.bin").stat().st_size == max(offsets) + weights.nbytes


@pytest.mark.parametrize(("dtype", "numbers"), PACKED)
def test_constants_of_every_kind_come_back(
    dtype: int, numbers: list[float], tmp_path: Path
) -> None:
    tensor = helper.make_tensor("w", dtype, [len(numbers)], numbers)
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    ports = [helper.make_tensor_value_info("y", 1, [len(numbers)])]
    graph = helper.make_graph([node], "g", [], ports, [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (made,) = run(write(model, tmp_path), {})
    np.testing.assert_array_equal(made, np.array(numbers, np.float32))


def test_outputs_keep_their_names_and_never_share_a_tensor(tmp_path: Path) -> None:
    body = "y = Identity(x) z = Identity(x) w = Neg(x) v = Identity(w)"
    model = text("float[2] x", "float[2] y, float[2] z, float[2] w, float[2] v", body)
    records = net(model, tmp_path).body
    results = layers(records, "Result")
    assert [layer.output_names for layer in results] == [("y",), ("z",), ("w",), ("v",)]
    sources = [e.from_layer for e in records.edges if e.to_layer in {r.id for r in results}]
    assert len(set(sources)) == 4
    assert layers(records, "Parameter")[0].id not in sources


def test_inputs_with_a_default_are_constants(tmp_path: Path) -> None:
    model = treadle.load(text("float[2] x", "float[2] y", "w = Constant <value_float = 2.0> ()"
                              " y = Mul(x, w)"))  # fmt: skip
    assert [p.name for p in treadle.load(write(model, tmp_path)).main.params] == ["x"]


def test_dims_that_are_not_known_stay_open(tmp_path: Path) -> None:
    (layer,) = layers(net(text("float[n, 3] x", "y", "y = Neg(x)"), tmp_path).body, "Parameter")
    assert layer.data["shape"] == "?,3"
    assert layer.outputs[0].dims == (-1, 3)


def test_a_model_may_replace_the_files_it_is_read_from(tmp_path: Path) -> None:
    for suffix in (".xml", ".bin"):
        (tmp_path / f"model{suffix}").write_bytes((DATA / f"onnx_lstm{suffix}").read_bytes())
    path = tmp_path / "model.xml"
    wanted = [run(path, feed.inputs) for feed in feeds("onnx_lstm")]
    treadle.save(path, path)
    made = [run(path, feed.inputs) for feed in feeds("onnx_lstm")]
    for one, two in zip(made, wanted, strict=True):
        for left, right in zip(one, two, strict=True):
            np.testing.assert_allclose(left, right, 1e-6)


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        treadle.save(text("float[2] x", "y", "y = Neg(x)"), tmp_path / "none" / "model.xml")


def test_the_command_writes_and_refuses(tmp_path: Path) -> None:
    source, target = tmp_path / "model.onnxtxt", tmp_path / "model.xml"
    source.write_text(text("float[2] x", "float[2] y", "y = Neg(x)"))
    done = CliRunner().invoke(main, ["convert", str(source), "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert target.exists()
    source.write_text(text("float[2] x", "float[2] y", "y = RandomNormalLike(x)"))
    done = CliRunner().invoke(main, ["convert", str(source), "-o", str(target)])
    assert done.exit_code == 1
    assert "RandomNormalLike" in done.output
