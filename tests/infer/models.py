"""Text models as tests write them, typed; and whether recorded values fit their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from treadle import formats, interp, passes
from treadle.infer import infer
from treadle.ir import (
    Block,
    Call,
    Function,
    Leaf,
    Model,
    Optional,
    Sequence,
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
from treadle.tracing import ValueMade


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


def admits(type_: Type | None, value: object) -> bool:
    """Whether a run-time value is one the type allows."""
    match type_:
        case Tensor(dtype, shape):
            fits = isinstance(value, np.ndarray) and shape_admits(shape, value.shape)
            return fits and dtype in (None, dtype_of(value.dtype))
        case Sequence(element):
            return isinstance(value, list) and all(admits(element, item) for item in value)
        case Optional(element):
            return value is None or admits(element, value)
    return True


def violations(model: Model, events: Iterable[object]) -> list[str]:
    """Every value a recorder saw in a run of the typed model that its type does not admit."""
    types = dict(_types(model.main, "main"))
    return [
        f"{event.path} {event.name} {event.iterations}: {show_type(types[event.path, event.name])}"
        f" does not admit {getattr(event.value, 'shape', event.value)!r}"
        for event in events
        if isinstance(event, ValueMade)
        and not admits(types.get((event.path, event.name)), event.value)
    ]


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
    interp.prepare(plan(model, (), inside=True))(
        [given[param.name] for param in model.main.params], context
    )
    return model, events
