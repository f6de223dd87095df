"""Nodes with changed attributes, types and operands, checked: no file may end or hang the process.

    python -m tools.type_rules [--every 10] [--only Pad Resize]

`treadle.check` asks onnx's type rules, which are C++ and read some attributes unchecked. The models
are onnx's node cases at every version of their operator. `tools.fatal_models` has the children.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator

import onnx
from onnx import helper
from onnx.defs import OpSchema

import treadle
from tests.ops.node_suite import control_flow, node_cases
from tools.fatal_models import Trial, run
from treadle import TreadleError

_WHOLE = sorted(
    {sign * value + step for value in (0, 2, 4, 16, 2**16, 2**31, 2**32, 2**62)
     for sign in (-1, 1) for step in (-1, 0, 1)} | {-(2**63), 2**63 - 1}
)  # fmt: skip
_REAL = (float("nan"), float("inf"), -1.0, 0.0, 1e38)
_TEXT = (
    "", " ", "a", "a,a", "a,a/", "a,a-", "..a", "a..", "ab,...", "->", "a->", ",,,,", "(((", "[a",
    "NOTSET", "SAME_UPPER", "constant", "\xff",
)  # fmt: skip
_KIND = OpSchema.AttrType
_ELEMENTS = (1, 7, 8, 9, 11, 15, 16, 23)


def main() -> None:
    """Check all models, or every Nth, and list those that end or hang the process."""
    run(Trial("tools.type_rules", __doc__ or "", models, _checked))


def _checked(name: str, model: onnx.ModelProto) -> str:
    with contextlib.suppress(TreadleError):
        treadle.check(model)
    return ""


def models() -> Iterator[tuple[str, onnx.ModelProto]]:
    """Every changed model with a name that tells the change."""
    seen = set()
    for case in node_cases():
        if control_flow(case.model) or len(case.model.graph.node) != 1:
            continue
        node = case.model.graph.node[0]
        form = (node.op_type, tuple(sorted(a.name for a in node.attribute)), len(node.input))
        if form in seen:
            continue
        seen.add(form)
        for version in _versions(node):
            model = copy.deepcopy(case.model)
            for entry in model.opset_import:
                if entry.domain == node.domain:
                    entry.version = version
            for what, changed in itertools.chain(_attributes(model, version), _operands(model)):
                yield f"{node.op_type}-{version} {what} {case.name}", changed


def _versions(node: onnx.NodeProto) -> list[int]:
    known = onnx.defs.get_all_schemas_with_history()
    return sorted(
        {s.since_version for s in known if (s.domain, s.name) == (node.domain, node.op_type)}
    )


def _attributes(model: onnx.ModelProto, version: int) -> Iterator[tuple[str, onnx.ModelProto]]:
    node = model.graph.node[0]
    schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    for name, rule in schema.attributes.items():
        for value in (None, *_values(node, name, rule.type)):
            changed = copy.deepcopy(model)
            kept = [a for a in changed.graph.node[0].attribute if a.name != name]
            del changed.graph.node[0].attribute[:]
            changed.graph.node[0].attribute.extend(kept)
            if value is not None:
                changed.graph.node[0].attribute.append(helper.make_attribute(name, value))
            yield f"{name}={str(value)[:60]!r}", changed


def _values(node: onnx.NodeProto, name: str, kind: object) -> Iterator[object]:
    if kind == _KIND.INT:
        yield from _WHOLE
    elif kind == _KIND.INTS:
        length = max((len(a.ints) for a in node.attribute if a.name == name), default=2)
        for value in _WHOLE:
            yield from ([value], [value] * length, [1] * (length - 1) + [value])
        yield from ([0] * 100_000, [1] * 70)
    elif kind == _KIND.FLOAT:
        yield from _REAL
    elif kind == _KIND.FLOATS:
        yield from ([value] for value in _REAL)
    elif kind == _KIND.STRING:
        yield from _TEXT


def _operands(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The operands with other types, with edge values as initializers, and left out."""
    for position, value in enumerate(model.graph.input):
        tensor = value.type.tensor_type
        dims = [dim.dim_value for dim in tensor.shape.dim]
        shapes: list[list[object] | None] = [
            [], [0], [3], [2, 3], [2, 3, 4], [*dims, 2], list(dims[:-1]), [1] * 9, None,
            *([extent] * len(dims) for extent in (0, 1, -1, 2**31, 2**62, 2**63 - 1, "n")),
        ]  # fmt: skip
        types = [helper.make_tensor_type_proto(tensor.elem_type, each) for each in shapes]
        types += [helper.make_tensor_type_proto(each, dims) for each in _ELEMENTS]
        for type_ in (onnx.TypeProto(), *types):
            changed = copy.deepcopy(model)
            changed.graph.input[position].type.CopyFrom(type_)
            yield f"{value.name} of {str(type_).split()!r:.80}", changed
        if tensor.elem_type == onnx.TensorProto.INT64 and len(dims) <= 1:
            for whole in _WHOLE:
                changed = copy.deepcopy(model)
                count = dims[0] if dims else 1
                data = helper.make_tensor(value.name, 7, dims, [whole] * count)
                changed.graph.initializer.append(data)
                yield f"{value.name} is {whole}", changed
    for position in range(len(model.graph.node[0].input)):
        changed = copy.deepcopy(model)
        changed.graph.node[0].input[position] = ""
        yield f"no input {position}", changed


if __name__ == "__main__":
    main()
