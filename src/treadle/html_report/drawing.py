"""Draws a block as data for the page: its nodes, their positions and the edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from treadle.html_report.layout import Edge, layout
from treadle.ir import (
    Block,
    Call,
    Function,
    FunctionId,
    Leaf,
    Loop,
    Step,
    Value,
    bodies,
    operator_of,
    path_segment,
    ports,
    reads,
    show_attributes,
    show_data,
    show_type,
    step_path,
)
from treadle.messages import brief
from treadle.report import qualified

MOST_DRAWN = 500
"""The number of nodes above which a block is shown as a list with a filter."""

_NODE = 156.0
_PORT = 132.0
_LONGEST = 160

Data = dict[str, Any]


@dataclass(slots=True)
class Drawings:
    """The blocks of a model by number; a block that is used twice is drawn once."""

    functions: Mapping[FunctionId, Function]
    blocks: list[Data | None] = field(default_factory=list)
    _of_function: dict[FunctionId, int] = field(default_factory=dict)

    def add(self, block: Block, path: str, loop: Loop | None = None) -> int:
        """The number of the block, drawn with all its bodies."""
        number = len(self.blocks)
        self.blocks.append(None)
        self.blocks[number] = self._drawn(block, path, loop)
        return number

    def of_function(self, identity: FunctionId) -> int | None:
        """The number of a model-local function's block; None for a function of the standard."""
        if identity not in self.functions:
            return None
        if identity not in self._of_function:
            self._of_function[identity] = len(self.blocks)
            self.blocks.append(None)
            function = self.functions[identity]
            drawn = self._drawn(function.block, str(identity), None)
            self.blocks[self._of_function[identity]] = drawn
        return self._of_function[identity]

    def _drawn(self, block: Block, path: str, loop: Loop | None) -> Data:
        nodes = [self._node(step, k, path) for k, step in enumerate(block.steps)]
        drawn: Data = {
            "path": path,
            "params": [_value(value) for value in block.params],
            "results": ["" if value is None else value.name for value in block.results],
            "nodes": nodes,
            "constants": _constants(block),
        }
        hidden = {k for k, step in enumerate(block.steps) if _is_constant(step)}
        if len(nodes) - len(hidden) <= MOST_DRAWN:
            drawn["drawing"] = _drawing(block, loop, hidden)
        return drawn

    def _node(self, step: Step, position: int, path: str) -> Data:
        at = step_path(path, step, position)
        node: Data = {
            "op": qualified(step),
            "at": path_segment(operator_of(step), position),
            "in": ["" if value is None else value.name for value in reads(step)],
            "out": [_value(value) for value in step.results if value is not None],
        }
        shown = show_attributes(step) if isinstance(step, Leaf | Call) else ""
        if shown:
            node["attributes"] = brief(shown, _LONGEST)
        inner = [
            [f".{name}", self.add(body, f"{at}.{name}", step if isinstance(step, Loop) else None)]
            for name, body in bodies(step)
        ]
        if isinstance(step, Call) and (called := self.of_function(step.function)) is not None:
            inner.append(["", called])
        if inner:
            node["bodies"] = inner
        return node


def _value(value: Value) -> list[str]:
    return [value.name, show_type(value.type)]


def _constants(block: Block) -> dict[str, str]:
    """Short descriptions of the block's constants, by name."""
    found = {each.value.name: brief(show_data(each.data), _LONGEST) for each in block.constants}
    for step in block.steps:
        if isinstance(step, Leaf) and _is_constant(step) and step.results[0] is not None:
            found[step.results[0].name] = brief(show_attributes(step), _LONGEST)
    return found


def _is_constant(step: Step) -> bool:
    return isinstance(step, Leaf) and step.op == "Constant" and not step.domain


def _drawing(block: Block, loop: Loop | None, hidden: set[int]) -> Data:
    """The vertices (used params, nodes, results), their positions, and the edges."""
    vertices = list(_vertices(block, loop, hidden))
    makers: dict[Value, int] = {}
    for number, (kind, each, _) in enumerate(vertices):
        if kind == "param":
            makers[block.params[each]] = number
        elif kind == "node":
            makers |= {value: number for value in block.steps[each].results if value is not None}
    edges: dict[Edge, list[str]] = {}
    for number, (kind, each, _) in enumerate(vertices):
        for value in _read(block, kind, each):
            if value is not None and value in makers:
                names = edges.setdefault((makers[value], number), [])
                if value.name not in names:
                    names.append(value.name)
    widths = [_NODE if kind == "node" else _PORT for kind, _, _ in vertices]
    found = layout(widths, edges)
    return {
        "size": [round(found.width), round(found.height)],
        "vertices": [
            [kind, each, label, round(x), round(y)]
            for (kind, each, label), (x, y) in zip(vertices, found.points, strict=True)
        ],
        "edges": [
            [*edge, ", ".join(names), _bends(found.routes.get(edge))]
            for edge, names in edges.items()
        ],
    }


def _bends(route: list[tuple[float, float]] | None) -> list[int] | None:
    """X and y of each bend in turn; None for an edge too long to draw."""
    return None if route is None else [round(part) for point in route for part in point]


def _read(block: Block, kind: str, each: int) -> tuple[Value | None, ...]:
    if kind == "node":
        return reads(block.steps[each])
    return (block.results[each],) if kind == "result" else ()


def _vertices(block: Block, loop: Loop | None, hidden: set[int]) -> Iterator[tuple[str, int, str]]:
    used = {value for step in block.steps for value in reads(step)} | set(block.results)
    words = ["input"] * len(block.params) if loop is None else _role_words(loop)
    for number, param in enumerate(block.params):
        if param in used:
            yield "param", number, words[number]
    yield from (("node", k, "") for k in range(len(block.steps)) if k not in hidden)
    ends = ["output"] * len(block.results) if loop is None else _result_words(loop)
    for number, result in enumerate(block.results):
        if result is not None:
            yield "result", number, ends[number]


def _role_words(loop: Loop) -> list[str]:
    return [_WORDS.get(type(role).__name__, type(role).__name__.lower()) for role in loop.roles]


_WORDS = {"Invariant": "captured", "Iteration": "iteration", "Condition": "condition"}


def _result_words(loop: Loop) -> list[str]:
    view = ports(loop)
    return ["go on", *["carried"] * len(view.carried), *["stacked"] * len(view.stacked)]
