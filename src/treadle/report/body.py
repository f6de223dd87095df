"""Summaries of blocks: nodes counted by operator, ports by name and type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from treadle.ir import Block, Call, Leaf, Step, Value, domain_of, operator_of, show_type, walk_block
from treadle.messages import join_words
from treadle.report.text import plural


@dataclass(frozen=True, slots=True)
class Port:
    """A value by name and best known type; `outer` is the matching value outside the body."""

    name: str
    type: str
    outer: str = ""


@dataclass(frozen=True, slots=True)
class BodySummary:
    """Counts of the nodes of a block, nested bodies included; `inner` of them are nested."""

    name: str
    nodes: int
    inner: int
    operators: Mapping[str, int]


def port(value: Value | None, outer: Value | None = None) -> Port:
    """The port of a value; `_` for an absent one."""
    if value is None:
        return Port("_", "?", name_of(outer))
    type_ = value.type or (outer.type if outer is not None else None)
    return Port(value.name, show_type(type_), name_of(outer))


def name_of(value: Value | None) -> str:
    """The value's name; `_` if it is absent or has none."""
    return "_" if value is None else value.name or "_"


def summarize_body(block: Block, name: str = "body") -> BodySummary:
    """Summarize the block, nested bodies included."""
    visits = list(walk_block(block, name))
    inner = sum(visit.depth > 0 for visit in visits)
    return BodySummary(name, len(visits), inner, count_operators(v.step for v in visits))


def count_operators(steps: Iterable[Step]) -> dict[str, int]:
    """The number of uses of each operator, the most frequent first."""
    counted = Counter(map(qualified, steps))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def qualified(step: Step) -> str:
    """The operator, with its domain unless it is the standard's: `com.acme.Gelu`."""
    domain = domain_of(step)
    return f"{domain}.{operator_of(step)}" if domain else operator_of(step)


def show_title(path: str, operator: str, version: int) -> str:
    """The first line about a step: `main/loop_3  Loop-16`."""
    return f"{path}  {operator}-{version}" if version else f"{path}  {operator}"


def show_body(body: BodySummary) -> str:
    """`7 nodes, 2 of them in inner bodies: Add 3, MatMul 2, ...`."""
    if not body.nodes:
        return "no nodes: it returns its inputs"
    inner = f", {body.inner} of them in inner bodies" if body.inner else ""
    return f"{plural(body.nodes, 'node')}{inner}: {show_operators(body.operators)}"


def show_operators(operators: Mapping[str, int]) -> str:
    """`Add 3, MatMul 2, Tanh 1`."""
    return join_words((f"{name} {count}" for name, count in operators.items()))


def is_control_flow(step: Step) -> bool:
    """Whether the step has bodies, which get a paragraph of their own."""
    return bool(step.blocks) if isinstance(step, Leaf | Call) else True
