"""Results of a loop's body that are parameters, or that the body returns twice."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.ir import CarriedPort, Loop, Value, ports


def passthrough_results(loop: Loop) -> list[Value]:
    """The body's results for carried and stacked values, without absent ones."""
    return [value for value in loop.body.results[1:] if value is not None]


def parameters_returned(loop: Loop) -> list[Value]:
    """The results that are parameters of the body."""
    params = set(loop.body.params)
    return [value for value in dict.fromkeys(passthrough_results(loop)) if value in params]


def returned_twice(loop: Loop) -> list[Value]:
    """The results that the body returns more than once."""
    values = passthrough_results(loop)
    return [value for value in dict.fromkeys(values) if values.count(value) > 1]


def swapped(loop: Loop) -> Iterator[CarriedPort]:
    """The carried values that take over the value of another carried value."""
    view = ports(loop)
    params = {port.param for port in view.carried}
    return (p for p in view.carried if p.next in params and p.next is not p.param)


def words(values: list[Value]) -> str:
    """The names of the values, as a list in words."""
    return ", ".join(value.name for value in values)
