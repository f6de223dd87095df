"""Models of one RNN, GRU or LSTM with any options, with feeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import treadle
from tests.seeded import seeded
from treadle.ir import BlockBuilder, Info, Leaf, Model, attribute, tensor
from treadle.ops import since_version

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
WEIGHTS = ("w", "r", "b", "lengths", "h0", "c0", "p")
ACTIVATIONS: Sequence[tuple[str, int, int]] = (
    ("Relu", 0, 0), ("Tanh", 0, 0), ("Sigmoid", 0, 0), ("Softsign", 0, 0), ("Softplus", 0, 0),
    ("Affine", 1, 1), ("LeakyRelu", 1, 0), ("ThresholdedRelu", 1, 0), ("ScaledTanh", 1, 1),
    ("HardSigmoid", 1, 1), ("Elu", 1, 0),
)  # fmt: skip
"""The activations of the standard, and how many alphas and betas each takes."""


def operator(
    op: str,
    *,
    trips: int = 5,
    lengths: Sequence[int] | None = None,
    direction: str = "forward",
    batch: int = 2,
    features: int = 3,
    hidden: int = 4,
    biases: bool = True,
    initial: bool = True,
    peepholes: bool = False,
    outputs: str = "yhc",
    dtype: type = np.float32,
    opset: int = 17,
    ir_version: int = 8,
    constants: bool = False,
    **attributes: object,
) -> tuple[Model, Mapping[str, np.ndarray]]:
    """A model of one operator, and its feeds; weights are initializers where `constants`."""
    rng = seeded((op, trips))
    ways, rows = 2 if direction == "bidirectional" else 1, GATES[op] * hidden
    batch_first = bool(attributes.get("layout"))
    states = (batch, ways, hidden) if batch_first else (ways, batch, hidden)
    made = {
        "x": (batch, trips, features) if batch_first else (trips, batch, features),
        "w": (ways, rows, features), "r": (ways, rows, hidden),
        "b": (ways, 2 * rows) if biases else None,
        "h0": states if initial else None,
        "c0": states if initial and op == "LSTM" else None,
        "p": (ways, 3 * hidden) if peepholes else None,
    }  # fmt: skip
    feeds = {
        name: (rng.standard_normal(shape) * 0.7).astype(dtype)
        for name, shape in made.items()
        if shape is not None
    }
    if lengths is not None:
        feeds["lengths"] = np.array(lengths, np.int32)
    main = BlockBuilder("main")
    held = [name for name in ("x", *WEIGHTS) if name in feeds]
    values = {}
    for name in held:
        array = feeds[name]
        if constants and name not in ("x", "lengths"):
            values[name] = main.constant(array, name)
        else:
            values[name] = main.param(name, tensor(str(array.dtype), *array.shape))
    wanted = outputs if op == "LSTM" else outputs.replace("c", "")
    results = [main.value(name) if name in wanted else None for name in "yhc"]
    given = {"hidden_size": hidden, "direction": direction, **attributes}
    operands = tuple(values.get(name) for name in ("x", *WEIGHTS))
    while operands[-1] is None:
        operands = operands[:-1]
    version = since_version("", op, opset)
    main.add(
        Leaf(
            "", op, version, operands, tuple(results if op == "LSTM" else results[:2]),
            {name: attribute(name, value) for name, value in given.items()},
            info=Info(op=op, version=version),
        )
    )  # fmt: skip
    shown = [value for value in results if value is not None]
    model = treadle.infer(Model(main.build(*shown), opsets={"": opset}, ir_version=ir_version))
    return model, {value.name: feeds[value.name] for value in model.main.params}
