"""Arithmetic and comparisons of symbolic dims: sums, quotients, signs, and broadcasting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import reduce

from treadle.ir import (
    Dim,
    Expression,
    Shape,
    Symbol,
    add_dims,
    multiply_dims,
    subtract_dims,
)

Terms = tuple[tuple[tuple[str, ...], int], ...]


def product(dims: Iterable[Dim]) -> Dim:
    """The product; None if a factor is unknown and no factor is 0."""
    factors = tuple(dims)
    one: Dim = 1
    return 0 if 0 in factors else reduce(multiply_dims, factors, one)


def total(dims: Iterable[Dim]) -> Dim:
    """The sum; None if a term is unknown."""
    nothing: Dim = 0
    return reduce(add_dims, dims, nothing)


def quotient(dim: Dim, by: Dim) -> Dim:
    """The exact quotient of two extents; None if it cannot be determined."""
    if dim is None or by is None or by == 0:
        return None
    if dim == by:
        return 1
    divisor = _terms(by)
    if divisor is None or len(divisor) != 1:
        return None
    parts = [_divided(term, divisor[0]) for term in _terms(dim) or ()]
    return total(parts) if parts else (0 if dim == 0 else None)


def replaced(dim: Dim, name: str, by: Dim) -> Dim:
    """The dim with one of its symbols replaced by a number."""
    terms = _terms(dim)
    if terms is None:
        return dim
    return total(
        product((coefficient, *(by if each == name else Symbol(each) for each in names)))
        for names, coefficient in terms
    )


def _divided(term: tuple[tuple[str, ...], int], by: tuple[tuple[str, ...], int]) -> Dim:
    names, divisors = Counter(term[0]), Counter(by[0])
    if term[1] % by[1] or divisors - names:
        return None
    left = (names - divisors).elements()
    return multiply_dims(term[1] // by[1], product(Symbol(name) for name in left))


def _terms(dim: Dim) -> Terms | None:
    match dim:
        case int():
            return (((), dim),) if dim else ()
        case Symbol(name):
            return (((name,), 1),)
        case Expression(terms):
            return terms
    return None


def at_least(dim: Dim, bound: int) -> bool:
    """Whether the number is at least `bound` for all values of its symbols, which are 0 or more."""
    terms = _terms(subtract_dims(dim, bound))
    return terms is not None and all(coefficient > 0 for _, coefficient in terms)


def differ(left: Dim, right: Dim) -> bool:
    """Whether the two numbers differ for every value of their symbols."""
    if left is None or right is None or left == right:
        return False
    if isinstance(left, int) and isinstance(right, int):
        return True
    if isinstance(left, Symbol) and isinstance(right, Symbol):
        return False
    gap = subtract_dims(left, right)
    return at_least(gap, 1) or at_least(multiply_dims(gap, -1), 1)


def broadcast_dims(left: Dim, right: Dim) -> Dim:
    """The extent that two axes broadcast to, assuming that they do broadcast."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    if isinstance(left, int):
        return left
    return right if isinstance(right, int) else None


def broadcast(shapes: Iterable[Shape | None]) -> Shape | None:
    """The shape that tensors of these shapes broadcast to; None if a rank is unknown."""
    result: Shape = ()
    for shape in shapes:
        if shape is None:
            return None
        rank = max(len(result), len(shape))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + shape
        result = tuple(map(broadcast_dims, left, right))
    return result


def fits(shapes: Iterable[Shape | None]) -> bool:
    """Whether the shapes can broadcast: no axis has two different numbers other than 1."""
    known = [shape for shape in shapes if shape is not None]
    for axis in range(1, max(map(len, known), default=0) + 1):
        numbers = {s[-axis] for s in known if len(s) >= axis and isinstance(s[-axis], int)}
        if len(numbers - {1}) > 1:
            return False
    return True


def grows_apart(left: Dim, right: Dim) -> bool:
    """Whether two extents, such as n and 2*n, are equal only if symbols are 0."""
    gap = subtract_dims(left, right)
    return gap != 0 and (at_least(gap, 0) or at_least(multiply_dims(gap, -1), 0))
