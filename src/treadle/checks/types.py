"""The types each version of If, Loop and Scan allows, and the contradictions between two types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.infer import differ
from treadle.ir import (
    DType,
    Map,
    Optional,
    Sequence,
    Shape,
    Sparse,
    Tensor,
    Type,
    Value,
    show_type,
)

Form = str
"""How an element type is wrapped: "tensor", "seq", "optional", "optional of seq"."""

_BASE = frozenset(
    {
        DType.BOOL, DType.STRING, DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64,
        DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT16, DType.FLOAT32,
        DType.FLOAT64, DType.COMPLEX64, DType.COMPLEX128,
    }
)  # fmt: skip
_FLOAT8 = {
    DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ
}  # fmt: skip
_NEW = ("tensor", "seq", "optional")
"""The forms in which versions from 19 on accept new element types: never as optional of seq."""

_ADDED: Mapping[int, Iterable[tuple[Iterable[Form], Iterable[DType]]]] = {
    1: [(("tensor",), _BASE)],
    13: [(("seq",), _BASE)],
    16: [
        (("tensor", "seq"), {DType.BFLOAT16}),
        (("optional", "optional of seq"), _BASE | {DType.BFLOAT16}),
    ],
    19: [(_NEW, _FLOAT8)],
    21: [(_NEW, {DType.INT4, DType.UINT4})],
    23: [(_NEW, {DType.FLOAT4E2M1})],
    24: [(_NEW, {DType.FLOAT8E8M0})],
    25: [(_NEW, {DType.INT2, DType.UINT2})],
}
"""The types each version of If and Loop adds (docs/semantics.md).

Scan takes the tensor types among them.
"""


@cache
def allowed(operator: str, version: int) -> frozenset[tuple[Form, DType]]:
    """Every pair of form and element type that If, Loop or Scan allows at a version."""
    forms = ("tensor",) if operator == "Scan" else ("tensor", "seq", "optional", "optional of seq")
    return frozenset(
        (form, dtype)
        for since, additions in _ADDED.items()
        if since <= version
        for added, dtypes in additions
        for form in added
        if form in forms
        for dtype in dtypes
    )


def form_of(type_: Type | None) -> tuple[Form, DType | None] | None:
    """The form and element type of a type.

    For types that no version allows the form is one that no version has; None for an unknown type.
    """
    match type_:
        case Tensor(dtype):
            return "tensor", dtype
        case Sequence(Tensor(dtype)):
            return "seq", dtype
        case Optional(Tensor(dtype)):
            return "optional", dtype
        case Optional(Sequence(Tensor(dtype))):
            return "optional of seq", dtype
        case None | Sequence(None) | Optional(None) | Optional(Sequence(None)):
            return None
    return "other", None


def disallowed(
    operator: str, version: int, values: Iterable[Value | None], path: str
) -> Iterator[Finding]:
    """Report each value whose type this version of the operator does not allow."""
    table = allowed(operator, version)
    for value in dict.fromkeys(values):
        form = None if value is None else form_of(value.inferred)
        if value is None or form is None or _admitted(form, table):
            continue
        message = f"{operator}-{version} does not allow {show_type(value.inferred)} ({value.name})"
        yield finding("CF302", path, message, _since(operator, form))


def _admitted(form: tuple[Form, DType | None], table: frozenset[tuple[Form, DType]]) -> bool:
    name, dtype = form
    return any(name == each for each, _ in table) if dtype is None else (name, dtype) in table


def _since(operator: str, form: tuple[Form, DType | None]) -> str:
    for version in _ADDED:
        if _admitted(form, allowed(operator, version)):
            return f"import opset {version} or newer"
    return "no version does"


def kind(type_: Type | None) -> str | None:
    """Name the kind of a type: tensor, sequence, optional, ..."""
    words = {
        Tensor: "tensor", Sparse: "sparse tensor", Sequence: "sequence",
        Optional: "optional", Map: "map",
    }  # fmt: skip
    return None if type_ is None else words[type(type_)]


def is_tensor_of(type_: Type | None, dtype: DType) -> bool:
    """Whether the type may be a tensor of the dtype."""
    match type_:
        case Tensor(found):
            return found in (None, dtype)
    return type_ is None


def is_one_element(type_: Type | None) -> bool:
    """Whether a tensor of the type may have exactly one element."""
    match type_:
        case Tensor(_, shape) if shape is not None:
            return not any(isinstance(dim, int) and dim != 1 for dim in shape)
    return True


def kinds_contradict(left: Type | None, right: Type | None) -> bool:
    """Whether no value can have both types, judged by kinds and element types alone.

    A plain value counts as an optional.
    """
    match left, right:
        case (None, _) | (_, None):
            return False
        case (Tensor(a), Tensor(b)) | (Sparse(a), Sparse(b)):
            return None not in (a, b) and a is not b
        case (Sequence(one), Sequence(two)) | (Optional(one), Optional(two)):
            return kinds_contradict(one, two)
        case (Map(a, one), Map(b, two)):
            return (None not in (a, b) and a is not b) or kinds_contradict(one, two)
        case (Optional(held), other) | (other, Optional(held)):
            return kinds_contradict(held, other)
    return True


def shapes_contradict(left: Type | None, right: Type | None) -> bool:
    """Whether two types of one kind have shapes that no tensor can have both of."""
    match left, right:
        case (Tensor(_, one), Tensor(_, two)) | (Sparse(_, one), Sparse(_, two)):
            return extents_contradict(one, two)
        case (Sequence(a), Sequence(b)) | (Optional(a), Optional(b)):
            return shapes_contradict(a, b)
    return False


def extents_contradict(left: Shape | None, right: Shape | None) -> bool:
    """Whether the ranks differ, or two dims cannot be equal."""
    if left is None or right is None:
        return False
    return len(left) != len(right) or any(map(differ, left, right))
