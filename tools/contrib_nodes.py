"""Nodes of onnxruntime's own operators with changed operands and attributes, run in a session.

    python -m tools.contrib_nodes [--only QGemm ...] [--every 10]

Every operator of com.microsoft with a kernel for the processor is run as a model of one node: as in
`FORMS`, with each optional input left out, with all of them, with other ranks, extents and values,
and with attributes at their limits. `tools.fatal_models` has the children; a node that asks for
more memory than `_BYTES` is listed as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import treadle
from tools.contrib_forms import CONTENT, ELEMENTS, FORMS, GROUPS_BY_OPERATOR, NEEDED, RESULTS
from tools.contrib_graphs import broken
from tools.fatal_models import Trial, note, run
from treadle import TreadleError

_DOMAIN = "com.microsoft"
_BYTES = 6 << 30
_WHOLE = (
    0, 1, -1, 2, 3, 5, 2**31 - 1, 2**31, -(2**31), 2**32, -(2**32), 2**62, 2**63 - 1, -(2**63),
)  # fmt: skip
_REAL = (0.0, -1.0, 1e30, float("nan"), float("inf"))
_TEXT = ("", "a", "none", "SAME_UPPER", "VALID", "(((", "silu", "gated_delta", "Relu", "linear")
_VALUES = (0, 1, 2, -1, 7, 1000, 2**31 - 1, -(2**31))
_NAMES = {
    "float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "string": TensorProto.STRING,
}  # fmt: skip

_Form = tuple[dict[str, Any], list[np.ndarray | None]]


def main() -> None:
    """Run all nodes, or every Nth, and list those that end or hang the process."""
    run(Trial("tools.contrib_nodes", __doc__ or "", nodes, _needing, most=_BYTES))


def _needing(name: str, form: _Form) -> str:
    """The error of a node that asks for too much memory."""
    told = outcome(name.partition(" ")[0], form)
    if name.endswith(" as it is"):
        note(f"{name}: {told[:250]!r}")
    return told[:150] if "alloc" in told or "out of memory" in told.lower() else ""


def outcome(operator: str, form: _Form) -> str:
    """The error of a session or of its run; "" where it answers."""
    attributes, operands = form
    try:
        session = treadle.InferenceSession(model_of(operator, attributes, operands))
        session.run(None, {f"x{k}": each for k, each in enumerate(operands) if each is not None})
    except TreadleError as error:
        return str(error)
    except MemoryError:
        return "MemoryError"
    return ""


def model_of(
    operator: str, attributes: Mapping[str, Any], operands: Sequence[np.ndarray | None]
) -> bytes:
    """The model of one node; its inputs have no declared rank."""
    names = ["" if each is None else f"x{k}" for k, each in enumerate(operands)]
    schema = _schema(operator)
    count = RESULTS.get(operator, len(schema.outputs))
    results = [f"y{k}" for k in range(count)]
    node = helper.make_node(operator, names, results, domain=_DOMAIN)
    for name, value in attributes.items():
        kind = str(schema.attributes[name].type).rpartition(".")[2]
        type_ = getattr(onnx.AttributeProto, kind)
        node.attribute.append(helper.make_attribute(name, value, attr_type=type_))
    inputs = [
        helper.make_tensor_value_info(name, _element(each), None)
        for name, each in zip(names, operands, strict=True)
        if each is not None
    ]
    outputs = [helper.make_empty_tensor_value_info(name) for name in results[:1]]
    graph = helper.make_graph([node], "g", inputs, outputs)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(_DOMAIN, 1)]
    return bytes(helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString())


def _element(array: np.ndarray) -> int:
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def _schema(operator: str) -> Any:
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    if not _SCHEMAS:
        known = binding.get_all_operator_schema()
        _SCHEMAS.update({each.name: each for each in known if each.domain == _DOMAIN})
    return _SCHEMAS[operator]


_SCHEMAS: dict[str, Any] = {}


def _dtypes(operator: str) -> list[np.dtype[Any]]:
    """The element type of each input that a kernel for the processor takes."""
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    kernels = [
        each
        for each in binding.get_all_opkernel_def()
        if (each.domain, each.op_name) == (_DOMAIN, operator)
    ]
    allowed = dict(kernels[0].type_constraints)
    found = []
    for formal in _schema(operator).inputs:
        types = allowed.get(formal.typeStr) or sorted(formal.types) or [formal.typeStr]
        word = types[0].removeprefix("tensor(").rstrip(")")
        element = _NAMES.get(word) or getattr(TensorProto, word.upper())
        known = ELEMENTS.get((operator, len(found)))
        found.append(known or helper.tensor_dtype_to_np_dtype(element))
    return found


def nodes(only: Sequence[str] = ()) -> Iterator[tuple[str, _Form]]:
    """Every changed node of these operators, or of all, with a name that tells the change."""
    for operator in sorted(only or FORMS):
        attributes, shapes = FORMS[operator]
        schema = _schema(operator)
        dtypes = _dtypes(operator)
        last = len(dtypes) - 1
        whole = [
            None
            if shape is None
            else filled(dtypes[_formal(operator, k, last)], shape, CONTENT.get((operator, k), 1))
            for k, shape in enumerate(shapes)
        ]
        known = range(min(len(shapes), len(schema.inputs)))
        optional = [k for k in known if _is_optional(schema, k) and (operator, k) not in NEEDED]
        least = [None if k in optional else each for k, each in enumerate(whole)]
        bases = {"least": least, "whole": whole}
        bases |= {f"with {k}": [*least[:k], whole[k], *least[k + 1 :]] for k in optional}
        bases |= {f"without {k}": [*whole[:k], None, *whole[k + 1 :]] for k in range(len(whole))}
        for base, operands in bases.items():
            yield f"{operator} {base} as it is", (attributes, operands)
            kind, _, position = base.partition(" ")
            if kind == "without":
                continue
            for what, changed in _operands(operands, int(position) if position else None):
                yield f"{operator} {base} {what}", (attributes, changed)
            if kind == "with":
                continue
            for name, rule in schema.attributes.items():
                for value in _settings(str(rule.type).rpartition(".")[2]):
                    named = f"{operator} {base} {name}={str(value)[:30]}"
                    yield named, ({**attributes, name: value}, operands)
                if name in attributes and isinstance(attributes[name], onnx.GraphProto):
                    for what, graph in broken(attributes[name]):
                        named = f"{operator} {base} {name} {what}"
                        yield named, ({**attributes, name: graph}, operands)


def _formal(operator: str, position: int, last: int) -> int:
    """The input of the schema whose element type the operand has."""
    groups = GROUPS_BY_OPERATOR.get(operator)
    return (
        groups[(position - last) % len(groups)] if groups and position > 1 else min(position, last)
    )


def _is_optional(schema: Any, position: int) -> bool:
    return str(schema.inputs[position].option).endswith("Optional")


def filled(dtype: np.dtype[Any], shape: Sequence[int], value: object = 1) -> np.ndarray:
    """An array of one value; of two words where it holds text."""
    if dtype.kind == "O":
        return np.full(tuple(shape), "a b", object)
    return np.full(tuple(shape), value).astype(dtype)


def _operands(
    operands: Sequence[np.ndarray | None], only: int | None
) -> Iterator[tuple[str, list[Any]]]:
    """One operand with other extents or values, or all of them without elements."""
    for k, each in enumerate(operands):
        if each is None or only not in (None, k):
            continue
        shape = each.shape
        shapes: list[tuple[int, ...]] = [(), (0,), (1,), (5,), shape[1:], (1, *shape), (*shape, 1)]
        for axis, extent in itertools.product(range(len(shape)), (0, 1, 2, 65)):
            shapes.append((*shape[:axis], extent, *shape[axis + 1 :]))
        for other in dict.fromkeys(shapes):
            if other != shape:
                changed = filled(each.dtype, other)
                yield f"operand {k} of {list(other)}", [*operands[:k], changed, *operands[k + 1 :]]
        if each.dtype.kind in "iu":
            for value in _VALUES:
                changed = filled(each.dtype, shape, value)
                yield f"operand {k} is {value}", [*operands[:k], changed, *operands[k + 1 :]]
    for extent in (0, 1):
        changed = [
            None if each is None else filled(each.dtype, (extent,) * each.ndim) for each in operands
        ]
        yield f"all extents {extent}", changed


def _settings(kind: str) -> Iterator[Any]:
    if kind == "INT":
        yield from _WHOLE
    elif kind == "INTS":
        yield from ([], *([value] * count for value in _WHOLE for count in (1, 2, 3, 4)))
    elif kind == "FLOAT":
        yield from _REAL
    elif kind == "FLOATS":
        yield from ([], [float("nan")], [1.0] * 9)
    elif kind == "STRING":
        yield from _TEXT
    elif kind == "STRINGS":
        yield from ([], [""], ["a"], ["Tanh"] * 9)


if __name__ == "__main__":
    main()
