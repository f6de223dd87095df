"""`treadle.specialize`: fixes extents and inputs that are the same in every run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

import numpy as np

from treadle import checks, passes
from treadle.arguments import expect
from treadle.boundary import public
from treadle.errors import InputError, InputTypeError, did_you_mean
from treadle.feeds import convert
from treadle.ir import Model, Tensor, show_type
from treadle.limits import LoadLimits, making
from treadle.messages import a_or_an
from treadle.passes import Report
from treadle.rewriting.border import Rewritten, given
from treadle.sources import valid

__all__ = ["specialize"]


@overload
def specialize(
    source: object,
    *,
    dims: Mapping[str, int] = ...,
    inputs: Mapping[str, object] = ...,
    with_report: Literal[False] = False,
    limits: LoadLimits | None = None,
) -> Model: ...
@overload
def specialize(
    source: object,
    *,
    dims: Mapping[str, int] = ...,
    inputs: Mapping[str, object] = ...,
    with_report: Literal[True],
    limits: LoadLimits | None = None,
) -> tuple[Model, Report]: ...
@public
def specialize(
    source: object,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Mapping[str, object] | None = None,
    with_report: bool = False,
    limits: LoadLimits | None = None,
) -> Rewritten:
    """Specialize the model to fixed extents and inputs.

        treadle.specialize("decoder.onnx", dims={"T": 64}, inputs={"limit": 5})

    `dims` maps symbols in the types of inputs to extents, `inputs` maps inputs to values, as a
    session takes them. Fixed inputs are removed. The model is then simplified as by `optimize`, and
    every value gets its inferred type, with static shapes where possible. For every feed of the
    given extents the outputs stay the same.

    Raises InputError for a name that the model does not have, an extent below 0, a value that does
    not fit its input, and extents with which the model's own shapes contradict each other.
    """
    with making(limits):
        model = valid(source, "specialized")
        extents = _extents(model, {} if dims is None else dims)
        sized = passes.specialize(model, extents, {}, clean=False)[0]
        values = _values(sized, {} if inputs is None else inputs)
        result = passes.specialize(model, extents, values)
        _agree(result[0], extents)
    return given(result, with_report)


def _extents(model: Model, dims: Any) -> Mapping[str, int]:
    expect(dims, Mapping, "dims", "a dict of an extent for each name")
    known = sorted(passes.dim_names(model))
    for name, extent in dims.items():
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise InputError(f"no input of the model has an extent {name!r}, {hint}")
        expect(extent, (int, np.integer), f"the extent of {name}", "a whole number")
        if extent < 0:
            raise InputError(f"the extent of {name} is {extent}, wanted 0 or more")
    return {name: int(extent) for name, extent in dims.items()}


def _values(model: Model, inputs: Any) -> Mapping[str, np.ndarray]:
    expect(inputs, Mapping, "inputs", "a dict of a value for each name")
    types = {param.name: param.declared for param in model.main.params}
    found = {}
    for name, value in inputs.items():
        if name not in types:
            raise InputError(f"the model has no input {name!r}, {did_you_mean(str(name), types)}")
        if not isinstance(types[name], Tensor | None):
            kind = a_or_an(show_type(types[name]))
            raise InputError(f"input {name} is {kind}; only a tensor can be a constant")
        try:
            array = convert(value, types[name])
        except InputError as error:
            raise type(error)(f"input {name}: {error}") from None
        if not isinstance(array, np.ndarray):
            raise InputTypeError(f"input {name}: only a tensor can be a constant")
        found[name] = array
    return found


def _agree(model: Model, extents: Mapping[str, int]) -> None:
    """Raise InputError if the model's shapes contradict each other for these extents."""
    _, found = checks.infer_with_findings(model)
    blocking = [str(each) for each in found if each.blocks]
    if blocking:
        given_ = ", ".join(f"{name}={extent}" for name, extent in extents.items())
        raise InputError(f"the model does not fit {given_ or 'these inputs'}:", blocking)
