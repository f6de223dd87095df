"""The text form, by onnx's own parser and printer.

The parser is recursive and overflows the stack on thousands of nested graphs (measured on 1.23.2),
so the depth is checked first.
"""

from __future__ import annotations

import re

import onnx
import onnx.parser
import onnx.printer
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from treadle.errors import Unsupported
from treadle.formats.onnx.quoted import (
    quote,
    rename,
    unprintable_operators,
    with_identifiers,
    with_plain_operators,
)
from treadle.messages import brief

MAX_DEPTH = 400
_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|#[^\n]*|=>|[<>{}()\[\]]')
_PROTOBUF = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:ir_version|opset_import|graph|producer_\w+)\s*[:{]")
_OPENING, _CLOSING = frozenset("{<(["), frozenset("}>)]")


class TextProblem(Exception):
    """The text is not a model; the message tells where and why."""


def parse_text(text: str) -> onnx.ModelProto:
    """The model of a text; raises TextProblem."""
    depth = _depth(text)
    if depth > MAX_DEPTH:
        raise TextProblem(f"brackets are nested {depth} deep, at most {MAX_DEPTH} are read")
    try:
        return _parsed(text)
    except onnx.parser.ParseError as error:
        raise TextProblem(f"not a text model: {_reason(error)}") from None
    except TextProblem:
        raise
    except DecodeError:
        raise TextProblem("graphs are nested deeper than protobuf reads (about 30)") from None
    except Exception as error:  # noqa: BLE001  border: bad numbers are IndexError, RuntimeError ...
        raise TextProblem(f"not a text model: the parser failed on it ({error})") from None


def _parsed(text: str) -> onnx.ModelProto:
    if _PROTOBUF.match(text):
        return _from_protobuf_text(text)
    try:
        return onnx.parser.parse_model(text)
    except onnx.parser.ParseError:
        plain, names = with_identifiers(text)
        if not names:
            raise
        return rename(onnx.parser.parse_model(plain), names)


def print_text(proto: onnx.ModelProto) -> str:
    """Print the model as text; parts that onnx's text form lacks are lost, or raise Unsupported."""
    try:
        return _printed(proto) + "\n"
    except UnicodeDecodeError:
        why = "a string in it is no UTF-8 text; write it as .onnx"
        raise Unsupported("onnx's text form", None, why) from None
    except Exception as error:  # noqa: BLE001  border: the printer may raise anything
        raise Unsupported("onnx's text form", None, f"the printer failed ({error})") from None


def _printed(proto: onnx.ModelProto) -> str:
    text = onnx.printer.to_text(proto)
    odd = sorted(unprintable_operators(proto))
    if not odd:
        return text
    prefix = "operator"
    while prefix in text:
        prefix += "_"
    plain = {name: f"{prefix}{index}_" for index, name in enumerate(odd)}
    quoted = {identifier: quote(name) for name, identifier in plain.items()}
    text = onnx.printer.to_text(with_plain_operators(proto, plain))
    return re.sub(rf"{prefix}\d+_", lambda match: quoted[match.group()], text)


def _from_protobuf_text(text: str) -> onnx.ModelProto:
    try:
        proto: onnx.ModelProto = text_format.Parse(text, onnx.ModelProto())
    except text_format.ParseError as error:
        raise TextProblem(f"no ModelProto in protobuf's text form: {brief(str(error))}") from None
    return proto


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif token in _CLOSING:
            depth -= 1
    return deepest


def _reason(error: onnx.parser.ParseError) -> str:
    # the parser returns its message as bytes: position, context, what was expected
    message = error.args[0] if error.args else ""
    text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
    position, *rest = text.splitlines() or [""]
    found = re.search(r"line: (\d+) column: (\d+)", position)
    where = f"line {found.group(1)}, column {found.group(2)}: " if found else ""
    return where + "; ".join(line.strip() for line in rest if line.strip()).rstrip(".")
