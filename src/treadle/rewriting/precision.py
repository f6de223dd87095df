"""`treadle.convert_dtype`: converts the floats of a model to another element type."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, overload

from treadle import passes
from treadle.arguments import expect, items_of
from treadle.boundary import public
from treadle.errors import InputError
from treadle.ir import DType, Model, Value
from treadle.limits import LoadLimits, making
from treadle.messages import join_words
from treadle.passes import Report
from treadle.rewriting.border import Rewritten, given, standard_function
from treadle.sources import valid
from treadle.tracing import Selector, selectables

__all__ = ["convert_dtype"]

_KEPT = "a selector of values, or a list of them"
_TYPES = {str(dtype): dtype for dtype in (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT64)}


@overload
def convert_dtype(
    source: object,
    dtype: str,
    *,
    keep: str | Iterable[str] = (),
    with_report: Literal[False] = False,
    limits: LoadLimits | None = None,
) -> Model: ...
@overload
def convert_dtype(
    source: object,
    dtype: str,
    *,
    keep: str | Iterable[str] = (),
    with_report: Literal[True],
    limits: LoadLimits | None = None,
) -> tuple[Model, Report]: ...
@public
def convert_dtype(
    source: object,
    dtype: str,
    *,
    keep: str | Iterable[str] = (),
    with_report: bool = False,
    limits: LoadLimits | None = None,
) -> Rewritten:
    """Convert float32 values to float16, bfloat16 or float64, in bodies at any depth.

        treadle.convert_dtype("decoder.onnx", "float16", keep=["op:Softmax", "role:carried"])

    Carried, captured, sliced and stacked values, constants and elements of sequences are all
    converted. Inputs and outputs keep their types, by Casts. `keep` is one selector or several of
    values that stay float32, with the operators that compute them; the path of a loop or branch
    keeps all of it. Operators that do not take the new type run in float32 between Casts. Functions
    are inlined. Finite constants that the new type cannot hold become its greatest.

    Unlike other rewrites it changes values, by the rounding of the new type. Raises InputError for
    another type and for a selector that matches nothing, and Unsupported if a sequence or an
    optional would have to be cast.
    """
    expect(dtype, str, "dtype", "the name of an element type")
    if dtype not in _TYPES:
        raise InputError(f"dtype is {dtype!r:.60}, wanted {join_words(_TYPES)}")
    with making(limits):
        model = passes.plain_model(valid(source, f"converted to {dtype}"), standard_function)
        values, paths = _kept(model, keep)
        result = passes.convert_dtype(model, DType.FLOAT32, _TYPES[dtype], values, paths)
    return given(result, with_report)


def _kept(model: Model, keep: str | Iterable[str]) -> tuple[Collection[Value], Collection[str]]:
    patterns = (keep,) if isinstance(keep, str) else tuple(items_of(keep, "keep", _KEPT))
    if not patterns:
        return (), ()
    selector = Selector.of(patterns, "keep")
    selector.expect_match(model, "keep")
    picked = [item for item in selectables(model) if selector.picks(item)]
    values = [item.value for item in picked if item.value is not None]
    return values, [item.path for item in picked if item.value is None]
