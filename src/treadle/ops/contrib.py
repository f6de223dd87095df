"""Operators of onnxruntime outside the standard: its own, and withdrawn ones that it keeps.

`contrib.txt` has a line for each version: the domain, the operator, the version, and for each input
and output a type variable, or the one type it can have. "withdrawn": onnxruntime dropped the
operator in this version. `pytest tests/ops/test_contrib.py --update-golden` regenerates it from the
registry of the installed onnxruntime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from treadle.ir import Sequence as SequenceType
from treadle.ir import Tensor, Type
from treadle.ops.elements import tensor_of_string
from treadle.ops.schema import canonical, newest_opset

_FILE = Path(__file__).with_name("contrib.txt")
_WITHDRAWN = "withdrawn"
_NEWEST = {"": 26}

GENERATION = frozenset(
    ("com.microsoft", op) for op in ("BeamSearch", "GreedySearch", "Sampling", "WhisperBeamSearch")
)
"""Operators that generate tokens with graphs of their own, which onnxruntime runs.

A decoder runs once for each token, at most max_length (the second input) times; other graphs run
once. Names in these graphs are a scope of their own: onnxruntime binds their inputs by name.
"""

ELEMENTWISE = frozenset(
    ("com.microsoft", op) for op in ("BiasGelu", "FastGelu", "Gelu", "QuickGelu")
)
"""Operators whose result has the shape of the first input; a bias is as long as the last axis."""


@dataclass(frozen=True, slots=True)
class ContribOperator:
    """One version of an onnxruntime operator: the type words of its inputs and outputs.

    A word is a type variable ("T") or a type ("tensor(int32)"); the last input or output stands for
    all that follow.
    """

    domain: str
    name: str
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    is_withdrawn: bool = False


@lru_cache(4096)
def contrib_operator(domain: str, op: str, opset: int) -> ContribOperator | None:
    """The operator in force at an opset, if it is one of onnxruntime's own."""
    versions = _table().get((canonical(domain), op), ())
    found = [each for each in versions if each.version <= opset]
    return None if not found or found[-1].is_withdrawn else found[-1]


@cache
def contrib_domains() -> frozenset[str]:
    """The domains of these operators, without the standard's own domain."""
    return frozenset(domain for domain, _ in _table() if domain)


def assumed_opset(domain: str) -> int | None:
    """The opset onnxruntime assumes for a domain that a file does not import.

    None if it is unknown.

    It is the newest opset onnxruntime guarantees: measured on 1.31.1.
    """
    if domain in contrib_domains():
        return 1
    return _NEWEST.get(domain) or newest_opset(domain) or None


def contrib_types(
    operator: ContribOperator, operands: Sequence[Type | None], results: int
) -> list[Type | None]:
    """The types of the results: element types for all operators, shapes for ELEMENTWISE only."""
    bound: dict[str, Type] = {}
    for position, type_ in enumerate(operands):
        word = _at(operator.inputs, position)
        if word and type_ is not None:
            bound.setdefault(word, _without_shape(type_))
    found = [_result(_at(operator.outputs, position), bound) for position in range(results)]
    if (operator.domain, operator.name) in ELEMENTWISE and operands:
        found[:1] = operands[:1]
    return found


def _at(words: Sequence[str], position: int) -> str:
    return words[min(position, len(words) - 1)] if words else ""


def _result(word: str, bound: Mapping[str, Type]) -> Type | None:
    return tensor_of_string(word) or bound.get(word)


def _without_shape(type_: Type) -> Type:
    match type_:
        case Tensor(dtype):
            return Tensor(dtype)
        case SequenceType(element) if element is not None:
            return SequenceType(_without_shape(element))
    return type_


@cache
def _table() -> Mapping[tuple[str, str], Sequence[ContribOperator]]:
    table: dict[tuple[str, str], list[ContribOperator]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        domain, name, version, *words = line.split()
        arrow = words.index("->") if "->" in words else len(words)
        made = ContribOperator(
            canonical(domain),
            name,
            int(version),
            tuple(words[:arrow]),
            tuple(words[arrow + 1 :]),
            words == [_WITHDRAWN],
        )
        table.setdefault((made.domain, name), []).append(made)
    return table
