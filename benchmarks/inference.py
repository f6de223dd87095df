"""Compares four tools' inference inside bodies: python -m benchmarks.inference.

Every exporter's model loses its value_info, then also what its bodies declare of their inputs and
outputs; each tool infers it again. A dim is known when it is a number or made of the names the
model's own inputs have. A type a run contradicts is wrong, and known counts only right ones.
`--write docs/inference.md` renews the table there; `--missing` lists what another tool knows more
of. The package onnx-shape-inference is asked when it is installed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

import treadle
from benchmarks.page import put
from benchmarks.recorded import Seen, recorded, show_key
from tests.conformance.data import EXPORTED, exported
from tests.infer.standard import Key, bodies_of, strip, types_of

Types = Mapping[Key, onnx.TypeProto]
Tool = Callable[[onnx.ModelProto], onnx.ModelProto]
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"


def body_values(graph: onnx.GraphProto, path: tuple[str, ...] = ()) -> Iterator[Key]:
    """Every input and node output of every body."""
    if path:
        initialized = {tensor.name for tensor in graph.initializer}
        yield from ((path, v.name) for v in graph.input if v.name not in initialized)
        yield from ((path, name) for node in graph.node for name in node.output if name)
    for inner, body in bodies_of(graph, path):
        yield from body_values(body, inner)


@dataclass
class Counts:
    """Of one tool: values with known dtype, rank and dims, wrong ones, models it failed on."""

    dtype: int = 0
    rank: int = 0
    dims: int = 0
    wrong: int = 0
    failed: int = 0


def grade(type_: onnx.TypeProto | None, names: set[str], seen: Seen) -> tuple[int, bool]:
    """How much is known (0 nothing, 1 dtype, 2 rank, 3 dims), and whether a run contradicts it."""
    tensor, shapes = _tensor(type_), seen.shapes
    if tensor is None or not tensor.elem_type:
        return 0, False
    if seen.dtypes - {_numpy(tensor.elem_type)}:
        return 0, True
    if not tensor.HasField("shape"):
        return 1, False
    dims = tensor.shape.dim
    if any(len(shape) != len(dims) for shape in shapes):
        return 1, True
    numbers = [d.dim_value if d.HasField("dim_value") else None for d in dims]
    wrong = any(
        n not in (None, extent) for s in shapes for n, extent in zip(numbers, s, strict=True)
    )
    known = all(
        n is not None or _is_known(dim.dim_param, names)
        for n, dim in zip(numbers, dims, strict=True)
    )
    return (3 if known and not wrong else 2), wrong


def _is_known(text: str, names: set[str]) -> bool:
    found = set(re.findall(r"[^\W\d]\w*", text)) - {"floor", "Max", "Min", "max", "min"}
    return bool(text) and (text in names or found <= names)


def _tensor(type_: onnx.TypeProto | None) -> onnx.TypeProto.Tensor | None:
    while type_ is not None:
        match type_.WhichOneof("value"):
            case "tensor_type":
                return type_.tensor_type
            case "sequence_type":
                type_ = type_.sequence_type.elem_type
            case "optional_type":
                type_ = type_.optional_type.elem_type
            case _:
                return None
    return None


def _numpy(element: int) -> np.dtype:
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element))


def by_treadle(model: onnx.ModelProto) -> onnx.ModelProto:
    """What `save` writes of what `infer` finds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "typed.onnx"
        treadle.save(treadle.infer(model), path)
        return onnx.load(path)


def by_onnx(model: onnx.ModelProto) -> onnx.ModelProto:
    """onnx.shape_inference; not strict where strictness fails, which is to its advantage."""
    try:
        return onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)


def by_onnxruntime(model: onnx.ModelProto) -> onnx.ModelProto:
    """The tool's own loop, but an inference left incomplete counts for what it has."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    tool = SymbolicShapeInference(2**31 - 1, False, False, 0)
    tool._preprocess(model)
    while tool.run_:
        tool._infer_impl()
    tool._update_output_from_vi()
    return tool.out_mp_


def by_onnx_ir(model: onnx.ModelProto) -> onnx.ModelProto:
    """The symbolic pass for onnx_ir models."""
    import onnx_ir
    from onnx_shape_inference import infer_symbolic_shapes

    return onnx_ir.to_proto(infer_symbolic_shapes(onnx_ir.from_proto(model)))


def tools() -> dict[str, Tool]:
    """The tools there are."""
    found = {"treadle": by_treadle, "onnx.shape_inference": by_onnx}
    found["onnxruntime symbolic_shape_infer"] = by_onnxruntime
    try:
        import onnx_shape_inference  # noqa: F401
    except ImportError:
        return found
    return {**found, "onnx_ir symbolic pass": by_onnx_ir}


def measure(bodies: bool, missing: bool) -> tuple[int, dict[str, Counts]]:
    """The number of body values, and the counts of every tool."""
    asked = tools()
    counts, total = {name: Counts() for name in asked}, 0
    for name in EXPORTED:
        path, inputs, _ = exported(name)
        model = onnx.load(path)
        values = list(dict.fromkeys(body_values(model.graph)))
        total += len(values)
        seen = recorded(path, inputs)
        names = {
            dim.dim_param
            for value in model.graph.input
            for dim in value.type.tensor_type.shape.dim
            if dim.dim_param
        }
        grades = {}
        for tool, ask in asked.items():
            types = _asked(ask, strip(model, bodies=bodies), counts[tool])
            grades[tool] = {v: grade(types.get(v), names, seen.get(v, Seen())) for v in values}
            _count(counts[tool], grades[tool].values())
            if missing:
                _print_missing(name, tool, types, grades)
    return total, counts


def _asked(ask: Tool, model: onnx.ModelProto, counts: Counts) -> Types:
    try:
        return types_of(ask(model).graph)
    except Exception as error:  # noqa: BLE001 - another tool may fail in any way
        counts.failed += 1
        sys.stderr.write(f"{ask.__name__}: {type(error).__name__}: {str(error)[:150]}\n")
        return {}


def _count(counts: Counts, grades) -> None:
    for known, wrong in grades:
        counts.dtype += known >= 1
        counts.rank += known >= 2
        counts.dims += known >= 3
        counts.wrong += wrong


def _print_missing(name: str, tool: str, types: Types, grades) -> None:
    for value, (known, wrong) in grades[tool].items():
        ours = grades["treadle"][value]
        if ours[1] and tool == "treadle":
            sys.stdout.write(f"WRONG {name} {show_key(value)}\n")
        if tool == "treadle" and known < 2:
            sys.stdout.write(f"UNKNOWN {name} {show_key(value)} {known}\n")
        if known > ours[0] and not wrong:
            shown = onnx.helper.printable_type(types[value]) if value in types else ""
            sys.stdout.write(f"{name} {show_key(value)}: {tool} {known} > {ours[0]} {shown}\n")


def table(results: Mapping[bool, tuple[int, dict[str, Counts]]]) -> str:
    """The counts as Markdown."""
    lines = []
    for bodies, (total, counts) in results.items():
        what = "value_info and the bodies' declarations" if bodies else "value_info"
        lines += [f"Without {what}, {total} values in bodies:", ""]
        lines += ["| tool | dtype | rank | all dims | wrong | models it fails |"]
        lines += ["|---|---:|---:|---:|---:|---:|"]
        for tool, c in counts.items():
            shares = " | ".join(f"{n} ({100 * n / total:.1f} %)" for n in (c.dtype, c.rank, c.dims))
            lines.append(f"| {tool} | {shares} | {c.wrong} | {c.failed} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    """Measure, print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        written = table({bodies: measure(bodies, options.missing) for bodies in (False, True)})
    put(written, options.write, BEGIN, END)


if __name__ == "__main__":
    main()
