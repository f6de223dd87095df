"""Leaves on which onnx's own type rules, or onnxruntime, end the process or hang it.

Found by checking and running every operator with attributes, types and operands changed
(`tools.type_rules`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from treadle.ir import Leaf, Tensor, Type

__all__ = ["needs_a_type", "why_no_rule"]

_NEEDS_A_TYPE = {
    ("", "EyeLike"),
    ("", "RegexFullMatch"),
    ("ai.onnx.ml", "DictVectorizer"),
    ("ai.onnx.ml", "LabelEncoder"),
    ("ai.onnx.ml", "TreeEnsemble"),
}
"""Operators whose rule reads the type of the first operand unchecked."""

_MOST_PARTS = 2**20
_TERM = r"[A-Za-z ]*(?:\. *\. *\.[A-Za-z ]*)?"
_EQUATION = re.compile(rf"{_TERM}(?:,{_TERM})*(?:->{_TERM})?")


def needs_a_type(leaf: Leaf) -> bool:
    """Whether the rule crashes without the type of the first operand."""
    return (leaf.domain, leaf.op) in _NEEDS_A_TYPE


def why_no_rule(leaf: Leaf, operand_types: Sequence[Type | None]) -> str:
    """What is wrong with a leaf on which the rule or the kernel would crash or hang; else ""."""
    find = _FAULTS.get(leaf.op) if not leaf.domain else None
    return "" if find is None else find(leaf, operand_types)


def _equation(leaf: Leaf, _: Sequence[Type | None]) -> str:
    """A character that belongs to no term: the search for the end of the last term never ends."""
    found = leaf.attributes.get("equation")
    value = None if found is None else found.value
    if not isinstance(value, bytes):
        return ""
    text = value.decode(errors="replace")
    if _EQUATION.fullmatch(text):
        return ""
    return f'its equation "{text[:80]}" is no list of terms of letters, with or without "->"'


def _axis(leaf: Leaf, operand_types: Sequence[Type | None]) -> str:
    """An axis that the operand has not: its extents are read beyond their end."""
    rank, axis = _rank(operand_types, 0), _integer(leaf, "axis")
    if rank is None or axis is None or -rank <= axis < rank:
        return ""
    return f"its axis is {axis}, its first operand has rank {rank}"


def _batch_dims(leaf: Leaf, operand_types: Sequence[Type | None]) -> str:
    """Batch axes that the operands have not: the same."""
    ranks = [rank for k in (0, 1) if (rank := _rank(operand_types, k)) is not None]
    count = _integer(leaf, "batch_dims")
    if count is None or (count >= 0 and count < min(ranks, default=count + 1)):
        return ""
    return f"its batch_dims is {count}, its operands have rank {min(ranks, default=0)}"


def _parts(leaf: Leaf, _: Sequence[Type | None]) -> str:
    """More results than parts: a list of extents is read beyond its end. Parts without end."""
    count = _integer(leaf, "num_outputs")
    if count is None or len(leaf.results) <= count <= _MOST_PARTS:
        return ""
    return f"its num_outputs is {count}, it has {len(leaf.results)} outputs"


def _grams(leaf: Leaf, _: Sequence[Type | None]) -> str:
    """Fewer columns than n-grams in the pool: onnxruntime's kernel reads beyond the columns."""
    starts, columns = _integers(leaf, "ngram_counts"), _integers(leaf, "ngram_indexes")
    pool = _length(leaf, "pool_int64s") + _length(leaf, "pool_strings")
    ends = [*starts, pool][1:]
    sizes = [max(end - start, 0) for start, end in zip(starts, ends, strict=True)]
    count = sum(size // length for length, size in enumerate(sizes, 1))
    if not leaf.attributes.keys() >= {"ngram_counts", "ngram_indexes"} or len(columns) >= count:
        return ""
    return f"its ngram_indexes has {len(columns)} entries, its pool has {count} n-grams"


_FAULTS: Mapping[str, Callable[[Leaf, Sequence[Type | None]], str]] = {
    "Einsum": _equation,
    "GatherND": _batch_dims,
    "LayerNormalization": _axis,
    "Split": _parts,
    "TfIdfVectorizer": _grams,
}


def _rank(operand_types: Sequence[Type | None], position: int) -> int | None:
    type_ = operand_types[position] if position < len(operand_types) else None
    return len(type_.shape) if isinstance(type_, Tensor) and type_.shape is not None else None


def _integer(leaf: Leaf, name: str) -> int | None:
    found = leaf.attributes.get(name)
    return found.value if found is not None and isinstance(found.value, int) else None


def _integers(leaf: Leaf, name: str) -> tuple[int, ...]:
    found = leaf.attributes.get(name)
    values = found.value if found is not None and isinstance(found.value, tuple) else ()
    return tuple(each for each in values if isinstance(each, int))


def _length(leaf: Leaf, name: str) -> int:
    found = leaf.attributes.get(name)
    return len(found.value) if found is not None and isinstance(found.value, tuple) else 0
