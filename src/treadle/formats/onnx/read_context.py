"""The state shared by the readers of one model: graph, node, loop, scan and branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import onnx

from treadle.checks import finding
from treadle.errors import Finding
from treadle.formats.onnx.external import Folder
from treadle.formats.onnx.scope import Scope
from treadle.ir import Attribute, Block, FunctionId, Info, Step, Value


class Body(NamedTuple):
    """A closed graph attribute: its params are the declared inputs, then the captures.

    `captures` are pairs (outer value, the body's param), in order of first use.
    """

    block: Block
    captures: tuple[tuple[Value, Value], ...]


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The state of reading one model; `opsets` and `functions` are in force for these nodes.

    `apart`: the names of this node's graphs are a separate scope.
    """

    folder: Folder
    ir_version: int
    opsets: Mapping[str, int]
    functions: frozenset[FunctionId]
    findings: list[Finding]
    read_body: Callable[[ReadContext, onnx.GraphProto, Scope, str, int | None], Body]
    depth: int = 0
    apart: bool = False

    def report(
        self, code: str, path: str, message: str, hint: str = "", *, blocks: bool | None = None
    ) -> None:
        """Add a finding; `blocks` as `finding` takes it."""
        self.findings.append(finding(code, path, message, hint, blocks=blocks))


@dataclass(frozen=True, slots=True)
class NodeContext:
    """A node with resolved names and closed graphs, ready to become a step."""

    node: onnx.NodeProto
    path: str
    version: int
    operands: tuple[Value | None, ...]
    results: tuple[Value | None, ...]
    attributes: Mapping[str, Attribute]
    bodies: Mapping[str, Body]
    info: Info
    reading: ReadContext

    def absent(self) -> list[int]:
        """The positions of the inputs left out as ""."""
        return [k for k, operand in enumerate(self.operands) if operand is None]

    def body(self, name: str) -> Body | None:
        """The graph attribute; None, with a finding, if the node has none of that name."""
        body = self.bodies.get(name)
        if body is None:
            message = f'{self.node.op_type} has no graph attribute "{name}"'
            hint = "give it one"
            if any(a.name == name and a.ref_attr_name for a in self.node.attribute):
                message += ", but refers to one that a caller of its function gives"
                hint = "write the graph into the node, such references are not followed"
            self.reading.report("CF206", self.path, message, hint)
        return body

    def fits(self, findings: Sequence[Finding]) -> bool:
        """Report the findings; returns whether a step can still be built."""
        self.reading.findings.extend(findings)
        return not any(found.blocks for found in findings)

    def whole(self, name: str) -> int:
        """The attribute's integer; a rule has checked its kind."""
        value = self.attributes[name].value
        assert isinstance(value, int)
        return value

    def wholes(self, name: str, count: int) -> Sequence[int]:
        """The attribute's integers, `count` zeros if it is left out."""
        value = self.attributes[name].value if name in self.attributes else None
        if not isinstance(value, tuple) or not value:
            return (0,) * count
        return [item for item in value if isinstance(item, int)]


Build = Callable[[NodeContext], Step | None]


def merged_captures(
    bodies: Sequence[Body],
) -> tuple[tuple[Value, ...], tuple[tuple[Value, ...], ...]]:
    """The outer values the bodies read, each once, and each body's params for them.

    A body that does not read one of them gets an unused parameter of the same name.
    """
    outer = list(dict.fromkeys(value for body in bodies for value, _ in body.captures))
    params = []
    for body in bodies:
        own = dict(body.captures)
        params.append(tuple(own.get(value) or Value(value.name, value.declared) for value in outer))
    return tuple(outer), tuple(params)
