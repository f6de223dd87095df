"""Checks what a carried value must keep: its kind and dtype, in a Scan its shape too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import RunError
from treadle.ir import CarriedPort, Optional
from treadle.tracing import Iterations

Kind = Any
"""A tensor's dtype; ("sequence", kind of an element or None); "map"; None for an absent value."""


def kind_of(value: Any) -> Kind:
    """The kind of a run-time value."""
    if isinstance(value, np.ndarray):
        return value.dtype
    if isinstance(value, list):
        return "sequence", kind_of(value[0]) if value else None
    return None if value is None else "map"


def _shape(value: Any) -> Sequence[Any]:
    """The shape of a tensor, or the shapes of a sequence's elements."""
    return [*map(np.shape, value)] if isinstance(value, list) else np.shape(value)


@dataclass(slots=True)
class CarriedTypeCheck:
    """Checks one carried value during one run of its loop.

    A carried value "may change shape across iterations", never its dtype or kind (Loop); an
    optional may be empty in one iteration and full in the next. A state of a Scan keeps its shape.
    """

    port: CarriedPort
    number: int
    keeps_shape: bool
    kind: Kind

    def check(self, before: Any, after: Any, path: str, iterations: Iterations) -> None:
        """Raise RunError if the iteration's value must not be carried into the next one."""
        kind = kind_of(after)
        if kind != self.kind:
            self.kind = self._met(kind)
        if self.kind is _CLASH:
            what = "its dtype and its kind must stay the same"
            raise self._error(ops.describe(before), ops.describe(after), what, path, iterations)
        if self.keeps_shape and _shape(before) != _shape(after):
            found, given = ops.describe(before), ops.describe(after)
            what = "a Scan's state keeps its shape"
            raise self._error(found, given, what, path, iterations)

    def _met(self, kind: Kind) -> Kind:
        if self.kind is None:
            return kind
        if kind is None:
            return self.kind if isinstance(self.port.param.type, Optional | None) else _CLASH
        both = isinstance(kind, tuple) and isinstance(self.kind, tuple)
        if both and None in (kind[1], self.kind[1]):
            return "sequence", kind[1] or self.kind[1]
        return _CLASH

    def _error(
        self, before: str, after: str, what: str, path: str, iterations: Iterations
    ) -> RunError:
        given = f'"{self.port.next.name}"' if self.port.next is not None else "left out"
        return RunError(
            f'the carried value "{self.port.param.name}" is {before}, the body gives {after} for it'
            f" (body output {self.number}, {given}); {what}",
            path,
            iterations,
        )


_CLASH = object()


def carried_type_checks(
    carried: Sequence[CarriedPort], initial: Sequence[Any], *, keeps_shape: bool
) -> tuple[CarriedTypeCheck, ...]:
    """One check for each carried value, starting with the kind of its initial value."""
    return tuple(
        CarriedTypeCheck(port, number, keeps_shape, kind_of(value))
        for number, (port, value) in enumerate(zip(carried, initial, strict=True), start=1)
    )
