"""External data is mapped, not copied, and must lie in the model's folder."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import treadle
from treadle.errors import DataError
from treadle.ir import DType


def model_with(location, offset="", length="", elements=TensorProto.FLOAT, dims=(2, 3)):
    tensor = TensorProto(name="w", data_type=elements, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", length)):
        if value != "":
            tensor.external_data.add(key=key, value=str(value))
    node = helper.make_node("Identity", ["w"], ["y"])
    output = helper.make_tensor_value_info("y", elements, dims)
    graph = helper.make_graph([node], "g", [], [output], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def saved(folder, proto, name="m.onnx"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(proto.SerializeToString())
    return folder / name


def weights(model):
    (constant,) = model.main.constants
    return constant.array


def test_data_are_mapped(tmp_path):
    (tmp_path / "w.bin").write_bytes(b"skip" + np.arange(6, dtype=np.float32).tobytes())

    array = weights(treadle.load(saved(tmp_path, model_with("w.bin", offset=4, length=24))))

    np.testing.assert_array_equal(array, np.arange(6, dtype=np.float32).reshape(2, 3))
    base = array
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_packed_int4(tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes([0x21, 0xF3]))
    proto = model_with("w.bin", elements=TensorProto.INT4, dims=(3,))

    array = weights(treadle.load(saved(tmp_path, proto)))

    assert array.dtype == DType.INT4.numpy
    assert array.astype(int).tolist() == [1, 2, 3]


def test_data_files_go_along_to_another_folder(tmp_path):
    (tmp_path / "w.bin").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    model = treadle.load(saved(tmp_path, model_with("w.bin")))
    (tmp_path / "other").mkdir()

    treadle.save(model, tmp_path / "other" / "m.onnx")

    proto = onnx.load(tmp_path / "other" / "m.onnx", load_external_data=False)
    assert proto.graph.initializer[0].data_location == TensorProto.EXTERNAL
    again = treadle.load(tmp_path / "other" / "m.onnx")
    np.testing.assert_array_equal(weights(again), weights(model))


@pytest.mark.parametrize(
    ("location", "offset", "reason"),
    [
        ("gone.bin", "", "is missing from"),
        ("", "", "outside the folder"),
        ("../w.bin", "", "outside the folder"),
        ("/etc/hostname", "", "outside the folder"),
        ("link.bin", "", "outside the folder"),
        ("w.bin", "4", "bytes 4 to 28 are wanted"),
        ("w.bin", "-4", "bytes -4 to 20 are wanted"),
        ("w.bin", "four", "must be whole numbers"),
    ],
)
def test_external_data_that_cannot_be_read_is_a_finding(tmp_path, location, offset, reason):
    (tmp_path / "w.bin").write_bytes(bytes(24))
    folder = tmp_path / "inner"
    path = saved(folder, model_with(location, offset=offset))
    (folder / "w.bin").write_bytes(bytes(24))
    (folder / "link.bin").symlink_to(tmp_path / "w.bin")

    with pytest.raises(DataError, match=reason) as caught:
        treadle.load(path)

    assert [found.code for found in caught.value.findings] == ["CF002"]
    assert '"w"' in str(caught.value)


def test_bytes_have_no_folder():
    with pytest.raises(DataError, match="load it by its path"):
        treadle.load(model_with("w.bin").SerializeToString())
