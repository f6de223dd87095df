"""Dims: the extent of one axis, known or not.

Dim = int | Symbol | Expression | Range | None        None: nothing is known
Symbol     = (name)                                     an unknown extent that has a name
Expression = polynomial over symbols, whole coefficients: 2*H, T+1, B*T
Range      = (low, high?)                               both ends included; high None: no bound

A Symbol is a name from the file (onnx's dim_param) or from inference. Its value is 0 or more.

LOOP.trips         the iterations the loop at this path makes, where no number or name is known
LOOP.iteration     in its body: the number of finished iterations; an extent that grows by a fixed
                   step is an Expression of it: 2*main/loop_0.iteration+3 starts at 3, grows by 2
LOOP:VALUE.AXIS    in its body: an extent of a carried value that changes in any other way
5..                a Range: after a loop, an extent that was 5 at its start and never shrank
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]
"""The symbols of one product, sorted; () is the constant term."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named extent whose value is not known (onnx's dim_param)."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Expression:
    """A polynomial over symbols that is neither a constant nor a lone symbol.

    `terms` are (product of symbols, coefficient), sorted, no coefficient 0.
    """

    terms: tuple[tuple[Monomial, int], ...]

    def __str__(self) -> str:
        def product(symbols: Monomial, coefficient: int) -> str:
            factors = "*".join(symbols)
            if not factors:
                return str(coefficient)
            return {1: factors, -1: f"-{factors}"}.get(coefficient, f"{coefficient}*{factors}")

        ordered = sorted(self.terms, key=lambda term: (-len(term[0]), term[0]))
        return "+".join(product(*term) for term in ordered).replace("+-", "-")


@dataclass(frozen=True, slots=True)
class Range:
    """An extent known to lie between `low` and `high`, both included."""

    low: int
    high: int | None = None

    def __str__(self) -> str:
        return f"{self.low}..{'' if self.high is None else self.high}"


Dim = int | Symbol | Expression | Range | None
Shape = tuple[Dim, ...]


def add(left: Dim, right: Dim) -> Dim:
    """The extent `left + right`; None where either is not a polynomial."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return _combine(left, right, _sum)


def subtract(left: Dim, right: Dim) -> Dim:
    """The extent `left - right`."""
    return add(left, multiply(right, -1))


def multiply(left: Dim, right: Dim) -> Dim:
    """The extent `left * right`."""
    if isinstance(left, int) and isinstance(right, int):
        number = left * right
        return number if number.bit_length() <= _MOST_BITS else None
    return _combine(left, right, _product)


def admits(dim: Dim, extent: int) -> bool:
    """Whether an axis of this dim can have the given extent."""
    if isinstance(dim, int):
        return dim == extent
    if isinstance(dim, Range):
        return dim.low <= extent and (dim.high is None or extent <= dim.high)
    return True


def show_dim(dim: Dim) -> str:
    """Print a dim: `3`, `T`, `2*H+1`, `1..8`, `?`."""
    return "?" if dim is None else str(dim)


def dim_symbols(dim: Dim) -> frozenset[str]:
    """The names of the symbols a dim is made of."""
    match dim:
        case Symbol(name):
            return frozenset((name,))
        case Expression(terms):
            return frozenset(name for names, _ in terms for name in names)
    return frozenset()


Polynomial = Mapping[Monomial, int]

_MOST_TERMS, _MOST_PAIRS = 1024, 1 << 14
_MOST_SYMBOLS = 64
_MOST_BITS = 128
"""Beyond these an extent is not known: a few nodes that multiply an extent by itself have terms,
symbols and digits without end."""


def _polynomial(dim: Dim) -> Polynomial | None:
    match dim:
        case int():
            return {(): dim}
        case Symbol(name):
            return {(name,): 1}
        case Expression(terms):
            return dict(terms)
    return None


def _combine(left: Dim, right: Dim, operation: object) -> Dim:
    a, b = _polynomial(left), _polynomial(right)
    if a is None or b is None or len(a) * len(b) > _MOST_PAIRS:
        return None
    assert callable(operation)
    return _dim(operation(a, b))


def _sum(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Counter[Monomial] = Counter(left)
    for symbols, coefficient in right.items():
        total[symbols] += coefficient
    return total


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    total: Counter[Monomial] = Counter()
    for a, x in left.items():
        for b, y in right.items():
            total[tuple(sorted(a + b))] += x * y
    return total


def _dim(polynomial: Polynomial) -> Dim:
    terms = tuple(sorted((s, c) for s, c in polynomial.items() if c))
    if len(terms) > _MOST_TERMS or not all(map(_is_short, terms)):
        return None
    match terms:
        case ():
            return 0
        case (((), constant),):
            return constant
        case (((name,), 1),):
            return Symbol(name)
    return Expression(terms)


def _is_short(term: tuple[Monomial, int]) -> bool:
    return len(term[0]) <= _MOST_SYMBOLS and term[1].bit_length() <= _MOST_BITS
