"""The text form, by onnx's own parser and printer.

The parser is recursive and overflows the stack on thousands of nested graphs (measured on 1.23.2), so
the depth is looked at first.
"""

from __future__ import annotations

import re

import onnx
import onnx.parser
import onnx.printer

MAX_DEPTH = 400
_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|#[^\n]*|[<>{}()\[\]]')
_OPENING, _CLOSING = "{<([", "}>)]"


class TextProblem(Exception):  # noqa: N818 - a fact about the source
    """The text is no model; the message says where and why."""


def parse_text(text: str) -> onnx.ModelProto:
    """The model of a text; raises TextProblem."""
    depth = _depth(text)
    if depth > MAX_DEPTH:
        raise TextProblem(f"brackets are nested {depth} deep, at most {MAX_DEPTH} are read")
    try:
        return onnx.parser.parse_model(text)
    except onnx.parser.ParseError as error:
        raise TextProblem(f"no text model: {_reason(str(error))}") from None


def print_text(proto: onnx.ModelProto) -> str:
    """The model as text; what onnx's text form cannot hold is lost."""
    return onnx.printer.to_text(proto) + "\n"


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


def _reason(message: str) -> str:
    found = re.search(r"position:\s*\(line:\s*(\d+)\s*column:\s*(\d+)\)", message)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    reason = next((line for line in lines if "position" in line.lower()), lines[0] if lines else "")
    reason = re.sub(r"^\[ParseError at position.*?\]\s*", "", reason)
    where = f"line {found.group(1)}, column {found.group(2)}: " if found else ""
    return f"{where}{reason}"
