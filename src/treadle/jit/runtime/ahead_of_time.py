"""Compiles a region from its types before the first run, for `explain` only.

An extent known from the types is static, any other is dynamic; equal symbols are one extent. The
code is not kept: the code of a run does not depend on earlier calls of `explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from treadle.ir import (
    Dim,
    DType,
    Expression,
    Optional,
    Sequence,
    Symbol,
    Tensor,
    Type,
    show_type,
)
from treadle.jit.internal_errors import decline_on_internal_error
from treadle.jit.kernel.declined import Declined, Unprofitable
from treadle.jit.kernel.ir import Kernel, SymbolicDim
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.runtime.dynamic_dims import Axes, opened_signature
from treadle.jit.runtime.specialize import DynamicDims, Kind, Signature, conditions, signature_key
from treadle.jit.toolchain import llvm
from treadle.plan import CompilationReport, Region

_TRIED = "not compiled yet: native code will be tried at the first run"
_FOR_SHAPES = "for the shapes that come"
_HELD: tuple[DType | None, tuple[Dim, ...]] = None, ()

Make = Callable[[Signature, DynamicDims], tuple[Kernel, Collection[SymbolicDim]]]
"""Makes the kernel for a signature and the extents known before it runs; raises Declined."""


def predicted_report(region: Region, lengths: DynamicDims, make: Make) -> CompilationReport:
    """The report of a region that is not compiled yet; its code is made on request."""
    types = ", ".join(f"{value.name} {show_type(value.type)}" for value in region.inputs)
    title = f"{types or 'no inputs'}, before its first run"
    return CompilationReport(
        title, (_outlook(region, lengths, make),), {}, partial(_code, region, lengths, make)
    )


def _outlook(region: Region, base: DynamicDims, make: Make) -> str:
    """What is expected of the first run, as far as types tell it."""
    if not region.next_best_engine:
        return f"{_TRIED}, {_FOR_SHAPES}"
    try:
        decline_on_internal_error(make)(*expected(region, base))
    except Unprofitable as why:
        return f"{_TRIED}; expected to go to {why.engine}, since {why.why}"
    except Declined as why:
        return f"{_TRIED}, {_FOR_SHAPES}; types alone do not decide it: {why}"
    return f"{_TRIED}, {_FOR_SHAPES}; expected to be compiled"


def show(kernel: Kernel, exact: Collection[SymbolicDim], kind: str) -> str:
    """The code of a kernel as text: the "kernel" itself, its "schedule", or "llvm".

    "" for any other kind.
    """
    if kind == "kernel":
        return show_kernel(kernel)
    if kind == "schedule":
        return _schedule(kernel)
    if kind != "llvm":
        return ""
    code = generate_code(kernel, exact)
    return llvm.optimized_ir(code.text, vectorizers=code.vectorizers)


def _schedule(kernel: Kernel) -> str:
    from treadle.jit.schedule.schedule import schedule_kernel
    from treadle.jit.schedule.schedule_text import show_schedule

    return show_schedule(schedule_kernel(kernel, llvm.host_target()))


def _code(region: Region, base: DynamicDims, make: Make, kind: str) -> str:
    try:
        key, lengths = expected(region, base)
    except Declined as why:
        return f"# nothing is compiled yet, and the types do not suffice: {why}; run it once"
    try:
        return decline_on_internal_error(show)(*make(key, lengths), kind)
    except Declined as why:
        if lengths.open == base.open:
            return f"# declined: {why}"
        return (
            f"# nothing is compiled yet, and dynamic lengths cannot be compiled: {why}; run it once"
        )


def expected(
    region: Region, base: DynamicDims, types: Iterable[Type | None] | None = None
) -> tuple[Signature, DynamicDims]:
    """The signature of data of these types; raises Declined if the types are too vague.

    `base` are the axes that are always dynamic. `types` are those of the region's inputs, which may
    be more precise than the region's own.
    """
    known = [value.type for value in region.inputs] if types is None else list(types)
    _expect_told([value.name for value in region.inputs], known)
    kinds = [_kind(each) for each in known]
    for position in conditions(region):
        dtype, dims = kinds[position]
        kinds[position] = dtype, tuple(dim if isinstance(dim, int) else 1 for dim in dims)
    lengths = opened_signature(base, _named(kinds, base))
    return signature_key([_with_holes(*kind) for kind in kinds], lengths), lengths


def _expect_told(inputs: Iterable[str], types: Iterable[Type | None]) -> None:
    missing: dict[str, list[str]] = {}
    for name, known in zip(inputs, types, strict=True):
        for what in _missing(known):
            missing.setdefault(what, []).append(name)
    if missing:
        said = (f"{what} of {', '.join(names)}" for what, names in missing.items())
        raise Declined(f"they do not determine {'; '.join(said)}")


def _missing(known: Type | None) -> Iterator[str]:
    """The missing parts of an input's type."""
    match known:
        case None:
            yield "the type"
        case Optional():
            yield "the presence"
        case Tensor(dtype, shape):
            if dtype is None:
                yield "the element type"
            if shape is None and (dtype is None or dtype in NATIVE):
                yield "the rank"
        case Sequence(None | Tensor(None)):
            yield "the element type"
        case Sequence(Tensor(dtype, shape)) if dtype in NATIVE:
            if shape is None or not all(isinstance(dim, int) for dim in shape):
                yield "the shape of all items"


def _kind(known: Type | None) -> tuple[DType | None, tuple[Dim, ...]]:
    """The dtype and extents of an input; a boxed input counts as a tensor without extents."""
    match known:
        case Tensor(DType() as dtype, tuple() as shape) if dtype in NATIVE:
            return dtype, shape
        case Sequence(Tensor(DType() as dtype, tuple() as shape)) if dtype in NATIVE:
            return dtype, (None, *shape)
    return _HELD


def _named(
    kinds: list[tuple[DType | None, tuple[Dim, ...]]], base: DynamicDims
) -> dict[Axes, SymbolicDim | Axes]:
    """The dynamic axes, grouped by equal length: see dynamic_dims.py."""
    axes = {(k, axis): dim for k, (_, dims) in enumerate(kinds) for axis, dim in enumerate(dims)}
    known: dict[Dim, SymbolicDim | Axes] = {
        dim: base.open[key] for key, dim in axes.items() if key in base.open and _is_name(dim)
    }
    return {
        key: known.setdefault(dim, key) if _is_name(dim) else key
        for key, dim in axes.items()
        if not isinstance(dim, int) and key not in base.open
    }


def _is_name(dim: Dim) -> bool:
    """Whether equal extents of this dim have equal lengths."""
    return isinstance(dim, Symbol | Expression)


def _with_holes(dtype: DType | None, dims: tuple[Dim, ...]) -> Kind:
    return dtype, tuple(dim if isinstance(dim, int) else -1 for dim in dims)
