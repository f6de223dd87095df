"""Text models with inferred types, and a comparison of recorded values with their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

import numpy as np

from treadle import execution, formats, passes
from treadle.infer import infer
from treadle.ir import (
    Block,
    Call,
    Dim,
    Expression,
    Function,
    Leaf,
    Model,
    Optional,
    Sequence,
    Symbol,
    Tensor,
    Type,
    block_values,
    bodies,
    dtype_of,
    shape_admits,
    show_type,
    step_path,
)
from treadle.plan import Limits, RunContext, plan
from treadle.tracing import IterationStarted, LoopEnded, ValueMade


def read(text: str, opset: int = 21) -> Model:
    """The model of a text that starts at its graph."""
    header = f'<ir_version: {10 if opset > 8 else 3}, opset_import: ["" : {opset}]>'
    model, findings = formats.read(f"{header}\n{text}")
    assert model is not None, findings
    return model


def typed(text: str, opset: int = 21) -> dict[str, str]:
    """Every value of the model as `path name` with its inferred type; main's by name alone."""
    return dict(_shown(infer(read(text, opset)).main, "main"))


def _shown(block: Block, path: str) -> Iterable[tuple[str, str]]:
    prefix = "" if path == "main" else f"{path} "
    for value in block_values(block):
        yield f"{prefix}{value.name}", show_type(value.inferred)
    for position, step in enumerate(block.steps):
        for name, body in bodies(step):
            yield from _shown(body, f"{step_path(path, step, position)}.{name}")


def admits(type_: Type | None, value: object, symbols: Mapping[str, int] | None = None) -> bool:
    """Whether a run-time value is one the type allows, its symbols being these numbers."""
    match type_:
        case Tensor(dtype, shape):
            known = None if shape is None else tuple(evaluated(d, symbols or {}) for d in shape)
            fits = isinstance(value, np.ndarray) and shape_admits(known, value.shape)
            return fits and dtype in (None, dtype_of(value.dtype))
        case Sequence(element):
            return isinstance(value, list) and all(admits(element, v, symbols) for v in value)
        case Optional(element):
            return value is None or admits(element, value, symbols)
    return True


def evaluated(dim: Dim, symbols: Mapping[str, int]) -> Dim:
    """The number the dim is; the dim itself where a symbol of it has none."""
    match dim:
        case Symbol(name):
            return symbols.get(name, dim)
        case Expression(terms) if all(name in symbols for names, _ in terms for name in names):
            return sum(factor * prod(symbols[n] for n in names) for names, factor in terms)
    return dim


def violations(model: Model, events: Iterable[object]) -> list[str]:
    """Every value a recorder saw in a run of the typed model that its type does not admit.

    Names of the model's inputs, of iterations, trips and carried extents are what the run made
    them: a run goes through one iteration after the other, so the last one heard is meant.
    """
    types = dict(_types(model.main, "main"))
    symbols: dict[str, int] = {}
    declared = {param.name: param.declared for param in model.main.params}
    found = []
    for event in events:
        match event:
            case IterationStarted(path, iterations):
                symbols[f"{path}.iteration"] = iterations[-1]
            case LoopEnded(path, _, trips):
                symbols[f"{path}.trips"] = trips
            case ValueMade(path, iterations, name, value):
                _bind(symbols, path, name, declared if path == "main" else {}, value)
                type_ = types.get((path, name))
                if not admits(type_, value, symbols):
                    shown = getattr(value, "shape", value)
                    place = f"{path} {name} {iterations}"
                    found.append(f"{place}: {show_type(type_)} does not admit {shown!r}")
    return found


def _bind(
    symbols: dict[str, int],
    path: str,
    name: str,
    declared: Mapping[str, Type | None],
    value: object,
) -> None:
    for axis, extent in enumerate(getattr(value, "shape", ())):
        symbols[f"{path.removesuffix('.body')}:{name}.{axis}"] = extent
        match declared.get(name):
            case Tensor(shape=tuple() as shape) if isinstance(shape[axis], Symbol):
                symbols.setdefault(shape[axis].name, extent)


def _types(block: Block, path: str) -> Iterable[tuple[tuple[str, str], Type | None]]:
    for value in block_values(block):
        yield (path, value.name), value.inferred
    for position, step in enumerate(block.steps):
        for name, body in bodies(step):
            yield from _types(body, f"{step_path(path, step, position)}.{name}")


def watched(source: object, feeds: Iterable[object] | Mapping[str, object]) -> tuple[Model, list]:
    """The model as interp runs it, typed, and every event of a run of it on the feeds."""
    closed, findings = formats.read(source)
    assert closed is not None, findings
    params = [param.name for param in closed.main.params]
    given = feeds if isinstance(feeds, Mapping) else dict(zip(params, feeds, strict=False))

    def expand(step: Leaf | Call, types: Iterable[Type | None]) -> Function | None:
        return formats.schema_function(step, types, closed.opsets)

    model = infer(passes.prepare(closed, expand=expand, overridden=given.keys()))
    events: list[object] = []
    context = RunContext(events.append, Limits(iterations=10_000))
    execution.prepare(plan(model, (), inside=True))(
        [given[param.name] for param in model.main.params], context
    )
    return model, events
