"""The table of kernels, keyed by (domain, operator, version).

A kernel is written as a plain function of its operands, in order, absent ones None, and of the
attributes it reads, by keyword:

    @evaluates("Concat", 4, 11, 13)
    def concat(*operands, axis): return np.concatenate(operands, axis)

It returns an array, a list for a sequence, None for an empty optional, or a tuple of those.
Versions are listed one by one: a version that is not listed has no kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

Operands = Sequence[Any]
Results = tuple[Any, ...]
Body = Callable[[Operands], Results]
Attributes = Mapping[str, Any]
Maker = Callable[[Attributes, int], Body]
Function = TypeVar("Function", bound=Callable[..., Any])
Key = tuple[str, str, int]

ML = "ai.onnx.ml"


class Kernel(NamedTuple):
    """The kernel for one version of one operator.

    `bind` prepares it once for attributes (with defaults) and a number of results; the bound
    function is called with the operands, many times. `source` tells where the kernel comes from.
    """

    domain: str
    op: str
    version: int
    bind: Maker
    source: str = "treadle"

    def __call__(self, inputs: Operands, attributes: Attributes, outputs: int) -> Results:
        """Compute the results for these operands: bind and call."""
        return self.bind(attributes, outputs)(inputs)


TABLE: dict[Key, Kernel] = {}


def register(kernel: Kernel) -> None:
    """Register a kernel; a second kernel for the same version is a bug.

    Registering the same function again is allowed: the import of a module may have been
    interrupted.
    """
    key = (kernel.domain, kernel.op, kernel.version)
    is_fine = key not in TABLE or _written(TABLE[key].bind) == _written(kernel.bind)
    assert is_fine, f"two kernels for {key}"
    TABLE[key] = kernel


def _written(bind: Maker) -> object:
    """The place in the source at which a maker's function is written."""
    function = inspect.unwrap(bind)
    code = getattr(function, "__code__", None)
    return function if code is None else (code.co_filename, code.co_firstlineno)


def maker(op: str, *versions: int, domain: str = "") -> Callable[[Function], Function]:
    """Register a function that makes a kernel from a step's attributes and number of results."""

    def enter(function: Function) -> Function:
        for version in versions:
            register(Kernel(domain, op, version, function))
        return function

    return enter


def evaluates(op: str, *versions: int, domain: str = "") -> Callable[[Function], Function]:
    """Register a function of operands and keyword attributes."""

    def enter(function: Function) -> Function:
        bind = from_function(function)
        for version in versions:
            register(Kernel(domain, op, version, bind))
        return function

    return enter


def from_function(function: Callable[..., Any]) -> Maker:
    """Make kernels of a plain function: its keywords are attributes, or `outputs`, their number."""

    def bind(attributes: Attributes, outputs: int) -> Body:
        declared, takes_all = _keywords(function)
        names = attributes if takes_all else declared
        given = {name: attributes[name] for name in names if name in attributes}
        if "outputs" in declared:
            given["outputs"] = outputs
        return body_of(partial(function, **given) if given else function)

    bind.__wrapped__ = function  # type: ignore[attr-defined]
    return bind


def body_of(function: Callable[..., Any]) -> Body:
    """The body that calls a function with unpacked operands, and wraps its result in a tuple."""

    def body(inputs: Operands) -> Results:
        result = function(*inputs)
        if isinstance(result, np.ndarray):
            return (result,)
        if isinstance(result, tuple):
            return tuple(map(value, result))
        return (value(result),)

    return body


def value(result: Any) -> Any:
    """A run-time value: a scalar becomes a 0-d array, also one of text."""
    if isinstance(result, str):
        return np.array(result, object)
    return np.asarray(result) if isinstance(result, np.generic) else result


@cache
def _keywords(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """The keywords a function declares, and whether it takes arbitrary ones; read when it is bound.

    Reading them at import would take longer than the import itself.
    """
    if isinstance(function, np.ufunc):
        return frozenset(), False
    parameters = inspect.signature(function).parameters.values()
    declared = (p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
    return frozenset(declared), any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
