"""Hand-written blocks, run on interp and compared exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from treadle import ops
from treadle.interp import prepare_block
from treadle.ir import (
    Block,
    BlockBuilder,
    Carried,
    Condition,
    Info,
    Invariant,
    Iteration,
    Loop,
    Role,
    Sliced,
    Stacked,
    Value,
)
from treadle.plan import RunContext

TRIPS = (0, 1, 2, 5)
COUNTED = (Iteration(), Condition())


def run(block: Block, *inputs: object, context: RunContext | None = None) -> list:
    with ops.ignore_fp_warnings():
        return list(prepare_block(block, "main")(inputs, context or RunContext(), ()))


def same(found: object, wanted: object) -> None:
    """Values of run time agree in kind, dtype, shape and every element."""
    assert type(found) is type(wanted), f"found {found!r}, not {wanted!r}"
    if isinstance(wanted, list):
        assert len(found) == len(wanted), f"found {found!r}, not {wanted!r}"
        for f, w in zip(found, wanted, strict=True):
            same(f, w)
    elif isinstance(wanted, np.ndarray):
        assert found.dtype == wanted.dtype, f"{found.dtype}, not {wanted.dtype}"
        assert found.shape == wanted.shape, f"{found.shape}, not {wanted.shape}"
        np.testing.assert_array_equal(found, wanted)


def f32(*items: object, shape: Sequence[int] | None = None) -> np.ndarray:
    """float32: one item is a scalar, several a vector; or of a shape."""
    array = np.array(items[0] if len(items) == 1 else items, np.float32)
    return array if shape is None else array.reshape(shape)


def i64(*items: object) -> np.ndarray:
    return np.array(items[0] if len(items) == 1 else items, np.int64)


def yes(value: bool = True) -> np.ndarray:
    return np.array(value)


def add(builder: BlockBuilder, a: Value, b: Value) -> Value:
    return builder.leaf("Add", 14, a, b)


def below(builder: BlockBuilder, value: Value, limit: int) -> Value:
    """value < limit"""
    return builder.leaf("Less", 13, value, builder.constant(np.array(limit, np.int64), "limit"))


def body_of(
    params: str, make: Callable[..., Sequence[Value | None]], types: dict | None = None
) -> Block:
    """A body whose params are words; `make(builder, *params)` gives its results."""
    builder = BlockBuilder("body")
    made = [builder.param(name, (types or {}).get(name)) for name in params.split()]
    return builder.build(*make(builder, *made))


def looping(
    body: Block,
    roles: Sequence[Role],
    *,
    trip: bool = True,
    condition: bool = False,
    stacks: Sequence[Stacked] = (),
    op: str = "Loop",
    types: Sequence = (),
    omitted: Sequence[int] = (),
) -> Block:
    """main(trip?, condition?, one operand per role) = the loop's results."""
    main = BlockBuilder("main")
    counted = main.param("trip") if trip else None
    decides = main.param("condition") if condition else None
    fed = [role for role in roles if not isinstance(role, Iteration | Condition)]
    given = [
        main.param(f"{type(role).__name__.lower()}_{k}", types[k] if types else None)
        for k, role in enumerate(fed)
    ]
    count = sum(isinstance(role, Carried) for role in roles) + len(stacks)
    results = tuple(None if k in omitted else main.value(f"result_{k}") for k in range(count))
    main.add(
        Loop(
            counted,
            decides,
            tuple(roles),
            tuple(given),
            body,
            tuple(stacks),
            results,
            Info(op=op),
            fixed_state=op == "Scan",
        )
    )
    return main.build(*results)


def scan(
    body: Block,
    states: int,
    sliced: Sequence[Sliced],
    stacks: Sequence[Stacked] = (),
    captured: int = 0,
    **more: object,
) -> Block:
    """main(states, sequences, captures) = a Scan; its body gives (None, states, elements)."""
    roles = [*[Carried()] * states, *sliced, *[Invariant()] * captured]
    return looping(body, roles, trip=False, stacks=stacks, op="Scan", **more)
