"""The shape of a stacked result without an iteration, equal to the interpreter's.

The inferred type decides, then the declared one: an unknown dim is 0. If that differs from the
shape the body would compute, the kernel must decline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from treadle import ir
from treadle.jit.kernel.ir import Node, Number

Symbols = Mapping[str, Number]


def known_symbols(step: ir.Loop, operands: Sequence[Node | None]) -> Symbols:
    """The values of the symbols in the operands' types; None for a symbol with two extents."""
    seen: dict[str, list[Number]] = {}
    for value, node in zip(step.operands, operands, strict=True):
        type_ = value.type if value is not None else None
        if isinstance(type_, ir.Tensor) and node is not None:
            for dim, extent in zip(type_.shape or (), node.shape, strict=False):
                if isinstance(dim, ir.Symbol):
                    seen.setdefault(dim.name, []).append(extent)
    return {name: found[0] for name, found in seen.items() if all(e == found[0] for e in found)}


def is_known_symbol(step: ir.Loop, number: int, element: Node, symbols: Symbols) -> bool:
    """Whether the shape of body result `number` without an iteration equals its usual shape."""
    said: list[ir.Type | None] = []
    value = step.body.results[number]
    if value is not None:
        said += [value.inferred, value.declared]
    if step.body.claims:
        said.append(step.body.claims[number].type)
    shapes = [type_.shape for type_ in said if isinstance(type_, ir.Tensor)]
    shape = next((each for each in shapes if each is not None), ())
    return [extent_of(dim, symbols) for dim in shape] == list(element.shape)


def extent_of(dim: ir.Dim, symbols: Symbols) -> Number | None:
    """The extent that an axis has here; None if it is not known."""
    match dim:
        case int():
            return dim
        case ir.Symbol(name):
            return symbols.get(name)
        case ir.Expression(terms):
            names = {name for each, _ in terms for name in each}
            known = {name: found for name in names if isinstance(found := symbols.get(name), int)}
            if known.keys() == names:
                return max(sum(k * prod(known[n] for n in each) for each, k in terms), 0)
    return None
