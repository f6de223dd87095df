"""The operator versions and kernels of this onnxruntime build, from its own registry.

Measured: listing the 847 schemas and 1465 kernels takes about 50 ms, once a process; building a
session to ask about one operator takes 1 to 3 ms each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from treadle import ops
from treadle.ir import Leaf, Optional, Tensor, Type, Value
from treadle.ir import Sequence as SequenceType

Name = tuple[str, str]
"""Domain and operator."""

_OPEN = 2**31 - 1
_NARROW = ("tensor(float16)", "tensor(bfloat16)")


@dataclass(frozen=True, slots=True)
class Kernel:
    """The versions that a kernel serves and the types it allows, by name of the type constraint."""

    first: int
    last: int
    allowed: Mapping[str, frozenset[str]]

    def serves(self, version: int) -> bool:
        """Whether the kernel runs the operator of this version.

        A kernel without a last version serves only the version it began with: a later one may mean
        something else.
        """
        if self.last == _OPEN:
            return self.first == version
        return self.first <= version <= self.last


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of an operator: the type constraint and the name of each input and output.

    `needed` are the inputs that are not optional, `is_variadic` tells that the last one repeats.
    """

    version: int
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    needed: frozenset[int] = frozenset()
    is_variadic: bool = False

    def needs(self, position: int) -> bool:
        """Whether the input at this position may not be left out; those of a last one all are."""
        last = len(self.inputs) - 1
        return position in self.needed or (self.is_variadic and position >= last)


@dataclass(frozen=True, slots=True)
class Registry:
    """All schemas, oldest first, all kernels, and the opset in which an operator was withdrawn."""

    release: str
    schemas: Mapping[Name, Sequence[Schema]]
    kernels: Mapping[Name, Sequence[Kernel]]
    withdrawn: Mapping[Name, int] = field(default_factory=dict)

    def schema(self, domain: str, op: str, version: int) -> Schema | None:
        """The schema of exactly this version; None if onnxruntime does not know it."""
        return next((s for s in self.schemas.get((domain, op), ()) if s.version == version), None)

    def span(self, domain: str, op: str, version: int) -> tuple[int, int]:
        """The first and the last opset in which the operator has this version."""
        later = [s.version for s in self.schemas.get((domain, op), ()) if s.version > version]
        last = self.withdrawn.get((domain, op), _OPEN)
        return version, min([*later, last]) - (1 if later or last < _OPEN else 0)

    def version_at(self, op: str, opset: int) -> int:
        """The version a standard operator has in an opset."""
        return max(s.version for s in self.schemas["", op] if s.version <= opset)


@cache
def installed_release() -> str:
    """The release of onnxruntime that is installed."""
    import onnxruntime

    return str(onnxruntime.__version__)


@cache
def registry() -> Registry:
    """The registry of the installed onnxruntime."""
    from onnxruntime.capi import onnxruntime_pybind11_state as binding

    schemas = defaultdict(list)
    withdrawn = {}
    for schema in sorted(binding.get_all_operator_schema(), key=lambda s: s.since_version):
        if schema.deprecated:
            withdrawn[schema.domain, schema.name] = schema.since_version
        else:
            schemas[schema.domain, schema.name].append(_written(schema))
    kernels = defaultdict(list)
    for kernel in binding.get_all_opkernel_def():
        first, last = kernel.version_range
        allowed = {name: frozenset(types) for name, types in kernel.type_constraints.items()}
        kernels[kernel.domain, kernel.op_name].append(Kernel(first, last, allowed))
    return Registry(f"onnxruntime {installed_release()}", schemas, kernels, withdrawn)


def _written(schema: Any) -> Schema:
    options = [str(formal.option).rpartition(".")[2] for formal in schema.inputs]
    return Schema(
        schema.since_version,
        _formals(schema.inputs),
        _formals(schema.outputs),
        frozenset(k for k, option in enumerate(options) if option == "Single"),
        bool(options) and options[-1] == "Variadic",
    )


def _formals(formals: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    return tuple((formal.typeStr, formal.name) for formal in formals)


def is_known(step: Leaf) -> bool:
    """Whether onnxruntime itself has the operator, in some version."""
    return ("" if step.domain == "ai.onnx" else step.domain, step.op) in registry().schemas


def refusal(step: Leaf) -> str:
    """Why onnxruntime cannot run the leaf; "" if no reason is known.

    Unknown types count as allowed: making the session shows whether they are.
    """
    operands, results = _words(step.operands), _words(step.results)
    return _refusal(step.domain, step.op, step.version, operands, results)


_Words = tuple[str | None, ...]


@lru_cache(4096)
def _refusal(domain: str, op: str, version: int, operands: _Words, results: _Words) -> str:
    """The cached `refusal` of a leaf with these types; large models repeat the same question."""
    known = registry()
    named = f"{domain}::{op}" if domain else op
    schema = known.schema(domain, op, version)
    if schema is None:
        return f"{known.release} does not know {named}-{version}"
    kernels = known.kernels.get((domain, op), ())
    if not kernels or ops.schema(domain, op, version) is None:
        return ""  # onnxruntime's own operators may be functions of others if no kernel fits
    serving = [kernel for kernel in kernels if kernel.serves(version)]
    if not serving:
        return f"{known.release} has no kernel for {named}-{version}"
    used = _used(operands, schema.inputs) + _used(results, schema.outputs)
    if any(_fits(kernel, used) for kernel in serving):
        return ""
    over = ", ".join(dict.fromkeys(word for _, _, word in used))
    return f"{known.release} has no kernel for {named}-{version} over {over}"


def _words(values: Sequence[Value | None]) -> _Words:
    return tuple([None if value is None else _word(value.type) for value in values])


def _word(type_: Type | None) -> str | None:
    """The type as onnxruntime spells it; None if it is unknown, or a map or sparse."""
    return ops.type_string(type_) if isinstance(type_, Tensor | SequenceType | Optional) else None


def _used(words: _Words, formals: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """The type constraint, the name and the type of each value with a known type."""
    if not formals:
        return []
    last = len(formals) - 1
    return [
        (*formals[min(position, last)], word)
        for position, word in enumerate(words)
        if word is not None
    ]


def _fits(kernel: Kernel, used: Sequence[tuple[str, str, str]]) -> bool:
    return all(
        _allows(kernel.allowed.get(constraint, kernel.allowed.get(name)), word)
        for constraint, name, word in used
    )


def _allows(allowed: frozenset[str] | None, word: str) -> bool:
    """Whether a kernel allows the type; onnxruntime casts narrow floats to float32 by itself."""
    if allowed is None or word in allowed:
        return True
    return word in _NARROW and "tensor(float)" in allowed
