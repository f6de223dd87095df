"""Rules about leaves: operands, results and attributes against the operator's schema."""

from __future__ import annotations

from collections.abc import Iterator

from treadle import ops
from treadle.checks.arity import counted, ordinal
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Attribute, Kind, Leaf, Model, Tensor, omissions, show_type
from treadle.messages import brief

_ALONG_AN_AXIS = ("Softmax", "LogSoftmax", "Hardmax")
_CONTROL_FLOW = ("If", "Loop", "Scan")


def findings(leaf: Leaf, path: str) -> Iterator[Finding]:
    """Report every contradiction between the leaf and its schema.

    Nothing if the operator has no schema.

    An If, Loop or Scan that could not be closed also becomes a leaf; its faults were reported when
    the model was read.
    """
    if leaf.domain == "" and leaf.op in _CONTROL_FLOW:
        return
    schema = ops.schema(leaf.domain, leaf.op, leaf.version)
    if schema is not None:
        if schema.deprecated:
            message = f"{leaf.op} was withdrawn from {leaf.domain or 'the standard'} in opset"
            hint = "use what replaced it, or an older opset"
            yield finding("CF706", path, f"{message} {leaf.version}", hint)
        yield from _counts(leaf, schema, path)
        yield from _attributes(leaf, schema, path)
        yield from _types(leaf, schema, path)
        yield from _axes(leaf, path)


def _counts(leaf: Leaf, schema: ops.Schema, path: str) -> Iterator[Finding]:
    for code, noun, given, least, most in (
        ("CF207", "input", len(leaf.operands), schema.min_inputs, schema.max_inputs),
        ("CF208", "output", len(leaf.results), schema.min_outputs, schema.max_outputs),
    ):
        if not least <= given <= most:
            bound = f"at least {least}" if given < least else f"at most {most}"
            message = f"{leaf.op}-{leaf.version} has {counted(given, noun)}, it takes {bound}"
            yield finding(code, path, message, f"see the {noun}s of {leaf.op} in the standard")
    for position, operand in enumerate(leaf.operands):
        formal = _formal(schema, position)
        if operand is None and formal is not None and formal.option != "optional":
            message = f'the {ordinal(position)} input of {leaf.op}, {formal.name}, is ""'
            yield finding("CF207", path, f"{message}, it must be a value", "name a value")


def omitted_by_callers(model: Model) -> Iterator[Finding]:
    """Report a call that leaves out an input which an operator of its function always needs.

    An operator inside a body is not reported: an If may ask whether the input is there.
    """
    for omission in omissions(model):
        leaf = omission.leaf
        schema = ops.schema(leaf.domain, leaf.op, leaf.version)
        if schema is None or not omission.caller or omission.depth:
            continue
        seen = [None if k in omission.positions else v for k, v in enumerate(leaf.operands)]
        position = ops.missed_input(schema, seen)
        if position is not None and leaf.operands[position] is not None:
            input_ = f"the {ordinal(position)} input of {leaf.op}"
            message = f"the call at {omission.caller} leaves out {input_}, which it needs"
            yield finding("CF207", omission.path, message, "give it a value")


def _attributes(leaf: Leaf, schema: ops.Schema, path: str) -> Iterator[Finding]:
    given = {**leaf.attributes, **dict.fromkeys(_block_attributes(leaf))}
    for name, rule in schema.attributes.items():
        if rule.required and name not in given:
            message = f"{leaf.op}-{leaf.version} has no attribute {name}"
            yield finding("CF209", path, message, f"give it, of kind {rule.kind.value}")
    for name, attribute in leaf.attributes.items():
        wanted = schema.attributes.get(name)
        if wanted is None:
            message = f"{leaf.op}-{leaf.version} knows no attribute {name}"
            yield finding("CF211", path, message, "remove it: the operator ignores it")
        elif attribute.kind is not wanted.kind:
            message = f"{name} is of kind {attribute.kind.value}, wanted {wanted.kind.value}"
            yield finding("CF210", path, message, f"write it as {wanted.kind.value}")
        else:
            yield from _values(leaf, name, attribute, path)
    for name in _block_attributes(leaf):
        wanted = schema.attributes.get(name)
        if wanted is not None and wanted.kind not in (Kind.GRAPH, Kind.GRAPHS):
            message = f"{name} is a graph, wanted {wanted.kind.value}"
            yield finding("CF210", path, message, f"write it as {wanted.kind.value}")


def _values(leaf: Leaf, name: str, attribute: Attribute, path: str) -> Iterator[Finding]:
    wanted, given = ops.wanted_value(leaf, name, attribute), attribute.value
    if not wanted:
        return
    text = f'"{given.decode(errors="replace")}"' if isinstance(given, bytes) else str(given)
    message = f"{name} of {leaf.op}-{leaf.version} is {brief(text)}"
    yield finding("CF214", path, message, f"write {wanted}")


def _block_attributes(leaf: Leaf) -> list[str]:
    return [name.partition("[")[0] for name in leaf.blocks]


def _types(leaf: Leaf, schema: ops.Schema, path: str) -> Iterator[Finding]:
    bound: dict[str, tuple[str, str]] = {}
    for position, operand in enumerate(leaf.operands):
        formal = _formal(schema, position)
        word = None if operand is None else ops.type_string(operand.inferred)
        if operand is None or formal is None or word is None:
            continue
        if word not in formal.types:
            found = f"{operand.name} is {show_type(operand.inferred)}"
            message = (
                f"{found}, {leaf.op}-{leaf.version} does not accept this type for {formal.name}"
            )
            yield finding("CF301", path, message, _wanted(formal.types))
            continue
        if formal.option == "variadic" and not formal.homogeneous:
            continue
        other, first = bound.setdefault(formal.variable, (word, operand.name))
        if other != word:
            found = f"{operand.name} is {show_type(operand.inferred)}"
            message = f"{found} and {first} is {other}, {leaf.op} wants both of one type"
            yield finding("CF301", path, message, "cast one of them")


def _axes(leaf: Leaf, path: str) -> Iterator[Finding]:
    operand = leaf.operands[0] if leaf.operands else None
    type_ = operand.inferred if operand is not None else None
    if operand is None or leaf.domain or leaf.op not in _ALONG_AN_AXIS:
        return
    if isinstance(type_, Tensor) and type_.shape == ():
        message = f"{operand.name} is {show_type(type_)}, which has no axis for {leaf.op}"
        yield finding("CF310", path, message, "give it an axis: Unsqueeze")


def _formal(schema: ops.Schema, position: int) -> ops.Formal | None:
    if position < len(schema.inputs):
        return schema.inputs[position]
    last = schema.inputs[-1] if schema.inputs else None
    return last if last is not None and last.option == "variadic" else None


def _wanted(types: frozenset[str]) -> str:
    names = sorted(types)
    return f"wanted {', '.join(names[:6])}{' ...' if len(names) > 6 else ''}"
