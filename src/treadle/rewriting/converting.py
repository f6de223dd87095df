"""`treadle.convert_version`: converts a model to the operators of another opset."""

from __future__ import annotations

from functools import partial
from operator import index
from typing import Literal, overload

from treadle import ops, passes
from treadle.arguments import expect_member, shown
from treadle.boundary import public
from treadle.errors import InputError, InputTypeError
from treadle.ir import Model
from treadle.limits import LoadLimits, making
from treadle.passes import Report
from treadle.rewriting.border import Rewritten, given, standard_function
from treadle.sources import valid

__all__ = ["convert_version"]

_OLDEST = 9
_OLDEST_IR, _NEWEST_IR = 3, 13
_STACKED = "stacked"


@overload
def convert_version(
    source: object,
    opset: int,
    *,
    ir_version: int | None = None,
    outputs: str | None = None,
    with_report: Literal[False] = False,
    limits: LoadLimits | None = None,
) -> Model: ...
@overload
def convert_version(
    source: object,
    opset: int,
    *,
    ir_version: int | None = None,
    outputs: str | None = None,
    with_report: Literal[True],
    limits: LoadLimits | None = None,
) -> tuple[Model, Report]: ...
@public
def convert_version(
    source: object,
    opset: int,
    *,
    ir_version: int | None = None,
    outputs: str | None = None,
    with_report: bool = False,
    limits: LoadLimits | None = None,
) -> Rewritten:
    """Convert the model to the operators of another opset, 9 to the newest one.

        treadle.convert_version("decoder.onnx", 13)

    It works upwards and downwards, in bodies and functions at any depth: operators whose inputs,
    attributes or defaults changed are adapted, new ones replaced by the standard's definition or by
    older operators, and Scan of opset 8 becomes a loop over its batch. Functions stay if their
    operators can be converted for all calls alike; otherwise they are inlined. Operators of other
    domains stay as they are.

    Models of opset 6 and older are taken too, but for attributes that opset 7 withdrew.

    Where the opset lacks sequences or optionals, those inside the model become tensors: the
    elements stacked, int64 lengths where their shapes vary, and a bool that says whether there is
    one. At the border they are obstacles; with `outputs="stacked"` an input or output sequence NAME
    becomes NAME of shape [count, *extents], padded with zeros, and NAME@lengths of shape
    [count, rank], and an optional also NAME@present.

    `ir_version` is the IR version of the file; by default the model keeps its own, if the releases
    of the opset support it. Raises InputError for an opset or an IR version that does not exist,
    and Unsupported with every step that has no form in the opset.
    """
    wanted = _number(opset, "opset", _OLDEST, ops.newest_opset(""))
    if ir_version is not None:
        ir_version = _number(ir_version, "ir_version", _OLDEST_IR, _NEWEST_IR)
    if outputs is not None:
        expect_member(outputs, [_STACKED], "outputs")
    with making(limits):
        model = valid(source, f"converted to opset {wanted}")
        without_lists = partial(passes.lists_to_tensors, stacked_border=outputs == _STACKED)
        result = passes.convert_version(model, wanted, standard_function, ir_version, without_lists)
    return given(result, with_report)


def _number(given_: object, name: str, low: int, high: int) -> int:
    try:
        number = index(given_)  # type: ignore[arg-type]
    except TypeError:
        raise InputTypeError(f"{name} is a whole number, not {shown(given_)}") from None
    if not low <= number <= high:
        raise InputError(f"{name} is {number}, wanted {low} to {high}")
    return number
