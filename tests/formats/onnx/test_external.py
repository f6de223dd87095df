"""External data is mapped where it is long, and must lie in the model's folder."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import treadle
from treadle import surgery
from treadle.errors import DataError, InputError
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


def test_long_data_are_mapped(tmp_path):
    numbers = np.arange(2**20, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(b"skip" + numbers.tobytes())
    proto = model_with("w.bin", offset=4, length=2**22, dims=(2, 2**19))

    array = weights(treadle.load(saved(tmp_path, proto)))

    np.testing.assert_array_equal(array, numbers.reshape(2, 2**19))
    base = array
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


@pytest.mark.parametrize("engines", [None, ("interp",)])
def test_short_data_that_are_cut_off_later_stay(tmp_path, engines):
    model = treadle.load(model_and_data(tmp_path / "a"))
    session = treadle.InferenceSession(model, engines=engines)
    os.truncate(tmp_path / "a" / "w.bin", 0)

    np.testing.assert_array_equal(weights(model).ravel(), NUMBERS)
    np.testing.assert_array_equal(session.run(None, {})[0].ravel(), NUMBERS)


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
        ("../inner/w.bin", "", "outside the folder"),
        ("sub/../../inner/w.bin", "", "outside the folder"),
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


NUMBERS = np.arange(6, dtype=np.float32)


def model_and_data(folder, location="w.bin", numbers=NUMBERS, name="m.onnx"):
    """The path of a model in a new folder, and its data file beside it."""
    path = saved(folder, model_with(location), name)
    (folder / location).write_bytes(numbers.tobytes())
    return path


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["w.onnx", "link.onnx"])
def test_a_model_is_not_written_over_its_own_data(tmp_path, name):
    folder = tmp_path / "a"
    model = treadle.load(model_and_data(folder, "w.onnx"))
    (folder / "link.onnx").symlink_to(folder / "w.onnx")
    before = files_of(folder)

    with pytest.raises(InputError, match="tensors of the model are read from this file"):
        treadle.save(model, folder / name)

    assert files_of(folder) == before


def test_layers_are_not_written_over_data_of_the_model(tmp_path):
    """An .xml takes its .bin along, which nobody names."""
    folder = tmp_path / "a"
    path = saved(folder, model_with("w.bin", dims=(40, 30)))
    numbers = np.arange(1200, dtype=np.float32)
    (folder / "w.bin").write_bytes(numbers.tobytes())
    before = files_of(folder)

    with pytest.raises(InputError, match=r'w.bin" cannot be written: tensors of the model'):
        treadle.save(path, folder / "w.xml")

    assert files_of(folder) == before
    treadle.save(path, folder / "v.xml")
    (again,) = treadle.InferenceSession(folder / "v.xml").run(None, {})
    np.testing.assert_array_equal(again, numbers.reshape(40, 30))
    treadle.save(folder / "v.xml", folder / "v.xml")
    (again,) = treadle.InferenceSession(folder / "v.xml").run(None, {})
    np.testing.assert_array_equal(again, numbers.reshape(40, 30))


def test_data_in_the_model_file_itself_do_not_replace_the_saved_model(tmp_path):
    model = treadle.load(model_and_data(tmp_path / "a", "w.onnx"))
    (tmp_path / "b").mkdir()

    with pytest.raises(InputError, match="belong in a file of this name"):
        treadle.save(model, tmp_path / "b" / "w.onnx")
    assert files_of(tmp_path / "b") == {}

    treadle.save(model, tmp_path / "b" / "w.onnx", external_data=False)
    np.testing.assert_array_equal(weights(treadle.load(tmp_path / "b" / "w.onnx")).ravel(), NUMBERS)


def test_data_of_another_model_stay(tmp_path):
    first = treadle.load(model_and_data(tmp_path / "a"))
    model_and_data(tmp_path / "b", numbers=-NUMBERS)

    with pytest.raises(InputError, match="holds other data; save the model with external_data"):
        treadle.save(first, tmp_path / "b" / "n.onnx")

    assert not (tmp_path / "b" / "n.onnx").exists()
    np.testing.assert_array_equal(
        weights(treadle.load(tmp_path / "b" / "m.onnx")).ravel(), -NUMBERS
    )
    treadle.save(first, tmp_path / "a" / "n.onnx")
    (tmp_path / "c").mkdir()
    for name in ("m.onnx", "n.onnx"):  # the same data
        treadle.save(first, tmp_path / "c" / name)
        np.testing.assert_array_equal(weights(treadle.load(tmp_path / "c" / name)).ravel(), NUMBERS)


def test_data_that_are_replaced_stay_for_who_has_read_them(tmp_path):
    first = treadle.load(model_and_data(tmp_path / "a"))
    old = treadle.load(model_and_data(tmp_path / "b", numbers=-NUMBERS))

    treadle.save(first, tmp_path / "b" / "m.onnx")

    np.testing.assert_array_equal(weights(old).ravel(), -NUMBERS)
    np.testing.assert_array_equal(weights(treadle.load(tmp_path / "b" / "m.onnx")).ravel(), NUMBERS)


def test_a_model_whose_data_are_gone_is_not_half_written(tmp_path):
    model = treadle.load(model_and_data(tmp_path / "a"))
    (tmp_path / "a" / "w.bin").unlink()

    with pytest.raises(InputError, match=r'the data file ".*w.bin" is gone; save the model with'):
        treadle.save(model, tmp_path / "a" / "n.onnx")
    assert not (tmp_path / "a" / "n.onnx").exists()

    treadle.save(model, tmp_path / "a" / "n.onnx", external_data=False)
    np.testing.assert_array_equal(weights(treadle.load(tmp_path / "a" / "n.onnx")).ravel(), NUMBERS)


def test_two_data_files_of_one_name_are_refused(tmp_path):
    first, second = [
        surgery.rename(model_and_data(tmp_path / name, numbers=numbers), prefix=f"{name}_")
        for name, numbers in (("a", NUMBERS), ("b", -NUMBERS))
    ]
    merged = surgery.merge(first, second, {})
    (tmp_path / "c").mkdir()

    with pytest.raises(InputError, match=r'from two files named "w.bin"'):
        treadle.save(merged, tmp_path / "c" / "m.onnx")
    assert files_of(tmp_path / "c") == {}

    treadle.save(merged, tmp_path / "c" / "m.onnx", external_data=False)
    found = treadle.InferenceSession(tmp_path / "c" / "m.onnx").run(None, {})
    np.testing.assert_array_equal([each.ravel() for each in found], [NUMBERS, -NUMBERS])
