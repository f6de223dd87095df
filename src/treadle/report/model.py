"""Describes a model: its inputs and outputs, its sizes, and every loop and branch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treadle.ir import (
    Block,
    Branch,
    Constant,
    DType,
    Function,
    Leaf,
    Literal,
    Loop,
    Model,
    SparseArray,
    Visit,
    bodies,
    walk,
    walk_block,
)
from treadle.messages import visible
from treadle.report.body import Port, count_operators, is_control_flow, port, show_operators
from treadle.report.branch import BranchSummary, show_branch, summarize_branch
from treadle.report.call import CallSummary, show_call, summarize_call
from treadle.report.loop import LoopSummary, show_loop, summarize_loop
from treadle.report.origin import Origins, origins
from treadle.report.text import plural, show_bytes, table

ControlFlow = LoopSummary | BranchSummary | CallSummary


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of a model; `external` of the `bytes` of its tensors are in other files."""

    nodes: int
    nodes_in_bodies: int
    nesting: int
    tensors: int
    bytes: int
    external: int


@dataclass(frozen=True, slots=True)
class FunctionSummary:
    """A model-local function and the number of its nodes."""

    name: str
    nodes: int


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The summary that `treadle inspect` prints."""

    name: str
    producer: str
    ir_version: int
    opsets: Mapping[str, int]
    inputs: tuple[Port, ...]
    defaults: tuple[str, ...]
    outputs: tuple[Port, ...]
    sizes: Sizes
    operators: Mapping[str, int]
    functions: tuple[FunctionSummary, ...]
    control_flow: tuple[ControlFlow, ...]


def summarize_model(model: Model) -> ModelSummary:
    """Summarize the model."""
    params = set(model.main.params)
    visits = list(walk(model))
    known = origins(model)
    return ModelSummary(
        model.main.name,
        " ".join(part for part in (model.producer, model.producer_version) if part),
        model.ir_version,
        {domain or "onnx": version for domain, version in model.opsets.items()},
        tuple(map(port, model.main.params)),
        tuple(c.value.name for c in model.main.constants if c.value in params),
        tuple(map(port, model.main.results)),
        _sizes(model, visits),
        count_operators(visit.step for visit in visits),
        tuple(map(_function, model.functions.values())),
        tuple(_control_flow(v, known) for v in visits if is_control_flow(v.step)),
    )


def show_summary(summary: ModelSummary) -> str:
    """The summary as text: the model, then a paragraph for each loop, branch and call."""
    opsets = ", ".join(f"{domain} {version}" for domain, version in summary.opsets.items())
    rows = [
        *_ports("inputs", summary.inputs, summary.defaults),
        *_ports("outputs", summary.outputs),
        ("opsets", f"{opsets} (IR version {summary.ir_version})"),
        ("holds", _show_sizes(summary.sizes)),
        ("operators", show_operators(summary.operators)),
    ]
    if summary.producer:
        rows.insert(0, ("made by", summary.producer))
    rows += [("function", f"{f.name}, {plural(f.nodes, 'node')}") for f in summary.functions]
    head = f"model {visible(summary.name) or '(no name)'}\n{table(rows, indent=2)}"
    return "\n\n".join([head, *map(show_control_flow, summary.control_flow)])


def show_control_flow(found: ControlFlow) -> str:
    """A paragraph about one loop, branch or call."""
    match found:
        case LoopSummary():
            return show_loop(found)
        case BranchSummary():
            return show_branch(found)
        case CallSummary():
            return show_call(found)


def _ports(
    word: str, given: tuple[Port, ...], defaults: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    shown = (f"{p.name}: {p.type}{' (has a default)' if p.name in defaults else ''}" for p in given)
    return [("" if number else word, line) for number, line in enumerate(shown)]


def _show_sizes(sizes: Sizes) -> str:
    nodes = plural(sizes.nodes, "node")
    if sizes.nesting:
        deep = "body" if sizes.nesting == 1 else "bodies"
        nodes += f" ({sizes.nodes_in_bodies} in bodies, at most {sizes.nesting} {deep} deep)"
    if not sizes.tensors:
        return f"{nodes}, no tensors"
    tensors = f"{plural(sizes.tensors, 'tensor')} of {show_bytes(sizes.bytes)}"
    external = f", {show_bytes(sizes.external)} of it in other files" if sizes.external else ""
    return f"{nodes}, {tensors}{external}"


def _sizes(model: Model, visits: list[Visit]) -> Sizes:
    tensors = [tensor for block in _blocks(model) for tensor in _tensors(block)]
    return Sizes(
        len(visits),
        sum(visit.depth > 0 for visit in visits),
        max((visit.depth for visit in visits), default=0),
        len(tensors),
        sum(map(_bytes, tensors)),
        sum(_bytes(t) for t in tensors if t.external is not None),
    )


def _blocks(model: Model) -> Iterator[Block]:
    pending = [model.main, *(function.block for function in model.functions.values())]
    while pending:
        block = pending.pop()
        yield block
        pending += [body for step in block.steps for _, body in bodies(step)]


def _tensors(block: Block) -> Iterator[Literal]:
    for constant in block.constants:
        yield from _literals(constant)
    for step in block.steps:
        if isinstance(step, Leaf):
            yield from (a.value for a in step.attributes.values() if isinstance(a.value, Literal))


def _literals(constant: Constant) -> tuple[Literal, ...]:
    data = constant.data
    return (data.values, data.indices) if isinstance(data, SparseArray) else (data,)


def _bytes(tensor: Literal) -> int:
    if tensor.dtype is DType.STRING:
        return sum(len(str(text).encode("utf-8", "replace")) for text in tensor.array.reshape(-1))
    return (tensor.array.size * tensor.dtype.bits + 7) // 8


def _function(function: Function) -> FunctionSummary:
    return FunctionSummary(str(function.id), sum(1 for _ in walk_block(function.block)))


def _control_flow(visit: Visit, known: Origins) -> ControlFlow:
    match visit.step:
        case Loop() as loop:
            return summarize_loop(loop, visit.path, visit.depth, known)
        case Branch() as branch:
            return summarize_branch(branch, visit.path, visit.depth, known)
        case step:
            return summarize_call(step, visit.path, visit.depth)
