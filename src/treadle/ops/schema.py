"""The standard's schemas as dataclasses, by domain, operator and version.

A version is the opset at which a schema came into force. The domain "ai.onnx" is the same as "".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import onnx.defs
from onnx import AttributeProto
from onnx.defs import OpSchema

from treadle.ir import Attribute, Kind, Leaf
from treadle.ops.proto import attribute_from_proto

Option = Literal["single", "optional", "variadic"]

_OPTIONS: Mapping[object, Option] = {
    OpSchema.FormalParameterOption.Single: "single",
    OpSchema.FormalParameterOption.Optional: "optional",
    OpSchema.FormalParameterOption.Variadic: "variadic",
}
_KINDS = {
    "FLOAT": Kind.FLOAT, "INT": Kind.INT, "STRING": Kind.STRING, "TENSOR": Kind.TENSOR,
    "GRAPH": Kind.GRAPH, "FLOATS": Kind.FLOATS, "INTS": Kind.INTS, "STRINGS": Kind.STRINGS,
    "TENSORS": Kind.TENSORS, "GRAPHS": Kind.GRAPHS, "SPARSE_TENSOR": Kind.SPARSE,
    "SPARSE_TENSORS": Kind.SPARSES, "TYPE_PROTO": Kind.TYPE, "TYPE_PROTOS": Kind.TYPES,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal input or output: its name, the type strings it admits, how often it occurs.

    `variable` is the schema's type variable ("T") or the one type string; the actual values of a
    variadic one share a type when it is `homogeneous`, and are at least `min_arity`.
    """

    name: str
    variable: str
    types: frozenset[str]
    option: Option
    homogeneous: bool
    min_arity: int
    doc: str


@dataclass(frozen=True, eq=False, slots=True)
class AttributeRule:
    """A formal attribute; `default` is None where the schema gives none."""

    name: str
    kind: Kind
    required: bool
    default: Attribute | None
    doc: str


@dataclass(frozen=True, eq=False, slots=True)
class Schema:
    """One version of one operator, as the standard declares it.

    `is_function`: the schema has a body over simpler operators; `depends_on_context`: it is built
    from the node and the types of its inputs.
    """

    domain: str
    name: str
    version: int
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    attributes: Mapping[str, AttributeRule]
    deprecated: bool
    is_function: bool
    depends_on_context: bool
    is_deterministic: bool
    doc: str


def missed_input(schema: Schema, operands: Iterable[object | None]) -> int | None:
    """The first position at which an operand is None that the operator needs; None if none is."""
    for position, operand in enumerate(operands):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)] if schema.inputs else None
        if operand is None and formal is not None and formal.option != "optional":
            return position
    return None


def canonical(domain: str) -> str:
    """The canonical name of the domain: "" for "ai.onnx"."""
    return "" if domain == "ai.onnx" else domain


_in_force: dict[tuple[str, str, int], Any] = {}
"""Onnx's schema objects by domain, operator and version: getting one takes onnx 20 microseconds."""


@cache
def since_version(domain: str, op: str, opset: int) -> int | None:
    """The version of the operator in force at an opset; None if the opset lacks it.

    A withdrawn operator still has a version; its schema is `deprecated`.
    """
    found = _schema_at(canonical(domain), op, opset)
    if found is None:
        return None
    version = int(found.since_version)
    _in_force[canonical(domain), op, version] = found
    return version


@cache
def schema(domain: str, op: str, version: int) -> Schema | None:
    """The schema that came into force at exactly this version; None where none did."""
    found = onnx_schema(domain, op, version)
    return None if found is None else _read(found)


@cache
def onnx_schema(domain: str, op: str, version: int) -> Any:
    """Onnx's own schema object, for the same arguments as `schema`."""
    key = canonical(domain), op, version
    found = _in_force.get(key) or _schema_at(*key)
    return found if found is not None and found.since_version == version else None


def requires(leaf: Leaf, attribute: str) -> bool:
    """Whether the leaf's operator has no meaning without the attribute."""
    found = schema(leaf.domain, leaf.op, leaf.version)
    rule = None if found is None else found.attributes.get(attribute)
    return rule is not None and rule.required


@cache
def newest_opset(domain: str) -> int:
    """The newest opset of the domain in this build; 0 for an unknown domain."""
    newest: Mapping[str, tuple[int, int]] = onnx.defs.C.schema_version_map()
    return int(newest.get(canonical(domain), (0, 0))[1])


@cache
def known_operators(domain: str) -> Mapping[str, tuple[int, ...]]:
    """Every operator of the domain, with its versions in order."""
    versions: dict[str, list[int]] = {}
    for found in onnx.defs.get_all_schemas_with_history():
        if found.domain == canonical(domain):
            versions.setdefault(found.name, []).append(int(found.since_version))
    return {name: tuple(sorted(each)) for name, each in sorted(versions.items())}


def _schema_at(domain: str, op: str, opset: int) -> Any:
    # a file may import any 64-bit number; onnx takes 32 bits, and text of UTF-8
    if not (domain + op).isascii() and any("\ud800" <= each <= "\udfff" for each in domain + op):
        return None
    if not -(2**31) <= opset < 2**31 or not onnx.defs.has(op, opset, domain):
        return None
    return onnx.defs.get_schema(op, opset, domain)


def _read(found: Any) -> Schema:
    return Schema(
        domain=found.domain,
        name=found.name,
        version=int(found.since_version),
        inputs=tuple(map(_formal, found.inputs)),
        outputs=tuple(map(_formal, found.outputs)),
        min_inputs=found.min_input,
        max_inputs=found.max_input,
        min_outputs=found.min_output,
        max_outputs=found.max_output,
        attributes={name: _rule(name, each) for name, each in found.attributes.items()},
        deprecated=found.deprecated,
        is_function=bool(found.has_function or found.has_context_dependent_function),
        depends_on_context=bool(found.has_context_dependent_function),
        is_deterministic=not found.non_deterministic,
        doc=found.doc or "",
    )


def _formal(formal: Any) -> Formal:
    return Formal(
        name=formal.name,
        variable=formal.type_str,
        types=frozenset(formal.types),
        option=_OPTIONS[formal.option],
        homogeneous=formal.is_homogeneous,
        min_arity=formal.min_arity,
        doc=formal.description,
    )


def _rule(name: str, formal: Any) -> AttributeRule:
    default: AttributeProto = formal.default_value
    return AttributeRule(
        name=name,
        kind=_KINDS[formal.type.name],
        required=formal.required,
        default=attribute_from_proto(default) if default.type else None,
        doc=formal.description,
    )
