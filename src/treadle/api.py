"""The functions of `treadle`: thin wrappers around the rooms."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from operator import index as operator_index
from typing import Any, Literal, overload

from treadle import checks, formats, passes
from treadle.arguments import brief, expect, expect_model, expect_path, names_of
from treadle.boundary import public
from treadle.build import build
from treadle.errors import ConfigurationError, Finding, Findings, InputTypeError, Unsupported
from treadle.infer import infer as infer_types
from treadle.ir import Call, Function, Leaf, Model, Type
from treadle.limits import LoadLimits, making, within
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
    """Load a model from a file, bytes, text or a model object.

    `source`: a path (.onnx, .onnxtxt, OpenVINO's .xml), bytes, a text model, a ModelProto, an
    onnx_ir.Model or an onnxscript function. Bodies are closed and names resolved. Raises LoadError,
    with every finding, if that fails; findings that do not stop a session are ignored. `limits`
    limits the time and memory of loading, by default to those of LoadLimits; exceeding one raises
    LoadLimitExceeded.
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
    or any source that `load` takes. Loops of OpenVINO without an ONNX form are rewritten first, and
    constructs without an OpenVINO form are optimised away if possible: a list that a loop only
    appends to becomes a stacked output. Data files go along to another folder;
    `external_data=False` copies their tensors into this file. Raises InputError if `path` cannot be
    written, or other data would be lost, Unsupported with all constructs that OpenVINO IR cannot
    express, and InvalidModel for a model that would be invalid in OpenVINO IR. `limits` as in
    `load`.
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
    """The model in operators that have OpenVINO layers, as far as possible."""

    def expand(step: Leaf | Call, types: Sequence[Type | None]) -> Function | None:
        return formats.schema_function(step, types, model.opsets)

    return passes.lower(model, expand, formats.lacks_layer)


@public
def check(
    source: object, *, portable: Collection[str] = (), limits: LoadLimits | None = None
) -> list[Finding]:
    """Report all faults and probable faults of a model; never raises for a faulty one.

    A model that exceeds the `limits` (as in `load`) still raises LoadLimitExceeded.

    `portable`: "onnxruntime" or "openvino" adds known failures and wrong answers of that runtime,
    in the version that the finding names.
    """
    portable = names_of(portable, checks.RUNTIMES, "portable")
    with within(limits):
        return Findings(_checked(source, portable))


def _checked(source: object, portable: Collection[str]) -> list[Finding]:
    if isinstance(source, Model):
        return checks.check(source, portable)
    expect_model(source)
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
    """Repair every fault that has a safe fix; returns the model and the fixes.

    Repaired are nodes out of order, shadowed names, outer values that a body returns directly,
    missing imports, conditions that are left out or not scalars, wrong declarations, and unknown
    attributes. The outputs stay the same. `portable` as in `check`: forms that a runtime computes
    wrongly are replaced by equivalent ones, if there are any. Raises LoadError and takes `limits`
    as `load` does.
    """
    portable = names_of(portable, checks.RUNTIMES, "portable")
    codes = passes.REPAIRED if portable else passes.REPAIRED - passes.FOR_RUNTIMES
    with within(limits):
        model, findings = loaded(source)
        repaired, mended = passes.repair(model, codes)
    return repaired, [*passes.fixed_by_reading(findings), *mended]


@public
def infer(source: object, *, limits: LoadLimits | None = None) -> Model:
    """Infer the types of all values, those of bodies included.

    The declared shapes of a body are not trusted: a carried value that changes its shape gets a dim
    of None, whatever the file declares. Raises LoadError and takes `limits` as `load` does.
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
    """Simplify the model: it gives the same outputs, in treadle and in other runtimes.

    Removes common subexpressions and dead steps, hoists loop invariants and folds constants; lists
    that only grow become stacked outputs, and loops that count get a trip count. Inputs, outputs
    and metadata keep their names. With `with_report`, also returns a Report of the changes. Raises
    LoadError as `load` does, InvalidModel for a model that cannot be run. `limits` as in `load`;
    nodes are counted after functions are inlined.
    """
    expect(with_report, bool, "with_report", "True or False")
    with making(limits):
        model, report = _optimized(valid(source, "optimized"))
    return (model, report) if with_report else model


def _optimized(model: Model) -> tuple[Model, passes.Report]:
    cleaned, report = passes.simplify(model)
    if not report.done:
        return model, report
    return passes.repair(cleaned, passes.FOR_RUNTIMES)[0], report


@public
def operator(
    source: object,
    opset: int | None = None,
    domain: str = "",
    *,
    limits: LoadLimits | None = None,
    **attributes: Any,
) -> Operator:
    """Make a callable of one operator: a name, a NodeProto, a FunctionProto or onnxscript's.

        treadle.operator("Softmax", opset=13, axis=0)(x)

    `limits` as in `load`, for the operator and for each session that its calls make. Raises
    Unsupported for a name the opset does not have, InvalidModel for a malformed node.
    """
    return Operator(source, opset, domain, limits=limits, **attributes)


@public
def get_available_providers() -> list[str]:
    """The execution providers of this onnxruntime build, as its own function reports them."""
    from treadle import delegate

    return delegate.available_providers()


@public
def set_seed(seed: int) -> None:
    """Seed the random operators that have no seed of their own.

    Parts that onnxruntime runs use it in sessions made afterwards, as in onnxruntime. The numbers
    depend on the engine. Raises InputError unless it is a 64-bit integer.
    """
    from treadle import delegate, ops

    try:
        number = operator_index(seed)
        delegate.of_onnxruntime("set_seed")(number)
    except TypeError:
        raise InputTypeError(f"a seed is a whole number of 64 bits, not {brief(seed)}") from None
    ops.set_seed(number)


@public
def set_default_logger_severity(severity: int) -> None:
    """Set onnxruntime's log level on stderr: 0 everything, 2 warnings, 3 errors, 4 fatal errors.

    It applies to sessions made afterwards whose options do not set it; by default treadle silences
    onnxruntime. Raises ConfigurationError for another number.
    """
    from treadle import delegate

    try:
        delegate.set_severity(severity)
    except TypeError:
        raise InputTypeError(f"a severity is a whole number, not {brief(severity)}") from None
    except delegate.failures():
        raise ConfigurationError(f"a severity is 0, 1, 2, 3 or 4, not {severity}") from None
