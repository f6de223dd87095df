"""Recognises files that are not ONNX models, by content or name, with advice for each.

Users pass such files by mistake: next to the wanted one, or written by training. Suffixes and
signatures are from each format's own documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Other(NamedTuple):
    """A format that is not ONNX: its name in a sentence, and the advice."""

    name: str
    way: str


_KERAS_WAY = (
    'load it in Keras and call model.export("model.onnx", format="onnx"), or convert it with'
    " tf2onnx"
)
_PYTORCH = Other(
    "a PyTorch file",
    'load it in PyTorch and call torch.onnx.export(model, example_inputs, "model.onnx")',
)
_PICKLE = Other(
    "a Python pickle",
    "load it in Python and export it: torch.onnx.export for PyTorch, skl2onnx.to_onnx for"
    " scikit-learn",
)
_TFLITE = Other(
    "a TensorFlow Lite model",
    "convert it: python -m tf2onnx.convert --tflite model.tflite --output model.onnx",
)
_SAFETENSORS = Other(
    "weights in safetensors, which hold no graph",
    "export the model they belong to, as optimum-cli export onnx does for Hugging Face models",
)
_KERAS = Other("a Keras model", _KERAS_WAY)
_HDF5 = Other("an HDF5 file, as Keras writes them", _KERAS_WAY)
_TENSORFLOW = Other(
    "a TensorFlow graph",
    "convert its folder: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx",
)
_PROTOBUF = Other(
    "some other protobuf file: a TensorFlow graph, or a tensor of ONNX's test data",
    "for TensorFlow: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx",
)
_CORE_ML = Other(
    "a Core ML model",
    "export the model it was made of, or convert it with onnxmltools.convert_coreml",
)
_TENSORRT = Other(
    "a TensorRT engine, compiled for one kind of GPU", "give the ONNX model it was built from"
)
_GGUF = Other(
    "weights in GGUF, which hold no graph", "export the model they were converted from to ONNX"
)
_PADDLE = Other(
    "a PaddlePaddle model",
    "convert it: paddle2onnx --model_dir FOLDER --model_filename FILE --save_file model.onnx",
)
_CAFFE = Other("a Caffe model", "convert it with a converter of Caffe models to ONNX")
_WEIGHTS = Other(
    "a file of weights or raw data, which holds no graph",
    "give the model they belong to: the .onnx, or for OpenVINO IR the .xml of the same name",
)
_ARRAYS = Other(
    "a file of numpy arrays",
    "give the model; arrays are what it is fed, as treadle run MODEL --input FILE does",
)
_ORT = Other(
    "a model in onnxruntime's own format (ORT)", "give the .onnx file it was converted from"
)
_GIT_LFS = Other("a Git LFS pointer, not the file itself", "fetch the file: git lfs pull")
_WEB_PAGE = Other("a web page", "download the file itself, not the page about it")
_XML = Other("XML", "if it is OpenVINO IR, give it a name that ends in .xml")
_GZIP = Other("a gzip archive", "unpack it first")
_ZIP = Other("a zip archive", "unpack it first, or export it if a framework wrote it")
_JSON = Other("JSON", "give the ONNX model; export it from the framework that wrote this file")
_TEXT_MODEL = Other("a text model", "give it a name that ends in .onnxtxt")

_BY_SUFFIX: Mapping[str, Other] = {
    ".pt": _PYTORCH,
    ".pth": _PYTORCH,
    ".pt2": _PYTORCH,
    ".ckpt": _PYTORCH,
    ".torchscript": _PYTORCH,
    ".pkl": _PICKLE,
    ".pickle": _PICKLE,
    ".joblib": _PICKLE,
    ".tflite": _TFLITE,
    ".safetensors": _SAFETENSORS,
    ".h5": _HDF5,
    ".hdf5": _HDF5,
    ".keras": _KERAS,
    ".pb": _PROTOBUF,
    ".pbtxt": _TENSORFLOW,
    ".mlmodel": _CORE_ML,
    ".mlpackage": _CORE_ML,
    ".engine": _TENSORRT,
    ".plan": _TENSORRT,
    ".trt": _TENSORRT,
    ".gguf": _GGUF,
    ".pdmodel": _PADDLE,
    ".pdiparams": _PADDLE,
    ".caffemodel": _CAFFE,
    ".prototxt": _CAFFE,
    ".bin": _WEIGHTS,
    ".data": _WEIGHTS,
    ".weights": _WEIGHTS,
    ".npz": _ARRAYS,
    ".npy": _ARRAYS,
    ".ort": _ORT,
    ".json": _JSON,
}
_SIGNATURES: tuple[tuple[int, bytes, Other], ...] = (
    (0, b"version https://git-lfs", _GIT_LFS),
    (4, b"TFL3", _TFLITE),
    (4, b"ORTM", _ORT),
    (0, b"\x89HDF\r\n\x1a\n", _HDF5),
    (0, b"GGUF", _GGUF),
    (0, b"ftrt", _TENSORRT),
    (0, b"ptrt", _TENSORRT),
    (0, b"\x93NUMPY", _ARRAYS),
    (0, b"\x1f\x8b", _GZIP),
    (8, b'{"', _SAFETENSORS),
)
_TEXT_STARTS: tuple[tuple[bytes, Other], ...] = (
    (b"<!doctype html", _WEB_PAGE),
    (b"<html", _WEB_PAGE),
    (b"<?xml", _XML),
    (b"<net", _XML),
    (b"<ir_version", _TEXT_MODEL),
    (b"< ir_version", _TEXT_MODEL),
    (b"{", _JSON),
)
_ZIP_START = b"PK\x03\x04"
_PICKLE_START = b"\x80"
_FOLDERS = {"saved_model.pb": _TENSORFLOW, "Manifest.json": _CORE_ML}
_HEAD = 64


def other_format(data: bytes, suffix: str = "") -> Other | None:
    """The format of a file that is not an ONNX model, by its first bytes, else by its suffix."""
    suffix = suffix.lower()
    for offset, signature, other in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return other
    if data.startswith(_ZIP_START):  # PyTorch, Keras and numpy all write zip archives
        return _BY_SUFFIX.get(suffix, _ZIP)
    start = data[:_HEAD].lstrip().lower()
    for beginning, other in _TEXT_STARTS:
        if start.startswith(beginning):
            return other
    if suffix not in _BY_SUFFIX and data.startswith(_PICKLE_START) and data[1:2] <= b"\x05":
        return _PICKLE
    return _BY_SUFFIX.get(suffix)


def other_folder(names: Mapping[str, object] | set[str], suffix: str) -> Other | None:
    """The content of a folder given as a model, by its suffix or the files in it."""
    named = _BY_SUFFIX.get(suffix.lower())
    return named or next((kind for name, kind in _FOLDERS.items() if name in names), None)
