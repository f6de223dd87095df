"""Guesses the RNN, GRU or LSTM of a normal form, with weights taken from it.

A guess examines only parts of the form; `trial.py` compares the normal form with that of the
operator's own expansion, so a wrong guess is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from treadle.passes.rewrites.named.recurrent.normal_form import (
    Applied,
    Atom,
    Chosen,
    Linear,
    Mixed,
    Product,
    Row,
)
from treadle.passes.rewrites.named.recurrent.settings import PARAMETERS, SPELLED

_CLIP = "clip"


@dataclass(frozen=True, slots=True)
class Guess:
    """An operator and its weights in its own order of gates, as float64.

    `weights` are W [gates, features], R [gates, hidden], B [2 gates] and P [3 hidden] or None.
    """

    op: str
    w: np.ndarray
    r: np.ndarray
    b: np.ndarray
    p: np.ndarray | None
    attributes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Gate:
    """The input of a gate's activation: sums of sources, and peepholes on the cell state."""

    function: Applied
    inner: Row
    clip: float | None


def guesses(rows: Sequence[Row], features: int) -> Iterator[Guess]:
    """The candidate operators for the next states."""
    cells = [_unmasked(row) for row in rows]
    if any(cell is None for cell in cells):
        return
    found = [cell for cell in cells if cell is not None]
    if len(found) == 1:
        yield from _rnns(found[0], features)
        yield from _grus(found[0], features)
    elif len(found) == 2:
        yield from _lstms(found[0], found[1], features)


def _unmasked(row: Row) -> Row | None:
    """The row for sequences that have not ended."""
    product = _only(row)
    if product is not None and len(product) == 1 and isinstance(product[0], Chosen):
        return product[0].then
    return row


def _only(row: Row) -> Product | None:
    """The product that is the whole row, if there is one."""
    if row.linear or len(row.terms) != 1:
        return None
    ((product, amount),) = row.terms.values()
    return product if product and np.all(amount == 1) else None


def _gate(atom: Atom) -> _Gate | None:
    """The gate of an activation."""
    if not isinstance(atom, Applied) or atom.name not in PARAMETERS:
        return None
    product = _only(atom.inner)
    if product is not None and len(product) == 1 and isinstance(product[0], Applied):
        (inner,) = product
        assert isinstance(inner, Applied)
        if inner.name == _CLIP and inner.parameters[0] == -inner.parameters[1]:
            return _Gate(atom, inner.inner, inner.parameters[1])
    return _Gate(atom, atom.inner, None)


def _part(row: Row, source: str, size: int) -> np.ndarray:
    """The matrix [columns, size] that multiplies a source in a row."""
    matrix = row.linear.get(source)
    return np.zeros((row.width, size)) if matrix is None else matrix.T


def _attributes(gates: Sequence[_Gate], clipped: Sequence[_Gate]) -> dict[str, object] | None:
    """The activations by gate, and the clip that `clipped` share; None where they do not."""
    clips = {gate.clip for gate in clipped}
    if len(clips) != 1:
        return None
    made: dict[str, object] = {"activations": [SPELLED[gate.function.name] for gate in gates]}
    for index, name in enumerate(("activation_alpha", "activation_beta")):
        numbers = [
            g.function.parameters[index] for g in gates if len(g.function.parameters) > index
        ]
        if numbers:
            made[name] = numbers
    (clip,) = clips
    if clip is not None:
        made["clip"] = clip
    return made


def _rnns(row: Row, features: int) -> Iterator[Guess]:
    product = _only(row)
    gate = _gate(product[0]) if product is not None and len(product) == 1 else None
    if gate is None:
        return
    given = _attributes([gate], [gate])
    if given is not None:
        yield _guess("RNN", [gate.inner], features, given)


def _guess(
    op: str,
    rows: Sequence[Row],
    features: int,
    attributes: Mapping[str, object],
    bias_of_h: np.ndarray | None = None,
    from_h: Mapping[int, np.ndarray] | None = None,
    peepholes: np.ndarray | None = None,
) -> Guess:
    """The operator over the gates' rows, in its own order."""
    hidden, other = rows[0].width, from_h or {}
    w = [_part(row, "x", features) for row in rows]
    r = [other.get(k, _part(row, "h", hidden)) for k, row in enumerate(rows)]
    bias = np.concatenate([row.bias for row in rows])
    second = np.zeros_like(bias) if bias_of_h is None else bias_of_h
    b = np.concatenate([bias, second])
    return Guess(op, np.concatenate(w), np.concatenate(r), b, peepholes, attributes)


def _grus(row: Row, features: int) -> Iterator[Guess]:
    """GRUs: the next h is n - z n + z h."""
    single = [p[0] for p, amount in row.products if len(p) == 1 and np.all(amount == 1)]
    both = [p for p, amount in row.products if len(p) == 2 and np.all(amount == 1)]
    if len(single) != 1 or len(both) != 1:
        return
    new, update = _gate(single[0]), _beside(both[0], "h")
    z = None if update is None else _gate(update)
    if new is None or z is None:
        return
    for product, amount in new.inner.products:
        yield from _grus_with(new, z, product, amount, features)


def _beside(product: Product, source: str) -> Atom | None:
    """The other factor of a product with an untransformed source."""
    for one, other in permutations(product, 2):
        if isinstance(one, Linear) and one.source == source:
            size = one.matrix.shape[0]
            if one.matrix.shape == (size, size) and np.array_equal(one.matrix, np.eye(size)):
                return other
    return None


def _grus_with(
    new: _Gate, z: _Gate, product: Product, amount: np.ndarray, features: int
) -> Iterator[Guess]:
    """The GRUs in which this product of the new state's gate contains r: r (h R) or (r h) R."""
    hidden = new.inner.width
    reset, matrix, after = None, None, 0
    if len(product) == 1 and isinstance(product[0], Mixed):
        inner = _only(product[0].inner)
        reset = _beside(inner, "h") if inner is not None and len(inner) == 2 else None
        matrix = product[0].matrix.T * amount[:, np.newaxis]
    elif len(product) == 2:
        for one, other in permutations(product, 2):
            if isinstance(one, Linear) and one.source == "h":
                reset, matrix, after = other, one.matrix.T * amount[:, np.newaxis], 1
    r = None if reset is None else _gate(reset)
    if r is None or matrix is None or matrix.shape != (hidden, hidden):
        return
    given = _attributes([z, new], [z, r, new])
    if given is None:
        return
    bias_of_h = np.zeros(3 * hidden)
    if after:
        alone = [n for p, n in new.inner.products if len(p) == 1 and p[0].key == r.function.key]
        bias_of_h[2 * hidden :] = alone[0] if alone else 0
    given["linear_before_reset"] = after
    rows = [z.inner, r.inner, new.inner]
    yield _guess("GRU", rows, features, given, bias_of_h, {2: matrix})


def _lstms(h: Row, c: Row, features: int) -> Iterator[Guess]:
    """LSTMs: the next c is f c + i g, the next h is o h(c)."""
    product = _only(h)
    if product is None or len(product) != 2:
        return
    pairs = [p for p, _ in c.products if len(p) == 2]
    entering = [p for p in pairs if _beside(p, "c") is None]
    keeping = [atom for p in pairs if (atom := _beside(p, "c")) is not None]
    if len(entering) != 1 or len(keeping) != 1:
        return
    coupled = "c" in c.linear
    for leave, shown in permutations(map(_gate, product)):
        for enter, new in permutations(map(_gate, entering[0])):
            forget = _gate(keeping[0])
            if leave and shown and enter and new and forget and shown.inner.key == c.key:
                yield from _lstm([enter, leave, forget, new, shown], c, features, coupled=coupled)


def _lstm(gates: Sequence[_Gate], c: Row, features: int, *, coupled: bool) -> Iterator[Guess]:
    enter, leave, forget, new, shown = gates
    if coupled and forget.function.key != enter.function.key:
        return
    given = _attributes([enter, new, shown], [enter, leave, forget, new])
    if given is None:
        return
    hidden = c.width
    sees = [_diagonal(enter.inner, hidden), _seen(leave.inner, c), _diagonal(forget.inner, hidden)]
    peepholes = np.concatenate(sees)
    rows = [enter.inner, leave.inner, forget.inner, new.inner]
    if coupled:
        given["input_forget"] = 1
    yield _guess("LSTM", rows, features, given, peepholes=peepholes if np.any(peepholes) else None)


def _diagonal(row: Row, hidden: int) -> np.ndarray:
    """The peephole factors of a gate on the cell state."""
    return np.diagonal(_part(row, "c", hidden)).copy()


def _seen(row: Row, c: Row) -> np.ndarray:
    """The peephole factors of a gate on the new cell state."""
    first = next(iter(c.products))[0]
    names = tuple(atom.key for atom in first)
    found = row.terms.get(names)
    return np.zeros(c.width) if found is None else found[1]
