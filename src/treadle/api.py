"""The functions of `treadle`: each a few lines over the rooms."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from operator import index as operator_index
from typing import Any, Literal, overload

from treadle import checks, formats, passes
from treadle.arguments import expect, expect_path, names_of
from treadle.boundary import public
from treadle.build import build
from treadle.errors import ConfigurationError, Finding, InputTypeError, Unsupported
from treadle.infer import infer as infer_types
from treadle.ir import Call, Function, Leaf, Model, Type
from treadle.limits import LoadLimits, within
from treadle.passes import Fix
from treadle.single_operator import Operator
from treadle.sources import loaded, valid

__all__ = [
    "build",
    "check",
    "get_available_providers",
    "infer",
    "load",
    "operator",
    "optimize",
    "repair",
    "save",
    "set_default_logger_severity",
    "set_seed",
]


@public
def load(source: object, *, limits: LoadLimits | None = None) -> Model:
    """Load a model from whatever holds one.

    `source`: a path (.onnx, .onnxtxt, OpenVINO's .xml), bytes, a text model, a ModelProto, an
    onnx_ir.Model or an onnxscript function. Bodies are closed and names resolved. Raises LoadError,
    with every finding, where that cannot be done; what a check merely complains of stops nothing.
    `limits` bounds what the work may take, the defaults of LoadLimits unless it is given; going
    over one raises LoadLimitExceeded.
    """
    with within(limits):
        return loaded(source)[0]


@public
def save(
    model: object,
    path: str | os.PathLike[str],
    *,
    external_data: bool = True,
    limits: LoadLimits | None = None,
) -> None:
    """Write the model: .onnx is lossless, .onnxtxt keeps what onnx's text form keeps.

    An .xml is OpenVINO IR, version 11, with a .bin of the same name beside it. `model` is a Model,
    or whatever `load` takes. Loops of OpenVINO that ONNX has no form for are rewritten first, and
    what OpenVINO IR cannot hold is optimised away where that can be: a list that a loop only
    appends to becomes a stacked output.
    `external_data=False` brings tensors that lie in another file into this one. Raises InputError
    where `path` cannot be written, Unsupported for what OpenVINO IR cannot hold, all of it at once,
    and InvalidModel for what would be no OpenVINO IR either. `limits` as of `load`.
    """
    if isinstance(path, Model):
        raise InputTypeError("path is a Model; the model comes first: save(model, path)")
    target = expect_path(path)
    expect(external_data, bool, "external_data", "True or False")
    with within(limits):
        if target.endswith(".xml"):
            _write_layers(valid(model, "written as OpenVINO IR"), target)
            return
        formats.write(passes.to_onnx_loops(loaded(model)[0]), target, external=external_data)


def _write_layers(model: Model, path: str) -> None:
    try:
        formats.write(_lowered(model), path)
    except Unsupported as refusal:
        try:
            formats.write(_lowered(_optimized(model)[0]), path)
        except Unsupported:
            raise refusal from None


def _lowered(model: Model) -> Model:
    """The model in operators that OpenVINO IR has layers for, as far as it can be said in them."""

    def expand(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
        return formats.schema_function(step, types, model.opsets)

    return passes.lower(model, expand, formats.lacks_layer)


@public
def check(
    source: object, *, portable: Collection[str] = (), limits: LoadLimits | None = None
) -> list[Finding]:
    """Everything that is wrong with a model, or may be; never raises for a bad one.

    A model that goes over the `limits` (as of `load`) raises LoadLimitExceeded all the same.

    `portable`: "onnxruntime" or "openvino" adds what is known not to load there, or to be answered
    wrongly, in the version the finding names.
    """
    portable = names_of(portable, checks.RUNTIMES, "portable")
    with within(limits):
        return _checked(source, portable)


def _checked(source: object, portable: Collection[str]) -> list[Finding]:
    if isinstance(source, Model):
        return checks.check(source, portable)
    model, findings = formats.read(source, broken=True)
    if model is None:
        return findings
    known = {found.path for found in findings if found.blocks}
    further = checks.check(model, portable)
    new = [found for found in further if not (found.blocks and found.path in known)]
    return [*findings, *formats.locate(source, new, model)]


@public
def repair(
    source: object, *, portable: Collection[str] = (), limits: LoadLimits | None = None
) -> tuple[Model, list[Fix]]:
    """The model with everything mended that has a safe way out, and what was done.

    Nodes out of order, hidden names, outer values a body returns directly, missing imports,
    conditions that are left out or no scalars, false declarations, attributes without a meaning.
    It runs to the same outputs. `portable` as of `check`: what a runtime answers wrongly is said in
    another way, where there is one. Raises LoadError as `load` does, whose `limits` it has.
    """
    portable = names_of(portable, checks.RUNTIMES, "portable")
    codes = passes.REPAIRED if portable else passes.REPAIRED - passes.FOR_RUNTIMES
    with within(limits):
        model, findings = loaded(source)
        repaired, mended = passes.repair(model, codes)
    return repaired, [*passes.fixed_by_reading(findings), *mended]


@public
def infer(source: object, *, limits: LoadLimits | None = None) -> Model:
    """The model with a type on every value, those of bodies included.

    A body's declared shapes are claims, not facts: a carried value that changes its shape gets a
    dim of None there, whatever the file declares. Raises LoadError as `load` does,
    whose `limits` it has.
    """
    with within(limits):
        return infer_types(source if isinstance(source, Model) else load(source))


@overload
def optimize(
    source: object, *, with_report: Literal[False] = False, limits: LoadLimits | None = None
) -> Model: ...
@overload
def optimize(
    source: object, *, with_report: Literal[True], limits: LoadLimits | None = None
) -> tuple[Model, passes.Report]: ...
@public
def optimize(
    source: object, *, with_report: bool = False, limits: LoadLimits | None = None
) -> Model | tuple[Model, passes.Report]:
    """The model with less to do: it gives the same outputs, in treadle and in other runtimes.

    What is computed twice, in every iteration alike, for nothing, or known before the run, is not
    computed again; lists that only grow become stacked outputs; loops that count get a trip count.
    Inputs, outputs and metadata keep their names. With `with_report`, also a Report of what was
    done. Raises LoadError as `load` does, InvalidModel for a model that cannot be run. `limits` as
    of `load`; nodes are counted after functions are put in the place of their calls.
    """
    expect(with_report, bool, "with_report", "True or False")
    with within(limits):
        model, report = _optimized(valid(source, "optimized"))
    return (model, report) if with_report else model


def _optimized(model: Model) -> tuple[Model, passes.Report]:
    cleaned, report = passes.simplify(model)
    if not report.done:
        return model, report
    return passes.repair(cleaned, passes.FOR_RUNTIMES)[0], report


@public
def operator(
    source: object, opset: int | None = None, domain: str = "", **attributes: Any
) -> Operator:
    """One operator as a callable: a name, a NodeProto, a FunctionProto or an onnxscript function.

        treadle.operator("Softmax", opset=13, axis=0)(x)

    Raises Unsupported for a name the opset does not have, InvalidModel for a node that is wrong.
    """
    return Operator(source, opset, domain, **attributes)


@public
def get_available_providers() -> list[str]:
    """The execution providers this build of onnxruntime has, as its own function gives them."""
    from treadle import delegate

    return delegate.available_providers()


def set_seed(seed: int) -> None:
    """Have operators of chance without a seed of their own give the same from here on.

    What onnxruntime runs takes it in sessions that are made afterwards, as there. Which numbers
    come depends on the engine. Raises InputError for what is no whole number of 64 bits.
    """
    from treadle import delegate, ops

    try:
        number = operator_index(seed)
        delegate.of_onnxruntime("set_seed")(number)
    except TypeError:
        raise InputTypeError(f"a seed is a whole number of 64 bits, not {seed!r:.60}") from None
    ops.set_seed(number)


def set_default_logger_severity(severity: int) -> None:
    """What onnxruntime writes to stderr: 0 everything, 2 warnings, 3 errors, 4 only what is fatal.

    It holds for sessions made afterwards whose options do not say it; before, treadle has it write
    nothing. Raises ConfigurationError for another number.
    """
    from treadle import delegate

    try:
        delegate.set_severity(severity)
    except TypeError:
        raise InputTypeError(f"a severity is a whole number, not {severity!r:.60}") from None
    except delegate.failures():
        raise ConfigurationError(f"a severity is 0, 1, 2, 3 or 4, not {severity}") from None
