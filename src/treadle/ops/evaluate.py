"""Evaluates leaves: binds a kernel once, for many calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from treadle.errors import KernelError, Unsupported
from treadle.ir import Leaf, show_array
from treadle.messages import join_words
from treadle.ops.attributes import attributes_of, defaults_of
from treadle.ops.contrib import assumed_opset
from treadle.ops.endless import why_endless
from treadle.ops.kernels import kernel
from treadle.ops.operand_shapes import extent_fault, has_wanted_shapes, rank_fault
from treadle.ops.reasons import reason
from treadle.ops.schema import newest_opset

_LIBRARIES = {"ai.onnx.contrib": "onnxruntime_extensions.get_library_path()"}

Prepared = Callable[[Sequence[Any]], tuple[Any, ...]]


def ignore_fp_warnings() -> np.errstate:
    """The context for running kernels: numpy's warnings of overflow, division and casts are off."""
    return np.errstate(all="ignore")


def bind_kernel(leaf: Leaf, *, silent: bool = True) -> Prepared:
    """Prepare the leaf: maps operands to one value per result, None for an absent one.

    `silent=False`: the caller is already inside `ignore_fp_warnings()`, which saves a microsecond
    per call. Raises Unsupported here, and KernelError when the operands do not fit.
    """
    found = kernel(leaf.domain, leaf.op, leaf.version)
    if found is None:
        name = f"{leaf.domain}::{leaf.op}" if leaf.domain else leaf.op
        raise Unsupported(name, leaf.version, without_kernel(leaf.domain), leaf.info.path)
    endless = why_endless(leaf)
    if endless:
        raise Unsupported(leaf.op, leaf.version, endless, leaf.info.path)
    attributes = defaults_of(leaf.domain, leaf.op, leaf.version) | attributes_of(leaf.attributes)
    with ignore_fp_warnings():
        body = _bind(leaf, found.bind, attributes)
    if not leaf.domain and has_wanted_shapes(leaf.op):
        body = _with_shapes_checked(leaf.op, attributes, body)
    body = _bordered(f"{leaf.op}-{leaf.version}", body, len(leaf.results))
    return _silent(body) if silent else body


def without_kernel(domain: str) -> str:
    """Why an operator of this domain cannot run; for a custom one, how to register a library."""
    if newest_opset(domain) or assumed_opset(domain) is not None:
        return "no kernel evaluates it"
    library = _LIBRARIES.get(domain, "path_of_the_library")
    return (
        "no kernel evaluates it; if a library implements it, call"
        f" SessionOptions.register_custom_ops_library({library})"
    )


def _bind(leaf: Leaf, bind: Callable[..., Prepared], attributes: dict[str, Any]) -> Prepared:
    try:
        return bind(attributes, len(leaf.results))
    except Exception as error:  # border: onnx's own kernels may raise anything
        raise Unsupported(leaf.op, leaf.version, reason(error), leaf.info.path) from error


def _with_shapes_checked(op: str, attributes: Mapping[str, Any], body: Prepared) -> Prepared:
    def run(inputs: Sequence[Any]) -> tuple[Any, ...]:
        shapes = [x.shape if isinstance(x, np.ndarray) else None for x in inputs]
        ranks = [None if shape is None else len(shape) for shape in shapes]
        fault = rank_fault(op, ranks) or extent_fault(op, attributes, shapes)
        if fault:
            raise ValueError(fault)
        return body(inputs)

    return run


def _bordered(name: str, body: Prepared, wanted: int) -> Prepared:
    def run(inputs: Sequence[Any]) -> tuple[Any, ...]:
        try:
            results = body(inputs)
        except KernelError:
            raise
        except Exception as error:  # border: onnx's own kernels may raise anything
            given = join_words(map(describe, inputs))
            raise KernelError(f"{name}({given}): {reason(error)}") from error
        return results if len(results) == wanted else _fitted(results, wanted)

    return run


def _fitted(results: tuple[Any, ...], wanted: int) -> tuple[Any, ...]:
    return results[:wanted] + (None,) * (wanted - len(results))


def _silent(body: Prepared) -> Prepared:
    def run(inputs: Sequence[Any]) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            return body(inputs)

    return run


def describe(given: Any) -> str:
    """Describe a run-time value briefly: `float32[2,3]`, `seq of 4`, `absent`."""
    if isinstance(given, np.ndarray):
        return show_array(given)
    if isinstance(given, list):
        return f"seq of {len(given)}"
    return "absent" if given is None else type(given).__name__
