"""Converts a user's source to a ModelProto: path, bytes, text, another library's model."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import onnx
import onnx.parser
from google.protobuf.message import DecodeError

from treadle.arguments import shown
from treadle.formats.onnx.other_formats import Other, other_folder, other_format
from treadle.formats.onnx.text import TextProblem, parse_text
from treadle.formats.onnx.utf8 import has_only_text
from treadle.limits import read_whole

_TEXT_SUFFIXES = {".onnxtxt", ".txt", ".onnxtext", ".textproto"}


class NoModel(Exception):
    """The source is not an ONNX model; the message tells why."""


class Source(NamedTuple):
    """A model and the folder of its external data, if it came from a file."""

    proto: onnx.ModelProto
    folder: Path | None


def open_source(source: object) -> Source:
    """The ModelProto of a source; raises NoModel."""
    if isinstance(source, onnx.ModelProto):
        return Source(_with_graph(source, "this ModelProto"), None)
    if isinstance(source, bytes | bytearray | memoryview):
        return Source(_parse(bytes(source), "these bytes"), None)
    if is_text(source):
        return Source(_parse_text(source, "this text"), None)
    if isinstance(source, str | os.PathLike):
        if not os.fspath(source):
            raise NoModel("the path is empty")
        return _open_file(Path(source))
    return Source(_from_library(source), None)


def is_text(source: object) -> TypeGuard[str]:
    """Whether it is a model as text, on one line or many, rather than a path."""
    if not isinstance(source, str):
        return False
    return "\n" in source or "=>" in source or source.lstrip().startswith("<")


def text_of(source: object) -> str | None:
    """The text of a source that is a text model; None for any other source."""
    if is_text(source):
        return source
    if not isinstance(source, str | os.PathLike) or Path(source).suffix not in _TEXT_SUFFIXES:
        return None
    if not Path(source).is_file():  # a pipe is read once
        return None
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _open_file(path: Path) -> Source:
    data = _data_of(path)
    if path.suffix not in _TEXT_SUFFIXES:
        return Source(_parse(data, f'"{path}"', path.suffix), path.parent)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NoModel(f'"{path}" is named as text but holds no text') from None
    return Source(_parse_text(text, f'"{path}"'), path.parent)


def _data_of(path: Path) -> bytes:
    try:
        if path.is_dir():
            other = other_folder(set(os.listdir(path)), path.suffix)
            raise NoModel(f'"{path}" is {_called(other) if other else "a folder, give a file"}')
        return read_whole(path)
    except OSError as error:
        raise NoModel(
            f'"{path}" cannot be read: {(error.strerror or str(error)).lower()}'
        ) from None
    except ValueError as error:  # a path no system has: a NUL in it, a lone surrogate
        raise NoModel(f"{str(path)!r} is not a path: {error}") from None


def _parse(data: bytes, what: str, suffix: str = "") -> onnx.ModelProto:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        other = other_format(data, suffix)
        raise NoModel(
            f"{what} is {_called(other)}"
            if other
            else f"{what}: not an ONNX model, or a truncated one ({len(data)} bytes)"
        ) from None
    if not proto.HasField("graph"):
        other = other_format(data, suffix)
        if other is not None:
            raise NoModel(f"{what} is {_called(other)}")
    return _with_graph(proto, what)


def _called(other: Other) -> str:
    return f"{other.name}; {other.way}"


def _with_graph(proto: onnx.ModelProto, what: str) -> onnx.ModelProto:
    if not proto.HasField("graph"):
        raise NoModel(f"{what}: not an ONNX model: it holds no graph ({proto.ByteSize()} bytes)")
    if not has_only_text(proto):
        raise NoModel(f"{what}: a damaged ONNX model, a name in it is no UTF-8 text")
    return proto


def _parse_text(text: str, what: str) -> onnx.ModelProto:
    try:
        return parse_text(text)
    except TextProblem as problem:
        raise NoModel(f"{what}: {problem}") from None


def _from_library(source: Any) -> onnx.ModelProto:
    # an onnxscript function offers to_model_proto; an onnx_ir.Model is written by its library
    to_proto = getattr(source, "to_model_proto", None)
    if to_proto is None and type(source).__module__.split(".")[0] == "onnx_ir":
        library: Any = sys.modules["onnx_ir"]
        to_proto = getattr(library, "to_proto", None) or library.serde.serialize_model
        proto = to_proto(source)
    elif to_proto is not None:
        proto = to_proto()
    else:
        raise NoModel(
            f"{shown(source)} is not a model; give a path, bytes, text, a ModelProto,"
            " an onnx_ir.Model or an onnxscript function"
        )
    if not isinstance(proto, onnx.ModelProto):
        given, made = shown(source), shown(proto)
        raise NoModel(f"{given} gives {made}, not a ModelProto")
    return proto
