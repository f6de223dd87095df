"""The clause of the standard behind a refusal: what the schema in the wanted opset leaves out.

    clause(TopK-10 (x, k), 9)     "TopK-1 has no input K (onnx, docs/Changelog.md#TopK-1)"
    clause(Det-22 (x), 10)        "Det-11 is the first version (onnx, docs/Changelog.md#Det-11)"

Everything is read from onnx's schemas; only what the step uses is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from treadle import ops
from treadle.ir import Leaf, Operands, Step, Type, Value, operator_of, reads
from treadle.ops import Formal, Schema
from treadle.passes.versions.lifting import admits

Types = Mapping[Value, Type | None]


def clause(step: Step, opset: int, types: Types) -> str:
    """What the operator's schema at an opset lacks of the step, with its place in the standard."""
    op = operator_of(step)
    versions = ops.known_operators("").get(op, ())
    if not versions:
        return ""
    version = ops.since_version("", op, opset)
    if version is None:
        return f"{op}-{versions[0]} is the first version {_place(op, versions[0])}"
    schema = ops.schema("", op, version)
    assert schema is not None, "a version has a schema"
    if schema.deprecated:
        return f"{op}-{version} is deprecated {_place(op, version)}"
    told = next(_lacking(step, schema, types), "") or next(_changed(step, schema), "")
    return f"{op}-{version} {told or 'has the same signature'} {_place(op, version)}"


def _place(op: str, version: int) -> str:
    return f"(onnx, docs/Changelog.md#{op}-{version})"


def _lacking(step: Step, schema: Schema, types: Types) -> Iterator[str]:
    """The attributes, inputs, outputs and types of the step that the schema does not have."""
    own = _own(step)
    if isinstance(step, Leaf) and own is not None:
        yield from _absent("attribute", list(step.attributes), list(schema.attributes))
        for kind, formals, values, known in (
            ("input", own.inputs, step.operands, schema.inputs),
            ("output", own.outputs, step.results, schema.outputs),
        ):
            used = _present(formals, values)
            if len(used) > len(known):
                yield from _absent(kind, used, [each.name for each in known])
    every = (*reads(step), *step.results)
    word = admits(schema.name, schema.version, [types[v] for v in every if v is not None])
    if word:
        yield f"does not take {word}"


def _absent(kind: str, used: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    lacking = [name for name in used if name not in known]
    if lacking:
        yield f"has no {kind}{'s' if len(lacking) > 1 else ''} {', '.join(lacking)}"


def _changed(step: Step, schema: Schema) -> Iterator[str]:
    """What both schemas have and describe in other words."""
    own = _own(step)
    if own is None:
        return
    given = step.attributes if isinstance(step, Leaf) else schema.attributes
    both = [name for name in given if name in own.attributes and name in schema.attributes]
    found = [name for name in both if own.attributes[name].doc != schema.attributes[name].doc]
    reading = step.operands if isinstance(step, Leaf) else reads(step)
    for before, after, values in (
        (own.inputs, schema.inputs, reading),
        (own.outputs, schema.outputs, step.results),
    ):
        used = _present(before, values)
        pairs = zip(before, after, strict=False)
        found += [new.name for old, new in pairs if old.name in used and old.doc != new.doc]
    if found:
        yield f"describes {', '.join(found)} otherwise"


def _own(step: Step) -> Schema | None:
    version = step.version if isinstance(step, Leaf) else step.info.version
    return None if version is None else ops.schema("", operator_of(step), version)


def _present(formals: Sequence[Formal], values: Operands) -> list[str]:
    """The formals that are given a value; a variadic one counts once."""
    last = len(formals) - 1
    found = (formals[min(k, last)].name for k, value in enumerate(values) if value is not None)
    return list(dict.fromkeys(found)) if formals else []
