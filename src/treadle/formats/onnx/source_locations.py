"""Locates paths in a text model: onnx's parser keeps no positions, so the text is scanned again.

    blocks   name (inputs) => (outputs) <values> { node node ... }       main, P.body, P.branches[0]
    nodes    [label] outputs = domain.Op:overload <attributes> (inputs)  P/op_3

The scanner is for texts that onnx's parser has read; it finds blocks by `=>` and nodes by `=`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from treadle.errors import Finding
from treadle.ir import path_segment

_TOKENS = re.compile(
    r'(?P<skip>\s+|#[^\n]*)|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<name>[A-Za-z_][\w.]*)'
    r"|(?P<mark>=>|[^\s])"
)
_CLOSES = {")": "(", ">": "<", "]": "[", "}": "{"}
_QUOTED = re.compile(r'"([^"]*)"')
_FIRST_WORD = re.compile(r"\S+")
_IN_MESSAGE = re.compile(r"line (\d+), column (\d+)")


class Token(NamedTuple):
    """A name or a punctuation mark; `is_name` for names, quoted or not."""

    text: str
    is_name: bool
    line: int
    column: int


@dataclass(slots=True)
class _Frame:
    """An open bracket: of a block, if `path` is set, or of anything else."""

    opening: str
    path: str = ""
    nodes: int = 0
    started: int = -1
    node: str = ""
    complete: bool = True
    attribute: str = ""
    fresh: bool = True
    item: int = 0
    head: int = -1
    arrow: bool = False


@dataclass(slots=True)
class SourceLocations:
    """The tokens of a text, and the range of tokens of each path."""

    tokens: Sequence[Token]
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def find(self, path: str, names: Iterable[str]) -> Token | None:
        """The first of the names inside the path's text, else the start of the path."""
        span = self.spans.get(path)
        while span is None and path:
            path = re.sub(r"[./]?[^./]*$", "", path)
            span = self.spans.get(path)
        if span is None:
            return None
        within = self.tokens[span[0] : span[1]]
        for name in names:
            for token in within:
                if token.is_name and token.text == name:
                    return token
        return within[0]


def located(text: str, functions: Sequence[str], findings: Iterable[Finding]) -> list[Finding]:
    """The findings with line and column; `functions` are the paths of the text's functions."""
    places: SourceLocations | None = None
    found = []
    for finding in findings:
        said = _IN_MESSAGE.search(finding.message) if finding.code == "CF001" else None
        if said is not None:
            finding = replace(finding, line=int(said[1]), column=int(said[2]))
        elif finding.path and finding.line is None:
            places = places or scan(text, functions)
            token = places.find(finding.path, _names(finding.message))
            if token is not None:
                finding = replace(finding, line=token.line, column=token.column)
        found.append(finding)
    return found


def _names(message: str) -> Iterator[str]:
    yield from _QUOTED.findall(message)
    yield from _FIRST_WORD.findall(message)[:1]


def tokens_of(text: str) -> list[Token]:
    """The names and marks of a text; lines and columns count from 1."""
    tokens = []
    line, start = 1, 0
    for match in _TOKENS.finditer(text):
        if match.lastgroup is not None and match.lastgroup != "skip":
            name = match.lastgroup != "mark"
            column = match.start() - start + 1
            tokens.append(Token(match[match.lastgroup], name, line, column))
        breaks = match[0].count("\n")
        if breaks:
            line, start = line + breaks, match.start() + match[0].rindex("\n") + 1
    return tokens


def scan(text: str, functions: Sequence[str] = ()) -> SourceLocations:
    """The locations of every block and node of a text."""
    return _Scanner(tokens_of(text), ["main", *functions]).run()


class _Scanner:
    def __init__(self, tokens: Sequence[Token], roots: Sequence[str]) -> None:
        self.places = SourceLocations(tokens)
        self.roots = iter(roots)
        self.frames = [_Frame("")]

    def run(self) -> SourceLocations:
        for position, token in enumerate(self.places.tokens):
            if token.is_name:
                self._name(position, token)
            else:
                self._mark(position, token.text)
        for frame in self.frames:
            self._end_node(frame, len(self.places.tokens))
        return self.places

    def _name(self, position: int, token: Token) -> None:
        frame = self.frames[-1]
        if frame.path:
            self._in_block(frame, position)
            if frame.node == "=":
                operator = token.text.rpartition(".")[2]
                frame.node = f"{frame.path}/{path_segment(operator, frame.nodes)}"
                frame.nodes += 1
            return
        frame.head = position
        if frame.opening == "<" and frame.fresh:
            frame.attribute, frame.fresh = token.text, False

    def _in_block(self, frame: _Frame, position: int) -> None:
        if frame.complete:
            self._end_node(frame, position)
            frame.started, frame.node, frame.complete = position, "", False

    def _end_node(self, frame: _Frame, position: int) -> None:
        if frame.started >= 0 and frame.node:
            self.places.spans[frame.node] = (frame.started, position)
        frame.started = -1

    def _mark(self, position: int, mark: str) -> None:
        frame = self.frames[-1]
        if frame.path and mark in ("[", "="):
            self._in_block(frame, position)
        if mark == "=" and frame.path:
            frame.node = "="
        elif mark == "=>":
            frame.arrow = True
        elif mark == "," and not frame.path:
            frame.fresh, frame.item = True, frame.item + 1
        elif mark in _CLOSES.values():
            self._open(position, mark)
        elif mark in _CLOSES and len(self.frames) > 1:
            self._close(position, mark)

    def _open(self, position: int, mark: str) -> None:
        frame = self.frames[-1]
        inner = _Frame(mark)
        if mark == "(" and not frame.arrow and not frame.path:
            inner.started = frame.head
        if mark == "{" and frame.arrow:
            frame.arrow = False
            inner.path = self._block_path()
            self.places.spans[inner.path] = (frame.started, position)
        self.frames.append(inner)

    def _block_path(self) -> str:
        frames = [frame for frame in self.frames if frame.path]
        if not frames:
            return next(self.roots, "")
        attribute = next(f.attribute for f in reversed(self.frames) if f.opening == "<")
        last = self.frames[-1]
        item = f"[{last.item}]" if last.opening == "[" else ""
        return f"{frames[-1].node}.{attribute}{item}"

    def _close(self, position: int, mark: str) -> None:
        closed = self.frames.pop()
        frame = self.frames[-1]
        if closed.path:
            self._end_node(closed, position)
            start, _ = self.places.spans[closed.path]
            self.places.spans[closed.path] = (start, position + 1)
        if mark == ")" and closed.started >= 0:
            frame.started = closed.started
        if mark == ")" and frame.path:
            frame.complete = True
