"""Files of other formats are named in the error, with a way to an ONNX model."""

import io
import zipfile

import pytest

import treadle

ZIP = io.BytesIO()
with zipfile.ZipFile(ZIP, "w") as archive:
    archive.writestr("data.pkl", "x")

FILES = {
    "m.pt": (ZIP.getvalue(), "a PyTorch file; .*torch.onnx.export"),
    "m.pth": (b"\x80\x02}q\x00.", "a PyTorch file; .*torch.onnx.export"),
    "m.tflite": (b"\x1c\0\0\0TFL3\0\0", "a TensorFlow Lite model; .*tf2onnx.convert --tflite"),
    "m.safetensors": (b'\x08\0\0\0\0\0\0\0{"a": 1}', "safetensors.*optimum-cli export onnx"),
    "m.h5": (b"\x89HDF\r\n\x1a\n\0", "an HDF5 file, .*Keras.*model.export"),
    "m.keras": (ZIP.getvalue(), "a Keras model; .*model.export"),
    "m.pb": (b"\x0a\x05\x0a\x01x\x12\x00", "a TensorFlow graph.*--saved-model"),
    "m.mlmodel": (b"\x08\x04\x12\x02\x0a\x00", "a Core ML model; .*onnxmltools"),
    "m.engine": (b"ftrt\x00\x00", "a TensorRT engine.*built from"),
    "m.plan": (b"\x01\x02\x03", "a TensorRT engine.*built from"),
    "m.bin": (b"\0" * 64, r"no graph; .*\.xml of the same name"),
    "m.onnx": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer.*git lfs pull"),
    "page.onnx": (b"\n<!DOCTYPE html>\n<html>", "a web page"),
    "text.onnx": (b"<ir_version: 10>\ng () => () {}", r"a text model; .*\.onnxtxt"),
    "layers.onnx": (b'<?xml version="1.0"?>\n<net/>', r"XML; .*\.xml"),
    "m.onnx.gz": (b"\x1f\x8b\x08\x00", "a gzip archive; unpack it"),
    "scaler.pkl": (b"\x80\x04\x95", "a Python pickle; .*skl2onnx"),
}


@pytest.mark.parametrize("name", FILES)
def test_another_format_is_called_by_its_name(tmp_path, name):
    content, words = FILES[name]
    (tmp_path / name).write_bytes(content)

    with pytest.raises(treadle.LoadError, match=words) as caught:
        treadle.load(tmp_path / name)

    assert name in str(caught.value)


def test_a_saved_model_is_a_folder(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"")

    with pytest.raises(treadle.LoadError, match=r"a TensorFlow graph; .*--saved-model"):
        treadle.load(tmp_path)


def test_a_folder_of_unknown_format(tmp_path):
    with pytest.raises(treadle.LoadError, match="a folder, give a file"):
        treadle.load(str(tmp_path))


def test_an_onnx_file_is_recognised_by_its_content(tmp_path):
    model = treadle.load("g (float x) => (float y) { y = Neg(x) }")
    treadle.save(model, tmp_path / "m.onnx")
    (tmp_path / "m.pb").write_bytes((tmp_path / "m.onnx").read_bytes())

    assert len(treadle.load(tmp_path / "m.pb").main.steps) == 1
