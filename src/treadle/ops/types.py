"""The type rule of a leaf: the types of its results from those of its operands.

The rules are onnx's own, per node. An operator without a rule that is a function of simpler ones is
inferred through its body; results that still have no type get the element type from the type
variable of the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from onnx import NodeProto, TypeProto, checker, shape_inference

from treadle.errors import InvalidModel
from treadle.ir import (
    Dim,
    Expression,
    Leaf,
    Map,
    Optional,
    Sparse,
    Symbol,
    Tensor,
    Type,
    dtype_of,
    show_dim,
    show_type,
)
from treadle.ir import Sequence as SequenceType
from treadle.messages import join_words
from treadle.ops.contrib import contrib_operator, contrib_types
from treadle.ops.elements import tensor_of_string
from treadle.ops.functions import function_proto
from treadle.ops.operand_shapes import extent_fault
from treadle.ops.proto import attribute_to_proto, leaf_to_proto, operand_names, result_names
from treadle.ops.reasons import reason
from treadle.ops.schema import Formal, onnx_schema, schema
from treadle.ops.tensor_protos import tensor_of
from treadle.ops.type_protos import type_from_proto, type_to_proto
from treadle.ops.type_rule_guards import needs_a_type, why_no_rule

_NEWEST_IR = 13
_FEW = 1024
# STFT-17 is inferred as if `onesided` were 0; the schema's default is 1
_BLIND_TO_DEFAULTS = {"STFT"}


def result_types(
    leaf: Leaf,
    operand_types: Sequence[Type | None],
    constants: Sequence[np.ndarray | None] = (),
) -> tuple[Type | None, ...]:
    """One type per result of the leaf; None where nothing is known, or the result is absent.

    `constants` are the operands whose value is known. Dims keep their identity: a Symbol or an
    Expression of an operand appears unchanged in the result. Raises InvalidModel if the rule
    rejects the operands.
    """
    found = onnx_schema(leaf.domain, leaf.op, leaf.version)
    if found is None:
        return _of_contrib(leaf, operand_types)
    if leaf.blocks:
        return (None,) * len(leaf.results)
    known = _named_dims(operand_types)
    protos = _inferred(leaf, operand_types, constants)
    types = (_restored(proto, known) for proto in protos)
    return tuple(
        _at_least(type_, leaf, position, operand_types) for position, type_ in enumerate(types)
    )


def has_negative_extents(
    leaf: Leaf,
    operand_types: Sequence[Type | None],
    constants: Sequence[np.ndarray | None],
) -> bool:
    """Whether onnx's type rule gives a result an extent below 0; `result_types` gives it none."""
    if onnx_schema(leaf.domain, leaf.op, leaf.version) is None:
        return False
    try:
        protos = _inferred(leaf, operand_types, constants)
    except InvalidModel:
        return False
    return any(dim.dim_value < 0 for proto in protos for dim in proto.tensor_type.shape.dim)


def _of_contrib(leaf: Leaf, operand_types: Sequence[Type | None]) -> tuple[Type | None, ...]:
    """Element types only, for an operator that only onnxruntime has."""
    found = contrib_operator(leaf.domain, leaf.op, leaf.version)
    if found is None:
        return (None,) * len(leaf.results)
    types = contrib_types(found, operand_types, len(leaf.results))
    return tuple(
        None if value is None else type_ for value, type_ in zip(leaf.results, types, strict=True)
    )


def _inferred(
    leaf: Leaf, operand_types: Sequence[Type | None], constants: Sequence[np.ndarray | None]
) -> list[TypeProto]:
    found = onnx_schema(leaf.domain, leaf.op, leaf.version)
    assert found is not None
    wrong = why_no_rule(leaf, operand_types) or _extent_fault(leaf, operand_types)
    if wrong:
        raise InvalidModel(f"{leaf.op}-{leaf.version}: {wrong}")
    try:
        if found.has_type_and_shape_inference_function:
            if needs_a_type(leaf) and None in operand_types[:1]:
                return [TypeProto() for _ in leaf.results]
            return _by_rule(leaf, operand_types, constants)
        if found.has_function or found.has_context_dependent_function:
            return _by_body(leaf, operand_types)
    except (shape_inference.InferenceError, checker.ValidationError, ValueError) as error:
        operands = join_words(map(show_type, operand_types)) or "none"
        said = f"{leaf.op}-{leaf.version} refuses its operands ({operands}): {reason(error)}"
        raise InvalidModel(said) from error
    return [TypeProto() for _ in leaf.results]


def _extent_fault(leaf: Leaf, operand_types: Sequence[Type | None]) -> str:
    shapes = [each.shape if isinstance(each, Tensor) else None for each in operand_types]
    given = {
        name: attribute.value
        for name, attribute in leaf.attributes.items()
        if isinstance(attribute.value, int | tuple)
    }
    return "" if leaf.domain else extent_fault(leaf.op, given, shapes)


def _by_rule(
    leaf: Leaf, operand_types: Sequence[Type | None], constants: Sequence[np.ndarray | None]
) -> list[TypeProto]:
    found = onnx_schema(leaf.domain, leaf.op, leaf.version)
    assert found is not None
    names = operand_names(leaf)
    types = {
        name: type_to_proto(type_).SerializeToString()
        for name, type_ in zip(names, operand_types, strict=False)
        if name and type_ is not None
    }
    data = {
        name: tensor_of(array).SerializeToString()
        for name, array in zip(names, constants, strict=False)
        if name and array is not None and array.size <= _FEW
    }
    outputs: Mapping[str, bytes] = found._infer_node_outputs(
        _node(leaf).SerializeToString(), types, data, {}, {leaf.domain: leaf.version}, _NEWEST_IR
    )
    return [TypeProto.FromString(outputs.get(name, b"")) for name in result_names(leaf)]


def _node(leaf: Leaf) -> NodeProto:
    node = leaf_to_proto(leaf)
    # the rules do not allow an absent first result, which the standard's own models have
    node.output[:] = [f"o{k}" for k in range(len(leaf.results))]
    found = schema(leaf.domain, leaf.op, leaf.version)
    if found is not None and leaf.op in _BLIND_TO_DEFAULTS:
        node.attribute.extend(
            attribute_to_proto(rule.default)
            for name, rule in found.attributes.items()
            if rule.default is not None and name not in leaf.attributes
        )
    return node


def _by_body(leaf: Leaf, operand_types: Sequence[Type | None]) -> list[TypeProto]:
    body = function_proto(leaf, operand_types)
    nothing = [TypeProto() for _ in leaf.results]
    if body is None or any(type_ is None for type_ in operand_types):
        return nothing
    protos = [type_to_proto(type_) for type_ in operand_types]
    given = list(leaf_to_proto(leaf).attribute)
    outputs = shape_inference.infer_function_output_types(body, protos, given)
    return (outputs + nothing)[: len(leaf.results)]


def _at_least(
    type_: Type | None, leaf: Leaf, position: int, operand_types: Sequence[Type | None]
) -> Type | None:
    if leaf.results[position] is None or type_ is not None:
        return type_ if leaf.results[position] is not None else None
    found = schema(leaf.domain, leaf.op, leaf.version)
    assert found is not None
    formal = _formal_at(found.outputs, position)
    if formal is None:
        return None
    if len(formal.types) == 1:
        return tensor_of_string(next(iter(formal.types)))
    for k, operand in enumerate(operand_types):
        source = _formal_at(found.inputs, k)
        if source and source.variable == formal.variable and isinstance(operand, Tensor):
            return Tensor(operand.dtype)
    return None


def _formal_at(formals: tuple[Formal, ...], position: int) -> Formal | None:
    if position < len(formals):
        return formals[position]
    last = formals[-1] if formals else None
    return last if last is not None and last.option == "variadic" and last.homogeneous else None


def _named_dims(types: Iterable[Type | None]) -> dict[str, Dim]:
    return {show_dim(d): d for t in types for d in _dims(t) if isinstance(d, Symbol | Expression)}


def _dims(type_: Type | None) -> Iterator[Dim]:
    match type_:
        case Tensor(_, shape) | Sparse(_, shape):
            yield from shape or ()
        case SequenceType(element) | Optional(element) | Map(_, element):
            yield from _dims(element)


def _restored(proto: TypeProto, known: Mapping[str, Dim]) -> Type | None:
    return _with_dims(type_from_proto(proto), known)


def _with_dims(type_: Type | None, known: Mapping[str, Dim]) -> Type | None:
    match type_:
        case Tensor(dtype, shape) if shape is not None:
            return Tensor(dtype, tuple(known.get(show_dim(dim), dim) for dim in shape))
        case Sparse(dtype, shape) if shape is not None:
            return Sparse(dtype, tuple(known.get(show_dim(dim), dim) for dim in shape))
        case SequenceType(element):
            return SequenceType(_with_dims(element, known))
        case Optional(element):
            return Optional(_with_dims(element, known))
    return type_


def type_of(value: object) -> Type | None:
    """The type of a run-time value; None for an absent one or a dictionary."""
    if isinstance(value, np.ndarray):
        return Tensor(dtype_of(value.dtype), tuple(value.shape))
    if isinstance(value, list):
        return SequenceType(type_of(value[0]) if value else None)
    return None
