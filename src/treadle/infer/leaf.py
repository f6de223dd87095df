"""Infers a leaf: first by our own rules, then by the standard's through `treadle.ops`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from treadle import ops
from treadle.errors import InvalidModel
from treadle.infer import data_propagation, shapes
from treadle.infer.context import Conflict, Inference, Scope
from treadle.infer.facts import UNKNOWN, Fact, array_of, literal_fact
from treadle.infer.folding import fold_constants
from treadle.infer.pools import type_of_short_pool
from treadle.infer.sequences import sequence_count, sequence_fact
from treadle.ir import (
    Attribute,
    DType,
    Kind,
    Leaf,
    Literal,
    Optional,
    Reference,
    Sparse,
    SparseArray,
    Tensor,
    Type,
)
from treadle.ir import Sequence as SequenceType

_GRAPHS = (Kind.GRAPH, Kind.GRAPHS)
_LARGEST_CONSTANT = 1024
_NUMBERS = {
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
}


def infer_leaf(run: Inference, leaf: Leaf, scope: Scope) -> list[Fact]:
    """Infer one fact per result.

    Operands that the leaf rejects are a conflict and yield no facts.
    """
    leaf = with_attributes(leaf, scope.attributes)
    facts = [run.of(value) for value in leaf.operands]
    if not is_well_formed(leaf):
        return [UNKNOWN] * len(leaf.results)
    for name, block in leaf.blocks.items():
        captured = [run.of(value) for value in leaf.captures]
        given = [UNKNOWN] * (len(block.params) - len(captured))
        run.block(block, [*given, *captured], scope.body(name, repeats=True, doubtful=True))
    if leaf.op == "Constant" and leaf.domain == "":
        return [constant_of(leaf)]
    if leaf.op == "Identity" and leaf.domain == "" and len(facts) == 1:
        return facts
    found = sequence_fact(leaf, facts)
    if found is not None:
        return [found]
    type_ = shapes.type_of(leaf, facts) or type_of_short_pool(leaf, _first(facts))
    types = [type_] if type_ is not None else _standard(run, leaf, facts, scope)
    if len(types) != 1:
        return [Fact(each) for each in types]
    if isinstance(types[0], SequenceType):
        return [Fact(types[0], count=sequence_count(leaf, facts))]
    fact = Fact(types[0], data_propagation.content_of(leaf, facts, types[0]))
    return [_folded(run, leaf, facts, fact) if leaf.operands else fact]


def _first(facts: Sequence[Fact]) -> Type | None:
    return facts[0].type if facts else None


def _folded(run: Inference, leaf: Leaf, facts: Sequence[Fact], fact: Fact) -> Fact:
    if any(f.literal is None and f.content is None for f in facts if f.type is not None):
        return fact
    key = _key(leaf, facts)
    if key not in run.folded:
        run.folded[key] = fold_constants(leaf, facts, fact)
    return run.folded[key] or fact


def is_well_formed(leaf: Leaf) -> bool:
    """Whether the leaf has the counts and the kinds of attributes that its schema wants.

    Rules are asked only about well-formed leaves; `checks` reports the others.
    """
    schema = ops.schema(leaf.domain, leaf.op, leaf.version)
    if schema is None:
        return leaf.domain != "" or ops.contrib_operator("", leaf.op, leaf.version) is not None
    if not (
        schema.min_inputs <= len(leaf.operands) <= schema.max_inputs
        and schema.min_outputs <= len(leaf.results) <= schema.max_outputs
    ):
        return False
    for name, rule in schema.attributes.items():
        given = leaf.attributes.get(name)
        if given is None:
            if rule.required and rule.kind not in _GRAPHS:
                return False
        elif given.kind is not rule.kind:
            return False
    return True


def constant_of(leaf: Leaf) -> Fact:
    """The value of a Constant, from whichever of its attributes holds it."""
    for name, attribute in leaf.attributes.items():
        value = attribute.value
        if isinstance(value, Literal | SparseArray):
            return literal_fact(value)
        if name in _NUMBERS:
            return literal_fact(Literal.of(np.array(value, _NUMBERS[name])))
        if name in ("value_string", "value_strings"):
            shape = (len(value),) if isinstance(value, tuple) else ()
            return Fact(Tensor(DType.STRING, shape))
    return UNKNOWN


def with_attributes(leaf: Leaf, given: Mapping[str, Attribute]) -> Leaf:
    """The leaf with references to attributes of its function replaced by the call's attributes.

    A reference to an attribute that the call leaves out is removed.
    """
    for attribute in leaf.attributes.values():
        if isinstance(attribute.value, Reference):
            return replace(leaf, attributes=resolved(leaf.attributes, given))
    return leaf


def resolved(
    attributes: Mapping[str, Attribute], given: Mapping[str, Attribute]
) -> dict[str, Attribute]:
    """The attributes that are not references."""
    found = {}
    for name, attribute in attributes.items():
        if not isinstance(attribute.value, Reference):
            found[name] = attribute
        elif attribute.value.name in given:
            found[name] = replace(given[attribute.value.name], name=name)
    return found


def _standard(
    run: Inference, leaf: Leaf, facts: Sequence[Fact], scope: Scope
) -> Sequence[Type | None]:
    key = _key(leaf, facts)
    answer = run.leaves.get(key)
    if answer is None:
        answer = run.leaves[key] = _asked(leaf, facts)
    if isinstance(answer, str):
        run.conflicts[scope.path] = Conflict(scope.shown, answer, scope.doubtful)
        return [None] * len(leaf.results)
    return answer


def _asked(leaf: Leaf, facts: Sequence[Fact]) -> Sequence[Type | None] | str:
    """The result types, or the reason why the operator rejects its operands.

    An operand of unknown type is not a reason.
    """
    arrays = [array_of(fact) for fact in facts]
    small = [a if a is not None and a.size <= _LARGEST_CONSTANT else None for a in arrays]
    try:
        return ops.result_types(leaf, [fact.type for fact in facts], small)
    except InvalidModel as refused:
        untyped = any(
            value is not None and _is_vague(fact.type)
            for value, fact in zip(leaf.operands, facts, strict=True)
        )
        return [None] * len(leaf.results) if untyped else str(refused)


def _is_vague(type_: Type | None) -> bool:
    match type_:
        case Tensor(dtype) | Sparse(dtype):
            return dtype is None
        case Optional(element) | SequenceType(element):
            return _is_vague(element)
    return type_ is None


def _key(leaf: Leaf, facts: Sequence[Fact]) -> object:
    attributes = tuple((name, attribute.value) for name, attribute in leaf.attributes.items())
    given = tuple(value is not None for value in leaf.results)
    absent = tuple(value is None for value in leaf.operands)
    return leaf.domain, leaf.op, leaf.version, attributes, given, absent, tuple(facts)
