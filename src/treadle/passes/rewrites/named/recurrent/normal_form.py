"""The normal form of one step of a recurrence: a sum for each column of a row.

    Row  = sum of source @ matrix, bias, and coefficient * product of atoms
    Atom = source @ matrix | function(Row) | (coefficient * product of atoms) @ matrix
         | Row where sequences go on, else Row

A row is the last axis of a tensor; every column has its own sum. Sums and products are expanded and
sorted, so that the order of operands, of gates, Split, Slice, Concat, and sums of biases do not
count. Numbers are kept in float64 and compared after rounding to the model's element type. Rows are
equal where their keys are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

_MOST_TERMS = 64


class Unreadable(Exception):
    """A step has no normal form; holds the reason."""


@dataclass(frozen=True, slots=True)
class Linear:
    """The columns of source @ matrix; the matrix has one row per entry of the source."""

    source: str
    matrix: np.ndarray
    key: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of each element; `parameters` are those of an activation or of Clip."""

    name: str
    parameters: tuple[float, ...]
    inner: Row
    key: str


@dataclass(frozen=True, slots=True)
class Mixed:
    """A row that is not a sum of sources, times a matrix."""

    inner: Row
    matrix: np.ndarray
    key: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """One row for sequences that continue at this time, another for those that have ended."""

    then: Row
    other: Row
    key: str


Atom = Linear | Applied | Mixed | Chosen
Product = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A sum; `terms` are products of atoms, sorted, and their coefficients; () has the bias."""

    width: int
    linear: Mapping[str, np.ndarray]
    terms: Mapping[tuple[str, ...], tuple[Product, np.ndarray]]
    key: str = field(default="")

    @property
    def bias(self) -> np.ndarray:
        """The sum of constants."""
        found = self.terms.get(())
        return np.zeros(self.width) if found is None else found[1]

    @property
    def products(self) -> Sequence[tuple[Product, np.ndarray]]:
        """The products of atoms with their coefficients, the bias aside."""
        return [each for names, each in self.terms.items() if names]


@dataclass(frozen=True, slots=True)
class Algebra:
    """Makes rows with keys rounded to one element type."""

    dtype: np.dtype[np.generic]

    def row(
        self,
        width: int,
        linear: Mapping[str, np.ndarray],
        terms: Iterable[tuple[Product, np.ndarray]],
    ) -> Row:
        """The row of the sum of these parts; terms that are zero in every column are dropped."""
        by_source = {name: matrix for name, matrix in linear.items() if np.any(matrix)}
        summed: dict[tuple[str, ...], tuple[Product, np.ndarray]] = {}
        for product, amount in terms:
            ordered = tuple(sorted(product, key=lambda atom: atom.key))
            names = tuple(atom.key for atom in ordered)
            before = summed.get(names)
            summed[names] = ordered, amount if before is None else before[1] + amount
        kept = {names: each for names, each in summed.items() if np.any(each[1])}
        if len(kept) > _MOST_TERMS:
            raise Unreadable("its step has too many terms")
        parts: list[object] = [width]
        for name in sorted(by_source):
            parts += [name, by_source[name]]
        for names in sorted(kept):
            parts += [*names, kept[names][1]]
        return Row(width, by_source, kept, self._key(*parts))

    def _key(self, *parts: object) -> str:
        digest = blake2b(digest_size=16)
        for part in parts:
            if isinstance(part, np.ndarray):
                rounded = part.astype(self.dtype) + np.zeros((), self.dtype)
                digest.update(str(part.shape).encode() + rounded.tobytes())
            else:
                digest.update(f"{part}|".encode())
        return digest.hexdigest()

    def constant(self, numbers: np.ndarray) -> Row:
        """A row of constants."""
        return self.row(len(numbers), {}, [((), numbers.astype(np.float64))])

    def source(self, name: str, width: int, offset: int, total: int) -> Row:
        """The entries of a source from an offset on."""
        return self.row(width, {name: np.eye(total, width, -offset)}, [])

    def add(self, left: Row, right: Row, sign: float = 1.0) -> Row:
        """Left + sign * right."""
        left, right = self._alike(left, right)
        linear = dict(left.linear)
        for name, matrix in right.linear.items():
            linear[name] = linear.get(name, 0) + sign * matrix
        others = [(product, sign * amount) for product, amount in right.terms.values()]
        return self.row(left.width, linear, [*left.terms.values(), *others])

    def multiply(self, left: Row, right: Row) -> Row:
        """The product of each column."""
        left, right = self._alike(left, right)
        for one, other in ((left, right), (right, left)):
            if not one.linear and not one.products:
                return self._scaled(other, one.bias)
        pairs = [(a, b) for a in self._factors(left) for b in self._factors(right)]
        return self._expanded(left.width, [((*a, *b), m * n) for (a, m), (b, n) in pairs])

    def _scaled(self, row: Row, by: np.ndarray) -> Row:
        linear = {name: matrix * by for name, matrix in row.linear.items()}
        return self.row(row.width, linear, [(p, a * by) for p, a in row.terms.values()])

    def _expanded(self, width: int, terms: Iterable[tuple[Product, np.ndarray]]) -> Row:
        """The row of these products; products of a single source become linear."""
        linear: dict[str, np.ndarray] = {}
        rest: list[tuple[Product, np.ndarray]] = []
        for product, amount in terms:
            if len(product) == 1 and isinstance(product[0], Linear):
                (atom,) = product
                assert isinstance(atom, Linear)
                linear[atom.source] = linear.get(atom.source, 0) + atom.matrix * amount
            else:
                rest.append((product, amount))
        return self.row(width, linear, rest)

    def _factors(self, row: Row) -> list[tuple[Product, np.ndarray]]:
        ones = np.ones(row.width)
        linear = [((self._linear(n, m),), ones) for n, m in row.linear.items()]
        return [*linear, *row.terms.values()]

    def _linear(self, source: str, matrix: np.ndarray) -> Linear:
        return Linear(source, matrix, self._key("linear", source, matrix))

    def apply(self, name: str, row: Row, parameters: tuple[float, ...] = ()) -> Row:
        """A function of every column."""
        atom = Applied(name, parameters, row, self._key("apply", name, parameters, row.key))
        return self._alone(atom, row.width)

    def choose(self, then: Row, other: Row) -> Row:
        """`then` where a sequence continues, else `other`."""
        then, other = self._alike(then, other)
        atom = Chosen(then, other, self._key("choose", then.key, other.key))
        return self._alone(atom, then.width)

    def _alone(self, atom: Atom, width: int) -> Row:
        return self.row(width, {}, [((atom,), np.ones(width))])

    def mix(self, row: Row, matrix: np.ndarray) -> Row:
        """Row @ matrix; a source behind two matrices is a Mixed atom."""
        matrix = matrix.astype(np.float64)
        width = matrix.shape[1]
        made = self.row(width, {}, [((), row.bias @ matrix)])
        for name, columns in row.linear.items():
            if _selects(columns):
                made = self.add(made, self.row(width, {name: columns @ matrix}, []))
            else:
                made = self.add(made, self._mixed(self.row(row.width, {name: columns}, []), matrix))
        for product, amount in row.products:
            (kept,) = np.nonzero(amount)
            inner = self.take(self.row(row.width, {}, [(product, amount)]), kept)
            made = self.add(made, self._mixed(inner, matrix[kept]))
        return made

    def _mixed(self, inner: Row, matrix: np.ndarray) -> Row:
        atom = Mixed(inner, matrix, self._key("mix", inner.key, matrix))
        return self._alone(atom, matrix.shape[1])

    def take(self, row: Row, columns: np.ndarray) -> Row:
        """Some columns of a row."""
        linear = {name: matrix[:, columns] for name, matrix in row.linear.items()}
        terms = [
            (product, amount[columns])
            for product, amount in row.terms.values()
            if np.any(amount[columns])
        ]
        taken = [(tuple(self._taken(a, columns) for a in p), amount) for p, amount in terms]
        return self.row(len(columns), linear, taken)

    def _taken(self, atom: Atom, columns: np.ndarray) -> Atom:
        match atom:
            case Linear(source, matrix):
                return self._linear(source, matrix[:, columns])
            case Mixed(inner, matrix):
                cut = matrix[:, columns]
                return Mixed(inner, cut, self._key("mix", inner.key, cut))
            case Applied(name, parameters, inner):
                row = self.take(inner, columns)
                return Applied(name, parameters, row, self._key("apply", name, parameters, row.key))
            case Chosen(then, other):
                then, other = self.take(then, columns), self.take(other, columns)
                return Chosen(then, other, self._key("choose", then.key, other.key))

    def concat(self, rows: Sequence[Row]) -> Row:
        """Rows side by side: each padded with zeros."""
        total = sum(row.width for row in rows)
        made, start = self.constant(np.zeros(total)), 0
        for row in rows:
            places = np.clip(np.arange(total) - start, 0, row.width - 1)
            inside = (np.arange(total) >= start) & (np.arange(total) < start + row.width)
            made = self.add(made, self._scaled(self.take(row, places), inside.astype(np.float64)))
            start += row.width
        return made

    def _alike(self, left: Row, right: Row) -> tuple[Row, Row]:
        """Both rows at one width: a row of one column is broadcast."""
        if left.width == right.width:
            return left, right
        if left.width == 1:
            return self.take(left, np.zeros(right.width, np.int64)), right
        if right.width == 1:
            return left, self.take(right, np.zeros(left.width, np.int64))
        raise Unreadable("rows of different widths are combined")


def _selects(matrix: np.ndarray) -> bool:
    """Whether each column is one entry of the source, or nothing."""
    return bool(np.all((matrix == 0) | (matrix == 1)) and np.all(np.sum(matrix, 0) <= 1))


Binary = Callable[[Row, Row], Row]
