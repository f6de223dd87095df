"""Records the values inside bodies in one run, by their place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.infer.models import watched
from tests.infer.standard import Key
from treadle.ir import Block, bodies, step_path
from treadle.tracing import ValueMade


@dataclass
class Seen:
    """The dtypes and shapes one value had, over all iterations."""

    dtypes: set[np.dtype] = field(default_factory=set)
    shapes: set[tuple[int, ...]] = field(default_factory=set)


def show_key(key: Key) -> str:
    """The place in words."""
    return "/".join((*key[0], key[1]))


def recorded(path: Path, inputs: Mapping[str, np.ndarray]) -> dict[Key, Seen]:
    """Every value inside bodies of a run; nothing where the model is refused."""
    try:
        model, events = watched(path, inputs)
    except Exception:  # noqa: BLE001 - a model that does not run contradicts nothing
        return {}
    places = dict(_places(model.main, "main", ()))
    seen: dict[Key, Seen] = {}
    for event in events:
        if isinstance(event, ValueMade) and event.path in places:
            values = event.value if isinstance(event.value, list) else [event.value]
            entry = seen.setdefault((places[event.path], event.name), Seen())
            for value in values:
                if isinstance(value, np.ndarray):
                    entry.dtypes.add(value.dtype)
                    entry.shapes.add(value.shape)
    return seen


def _places(block: Block, path: str, key: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield path, key
    for position, step in enumerate(block.steps):
        first = next((value.name for value in step.results if value is not None), "")
        for name, body in bodies(step):
            inner = f"{step_path(path, step, position)}.{name}"
            yield from _places(body, inner, (*key, f"{first}.{name}"))
