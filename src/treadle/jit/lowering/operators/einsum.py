"""Einsum: diagonals as views, sums as reductions, pairs as matrix products.

Operands are combined in pairs from the left. Common letters of a pair that are not used later are
contracted by the product, others are batch axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Axis, Node, Number
from treadle.jit.kernel.views import packed, same
from treadle.jit.lowering.operators.matmul import product
from treadle.jit.lowering.operators.reduce import reduced
from treadle.jit.lowering.registry import Attributes, Operands, in_float32, lowers

Letters = str
Term = tuple[Node, Letters]
_ELLIPSIS_LABELS = "0123456789"


@lowers("Einsum", 12, 28)
@in_float32
def einsum(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """numpy.einsum, whose notation the operator has."""
    terms, result = parsed(attributes["equation"], operands)
    extents = _extents(builder, terms, operands)
    given = [
        _diagonal(builder, node, letters) for node, letters in zip(operands, terms, strict=True)
    ]
    if operands[0].dtype is DType.BOOL:
        raise Declined("operands of bool: numbers are needed")
    first, *rest = [_stretched(builder, term, extents) for term in given]
    for number, term in enumerate(rest):
        later = result + "".join(letters for _, letters in rest[number + 1 :])
        first = _product(builder, first, term, later, extents)
    node, letters = _summed(builder, first, result)
    return _arranged(builder, node, letters, result)


def parsed(equation: str, operands: Operands) -> tuple[list[Letters], Letters]:
    """The letters of each operand and of the result; an ellipsis becomes digits."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    written = left.split(",")
    if len(written) != len(operands):
        raise Declined(
            f"{len(operands)} operands where the equation {equation!r} has {len(written)}"
        )
    ranks = [len(node.shape) - len(term.replace("...", ""))
             for node, term in zip(operands, written, strict=True)]  # fmt: skip
    most = max([r for r, term in zip(ranks, written, strict=True) if "..." in term], default=0)
    terms = [term.replace("...", _ELLIPSIS_LABELS[most - max(rank, 0) : most])
             for term, rank in zip(written, ranks, strict=True)]  # fmt: skip
    if not arrow:
        every = "".join(written).replace(".", "")
        right = "..." + "".join(sorted(c for c in set(every) if every.count(c) == 1))
    result = right.replace("...", _ELLIPSIS_LABELS[:most])
    if any(len(t) != len(node.shape) for t, node in zip(terms, operands, strict=True)):
        raise Declined(
            f"operands of ranks {[len(node.shape) for node in operands]} do not match {equation!r}"
        )
    return terms, result


def _extents(
    builder: KernelBuilder, terms: Sequence[Letters], operands: Operands
) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for letters, node in zip(terms, operands, strict=True):
        for letter, extent in zip(letters, node.shape, strict=True):
            found[letter] = builder.match(found.get(letter, 1), extent)
    return found


def _diagonal(builder: KernelBuilder, node: Node, letters: Letters) -> Term:
    """Take the diagonal, so that each letter occurs once."""
    own = "".join(dict.fromkeys(letters))
    if own == letters:
        return node, letters
    given = node.shape
    axes = [same(own.index(letter)) for letter in letters]
    return builder.view(node, [given[letters.index(letter)] for letter in own], axes), own


def _stretched(builder: KernelBuilder, term: Term, extents: Mapping[str, Number]) -> Term:
    node, letters = term
    return builder.expand(node, [extents[letter] for letter in letters]), letters


def _summed(builder: KernelBuilder, term: Term, kept: Letters) -> Term:
    """Sum over the letters that are not used."""
    node, letters = term
    axes = [k for k, letter in enumerate(letters) if letter not in kept]
    if not axes:
        return term
    return reduced(builder, "add", node, axes, keep=False), "".join(c for c in letters if c in kept)


def _arranged(builder: KernelBuilder, node: Node, letters: Letters, wanted: Letters) -> Node:
    """The axes in the requested order."""
    if set(letters) != set(wanted) or len(wanted) != len(letters):
        raise Declined("the result has letters that no operand has")
    given = node.shape
    axes = [Axis(0, ((wanted.index(letter), 1),)) for letter in letters]
    return builder.view(node, [given[letters.index(letter)] for letter in wanted], axes)


def _product(
    builder: KernelBuilder, left: Term, right: Term, later: Letters, extents: Mapping[str, Number]
) -> Term:
    left, right = _summed(builder, left, right[1] + later), _summed(builder, right, left[1] + later)
    (first, ours), (second, theirs) = left, right
    batch = "".join(c for c in ours if c in theirs and c in later)
    inner = "".join(c for c in ours if c in theirs and c not in later)
    rows = "".join(c for c in ours if c not in theirs)
    columns = "".join(c for c in theirs if c not in ours)

    def shaped(node: Node, letters: Letters, *groups: Letters) -> Node:
        made = _arranged(builder, node, letters, batch + "".join(groups))
        around = [extents[c] for c in batch]
        return builder.reshape(
            made, (*around, *(builder.product([extents[c] for c in group]) for group in groups))
        )

    a = shaped(first, ours, rows, inner)
    c = shaped(second, theirs, inner, columns)
    if inner and len(c.shape) > 2 and c is not second:
        c = packed(builder, c)
    made = product(builder, a, c) if inner else builder.map("mul", a, c)
    result = batch + rows + columns
    return builder.reshape(made, [extents[letter] for letter in result]), result
