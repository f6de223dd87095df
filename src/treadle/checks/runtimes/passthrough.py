"""Results of a loop's body that no step of the body makes for them alone."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.ir import CarriedPort, Loop, Value, ports


def passthrough_results(loop: Loop) -> list[Value]:
    """What the body gives for carried and stacked values, absent ones aside."""
    return [value for value in loop.body.results[1:] if value is not None]


def parameters_returned(loop: Loop) -> list[Value]:
    """The parameters of the body among them."""
    params = set(loop.body.params)
    return [value for value in dict.fromkeys(passthrough_results(loop)) if value in params]


def returned_twice(loop: Loop) -> list[Value]:
    """The values among them that are listed more than once."""
    values = passthrough_results(loop)
    return [value for value in dict.fromkeys(values) if values.count(value) > 1]


def swapped(loop: Loop) -> Iterator[CarriedPort]:
    """The carried values that become what another one was."""
    view = ports(loop)
    params = {port.param for port in view.carried}
    return (p for p in view.carried if p.next in params and p.next is not p.param)


def words(values: list[Value]) -> str:
    """The names of values."""
    return ", ".join(value.name for value in values)
