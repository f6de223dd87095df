"""Text models as tests write them, typed; and whether recorded values fit their types."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from treadle import formats, infer
from treadle.ir import (
    Block,
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
from treadle.tracing import ValueMade


def read(text: str, opset: int = 21) -> Model:
    """The model of a text that starts at its graph."""
    header = f'<ir_version: {10 if opset > 8 else 3}, opset_import: ["" : {opset}]>'
    model, findings = formats.read(f"{header}\n{text}")
    assert model is not None, findings
    return model


def typed(text: str, opset: int = 21) -> dict[str, str]:
    """Every value of the model as `path name` with its inferred type; main's by name alone."""
    return dict(_shown(infer.infer(read(text, opset)).main, "main"))


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
