"""Evaluation of a leaf: bind its kernel once, call it often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle.errors import KernelError, Unsupported
from treadle.ir import Leaf, show_array
from treadle.messages import join_words
from treadle.ops.attributes import attributes_of, defaults_of
from treadle.ops.contrib import assumed_opset
from treadle.ops.kernels import kernel
from treadle.ops.ranks import has_wanted_ranks, rank_fault
from treadle.ops.reasons import reason
from treadle.ops.schema import newest_opset

_LIBRARIES = {"ai.onnx.contrib": "onnxruntime_extensions.get_library_path()"}

Prepared = Callable[[Sequence[Any]], tuple[Any, ...]]


def ignore_fp_warnings() -> np.errstate:
    """The context in which kernels run: numpy's warnings of overflow, division and casts off."""
    return np.errstate(all="ignore")


def bind_kernel(leaf: Leaf, *, silent: bool = True) -> Prepared:
    """The leaf ready to run: operands in, one value per result out, None for an absent one.

    `silent=False`: the caller is inside `ignore_fp_warnings()` already, which saves a microsecond a
    call. Raises Unsupported here, and KernelError when the operands do not fit.
    """
    found = kernel(leaf.domain, leaf.op, leaf.version)
    if found is None:
        name = f"{leaf.domain}::{leaf.op}" if leaf.domain else leaf.op
        raise Unsupported(name, leaf.version, without_kernel(leaf.domain), leaf.info.path)
    attributes = defaults_of(leaf.domain, leaf.op, leaf.version) | attributes_of(leaf.attributes)
    with ignore_fp_warnings():
        body = _bind(leaf, found.bind, attributes)
    if not leaf.domain and has_wanted_ranks(leaf.op):
        body = _with_ranks_checked(leaf.op, body)
    body = _bordered(f"{leaf.op}-{leaf.version}", body, len(leaf.results))
    return _silent(body) if silent else body


def without_kernel(domain: str) -> str:
    """Why an operator of this domain cannot be run, and for a custom one how it could be."""
    if newest_opset(domain) or assumed_opset(domain) is not None:
        return "no kernel evaluates it"
    library = _LIBRARIES.get(domain, "path_of_the_library")
    return (
        "no kernel evaluates it; where a library has it, call"
        f" SessionOptions.register_custom_ops_library({library})"
    )


def _bind(leaf: Leaf, bind: Callable[..., Prepared], attributes: dict[str, Any]) -> Prepared:
    try:
        return bind(attributes, len(leaf.results))
    except Exception as error:  # border: a kernel of onnx's may raise anything
        raise Unsupported(leaf.op, leaf.version, reason(error), leaf.info.path) from error


def _with_ranks_checked(op: str, body: Prepared) -> Prepared:
    def run(inputs: Sequence[Any]) -> tuple[Any, ...]:
        fault = rank_fault(op, inputs)
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
        except Exception as error:  # border: the same when it runs
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
    """A run-time value in a word or two: `float32[2,3]`, `seq of 4`, `absent`."""
    if isinstance(given, np.ndarray):
        return show_array(given)
    if isinstance(given, list):
        return f"seq of {len(given)}"
    return "absent" if given is None else type(given).__name__
