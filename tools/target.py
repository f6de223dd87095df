"""Reports the changes that a model needs for a runtime with known limits.

    python -m tools.target MODEL [--opset 13]

Each limit is looked at on its own: whether the model keeps it, after which command it does,
or what is in the way.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import treadle
from treadle.ir import Branch, Loop, Model, Optional, Sequence, Tensor, Value, block_values, walk

Rewrite = Callable[[Model], Model]


class Limit(NamedTuple):
    """A limit of runtimes: its name, who keeps it, and the commands that lead there, best first."""

    name: str
    is_kept: Callable[[Model], bool]
    ways: tuple[tuple[str, Rewrite], ...]


def values(model: Model) -> Iterator[Value]:
    """Every value of the main block and its bodies, with types."""
    typed = treadle.infer(model)
    yield from block_values(typed.main)
    for visit in walk(typed):
        yield from (value for value in visit.step.results if value is not None)


def has_no_loop(model: Model) -> bool:
    """Whether there is neither Loop nor Scan."""
    return not any(isinstance(visit.step, Loop) for visit in walk(model))


def has_no_control_flow(model: Model) -> bool:
    """Whether there is no Loop, Scan or If."""
    return not any(isinstance(visit.step, Loop | Branch) for visit in walk(model))


def is_static(model: Model) -> bool:
    """Whether every tensor has a shape of numbers."""
    shapes = [v.type.shape if isinstance(v.type, Tensor) else None for v in values(model)]
    return all(s is not None and all(isinstance(dim, int) for dim in s) for s in shapes)


def has_no_lists(model: Model) -> bool:
    """Whether no value is a sequence or an optional."""
    return not any(isinstance(value.type, Sequence | Optional) for value in values(model))


def straight(model: Model) -> Model:
    """Loops unrolled, Ifs selected."""
    return treadle.rewrite(treadle.unroll(model), "if-to-where")


def limits(opset: int) -> tuple[Limit, ...]:
    """The limits that are known, the newest opset among them."""
    lists = ("rewrite sequence-to-tensor", lambda m: treadle.rewrite(m, "sequence-to-tensor"))
    return (
        Limit("no Loop", has_no_loop, (("unroll", treadle.unroll),)),
        Limit(
            "no control flow",
            has_no_control_flow,
            (("unroll", treadle.unroll), ("unroll, rewrite if-to-where", straight)),
        ),
        Limit("static shapes", is_static, (("optimize", treadle.optimize),)),
        Limit("no sequences", has_no_lists, (("optimize", treadle.optimize), lists)),
        Limit(
            f"opset at most {opset}",
            lambda model: model.opsets.get("", 0) <= opset,
            ((f"convert --opset {opset}", lambda m: treadle.convert_version(m, opset)),),
        ),
    )


def verdict(model: Model, limit: Limit) -> str:
    """In words: kept, kept after a command, or what is in the way."""
    if limit.is_kept(model):
        return "met"
    why = "no command leads there; specialize inputs and extents first"
    for command, rewrite in limit.ways:
        try:
            if limit.is_kept(rewrite(model)):
                return f"met after treadle {command}"
        except treadle.Unsupported as error:
            why = "; ".join(f"{found.path}: {found.message}" for found in error.findings[:3])
    return f"not met: {why}"


def main() -> None:
    """Print a line for each limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--opset", type=int, default=13)
    given = parser.parse_args()
    model = treadle.load(given.model)
    for limit in limits(given.opset):
        print(f"{limit.name:20} {verdict(model, limit)}")


if __name__ == "__main__":
    main()
