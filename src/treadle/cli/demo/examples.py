"""The three models of the demo: text beside this file, with weights from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np

import treadle
from treadle.ir import Constant, Literal, Model

Arrays = Mapping[str, np.ndarray]
Random = np.random.Generator
_SEED = 7


@dataclass(frozen=True, eq=False, slots=True)
class Example:
    """A model, its description, and inputs for it."""

    name: str
    title: str
    story: str
    model: Model
    feeds: Arrays


def examples() -> Iterator[Example]:
    """The models of the demo, always the same."""
    for name, title, story, make in _EXAMPLES:
        text = files(__package__).joinpath(f"{name}.onnxtxt").read_text(encoding="utf-8")
        weights, feeds = make(np.random.default_rng(_SEED))
        yield Example(name, title, story, bound(treadle.load(text), weights), feeds)


def bound(model: Model, weights: Arrays) -> Model:
    """The model with the inputs named by `weights` turned into constants."""
    block = model.main
    params = tuple(value for value in block.params if value.name not in weights)
    constants = tuple(
        Constant(value, Literal.of(weights[value.name], value.name))
        for value in block.params
        if value.name in weights
    )
    main = replace(block, params=params, constants=block.constants + constants)
    return replace(model, main=main)


def _floats(random: Random, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (random.standard_normal(shape) * scale).astype(np.float32)


def _lstm(random: Random) -> tuple[Arrays, Arrays]:
    weights = {
        "input_weights": _floats(random, 16, 128, scale=0.25),
        "state_weights": _floats(random, 32, 128, scale=0.2),
        "bias": _floats(random, 128, scale=0.1),
    }
    feeds = {
        "x": _floats(random, 64, 2, 16),
        "h_first": np.zeros((2, 32), np.float32),
        "c_first": np.zeros((2, 32), np.float32),
    }
    return weights, feeds


def _decoder(random: Random) -> tuple[Arrays, Arrays]:
    end = np.eye(1, 64, dtype=np.float32)[0]
    weights = {
        "embedding": _floats(random, 64, 32),
        "recurrent": _floats(random, 32, 32, scale=0.3),
        "projection": _floats(random, 32, 64),
        "forbid_end": -1000 * end,
        "prefer_end": np.float32(0.05) * end,
        "h_first": np.zeros(32, np.float32),
    }
    return weights, {"limit": np.array(200, np.int64), "first_token": np.array(1, np.int64)}


def _prefixes(random: Random) -> tuple[Arrays, Arrays]:
    return {}, {"x": _floats(random, 40, 8), "n": np.array(40, np.int64)}


_Make = Callable[[Random], tuple[Arrays, Arrays]]
_EXAMPLES: tuple[tuple[str, str, str, _Make], ...] = (
    (
        "lstm",
        "An LSTM written as Scan",
        "64 steps over a batch of 2. The body captures the weights and carries both states.",
        _lstm,
    ),
    (
        "decoder",
        "A greedy decoder: a while Loop with an If inside",
        "It looks each token up, updates its state and takes the most probable next token, until "
        "that"
        " is the end token. The If keeps it from ending too early.",
        _decoder,
    ),
    (
        "prefixes",
        "A Loop that grows a sequence",
        "Each iteration adds the next prefix of the input to a list, which is joined at the end.",
        _prefixes,
    ),
)
