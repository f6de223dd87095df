"""The attributes of an RNN, GRU or LSTM in normalized form.

    Activation = (name, alpha, beta)        Settings = (op, directions, activations, clip, ...)

Names of activations are those of the schema, in lower case. alpha and beta are taken in turn by the
activations that have them, over all directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from treadle.errors import did_you_mean

GATES: Mapping[str, int] = {"RNN": 1, "GRU": 3, "LSTM": 4}
"""The rows of W and R in multiples of the hidden size: RNN i, GRU z r h, LSTM i o f c."""
STATES: Mapping[str, int] = {"RNN": 1, "GRU": 1, "LSTM": 2}
"""Carried states: h, and c of an LSTM."""
DEFAULTS: Mapping[str, Sequence[str]] = {
    "RNN": ("tanh",),
    "GRU": ("sigmoid", "tanh"),
    "LSTM": ("sigmoid", "tanh", "tanh"),
}

# name: default alpha and beta; None: the activation takes none
PARAMETERS: Mapping[str, tuple[float | None, float | None]] = {
    "relu": (None, None),
    "tanh": (None, None),
    "sigmoid": (None, None),
    "softsign": (None, None),
    "softplus": (None, None),
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, None),
    "thresholdedrelu": (1.0, None),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
    "elu": (1.0, None),
}

SPELLED: Mapping[str, str] = {
    name.lower(): name
    for name in (
        "Relu", "Tanh", "Sigmoid", "Softsign", "Softplus", "Affine", "LeakyRelu",
        "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu",
    )
}  # fmt: skip
"""The schemas' spelling of the names; some runtimes accept no other."""


class Activation(NamedTuple):
    """An activation and its parameters."""

    name: str
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """The attributes of one RNN, GRU or LSTM; `activations` are those of each direction.

    `backwards`: for each direction, whether it runs from the last item to the first.
    """

    op: str
    backwards: tuple[bool, ...]
    activations: tuple[tuple[Activation, ...], ...]
    clip: float | None = None
    layout: int = 0
    hidden: int | None = None
    linear_before_reset: bool = False
    input_forget: bool = False


_BACKWARDS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def settings_of(op: str, attributes: Mapping[str, Any]) -> Settings | str:
    """The settings of the attributes; or a text if they are invalid in the standard."""
    direction = attributes.get("direction", "forward")
    backwards = _BACKWARDS.get(direction)
    if backwards is None:
        return f"its direction {direction!r} is not one of the standard's"
    names = [name.lower() for name in attributes.get("activations") or ()]
    names = names or [*DEFAULTS[op]] * len(backwards)
    if len(names) != len(DEFAULTS[op]) * len(backwards):
        return f"it names {len(names)} activations, and has {len(DEFAULTS[op]) * len(backwards)}"
    unknown = next((name for name in names if name not in PARAMETERS), None)
    if unknown is not None:
        hint = did_you_mean(unknown, sorted(PARAMETERS))
        return f"the standard has no activation {unknown!r}, {hint}"
    alphas = iter(attributes.get("activation_alpha") or ())
    betas = iter(attributes.get("activation_beta") or ())
    made = [_activation(name, alphas, betas) for name in names]
    each = len(DEFAULTS[op])
    return Settings(
        op,
        backwards,
        tuple(tuple(made[k : k + each]) for k in range(0, len(made), each)),
        attributes.get("clip"),
        attributes.get("layout", 0),
        attributes.get("hidden_size"),
        bool(attributes.get("linear_before_reset", 0)),
        bool(attributes.get("input_forget", 0)),
    )


def _activation(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Activation:
    alpha, beta = PARAMETERS[name]
    return Activation(
        name,
        None if alpha is None else next(alphas, alpha),
        None if beta is None else next(betas, beta),
    )
