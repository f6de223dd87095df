"""`treadle.build`: compiles a model's loops to a folder of files for other programs."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from treadle.arguments import expect, expect_member, expect_path
from treadle.boundary import public
from treadle.build.c_library import Library, Sample, as_sample, library_files
from treadle.build.folder import Files, draft_folder, publish
from treadle.build.kernels import Leaving, leaving
from treadle.build.link import expect_linker
from treadle.build.link import link as link_archive
from treadle.build.ort import operators_of
from treadle.build.sample import made_up_inputs
from treadle.build.shapes import Shape, expect_shapes, of_data, told_types, types_of_data
from treadle.build.targets import HOST, NamedTarget, targets_of
from treadle.build.typings import typing_of
from treadle.errors import InputError, TreadleError, Unsupported
from treadle.formats import onnx as onnx_format
from treadle.ir import Call, FunctionId, Model, Type, walk
from treadle.jit import FreeKernel
from treadle.limits import LoadLimits, within
from treadle.passes import convert_version
from treadle.plan import Region, whole_region
from treadle.session import InferenceSession
from treadle.sources import loaded

__all__ = ["Built", "build"]

KINDS = ("c", "ort")
_SCAN_8 = FunctionId("", "Scan")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_KEYWORDS = frozenset(
    (
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "treadle",
        "class",
        "new",
        "delete",
        "this",
        "template",
        "operator",
        "try",
        "catch",
        "throw",
        "namespace",
        "using",
        "public",
        "private",
        "protected",
        "virtual",
        "friend",
        "bool",
        "true",
        "false",
    )
)


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build: its name, the written files, and the signature of each kernel."""

    name: str
    files: tuple[Path, ...]
    kernels: tuple[str, ...]


@public
def build(
    model: object,
    folder: str | os.PathLike[str],
    *,
    kind: str = "c",
    targets: Sequence[str] = (HOST,),
    cpu: str | None = None,
    name: str | None = None,
    inputs: Any = None,
    data: Mapping[str, Any] | None = None,
    link: bool = False,
    fallback: bool = True,
    limits: LoadLimits | None = None,
) -> Built:
    """Compile a model for programs without Python, in `folder`.

        treadle.build("lstm.onnx", "out", targets=["x86_64-linux", "wasm32"])

    `kind="c"` makes a C library. The folder has `lstm.h`, C99 and C++; for each target an archive,
    `x86_64-linux/liblstm.a`; `lstm.json`, which describes its inputs and outputs; and
    `test/main.c`, a program that runs it once. No compiler or linker is needed, unless `link=True`
    links each archive: to a shared library beside it, or a .wasm module.

    `kind="ort"` makes operators of onnxruntime: `lstm.onnx`, in which each compiled part of the
    model is one operator, and for each target the library to register,
    `x86_64-linux/liblstm_operators.so`, linked in any case. If the data of a run does not match the
    compiled code, the original steps of the part run; `fallback=False` leaves them out, and such a
    run fails.

    `targets`: "host", "x86_64-linux", "aarch64-linux", "wasm32"; "riscv64-linux", "x86_64-windows"
    and "aarch64-macos" can be built too, but treadle's tests do not run them. `cpu`: of x86-64,
    "v2", "v3" (the default) or "v4", or "native" for the processor of this machine; "v3,v4"
    compiles for both, and each run selects the best one by CPUID. `name` is the prefix of all
    functions, by default the name of the model's file.

    `inputs` gives shapes that the model does not declare, {"x": ("n", 2, 16)}: a named extent is
    dynamic, and so are those along which loops slice. Several such mappings make several kernels; a
    call uses the first that matches. `data` are inputs for the test program; they also give extents
    that are not known otherwise.

    Raises Unsupported, with every reason, for a model that cannot run without Python; InputError
    for arguments, ConfigurationError if there is no linker, and errors of loading as
    `InferenceSession` does. `limits` as in `load`.
    """
    target = Path(expect_path(folder, "folder"))
    expect_member(kind, KINDS, "kind")
    expect(targets, (list, tuple), "targets", "a list of names")
    if cpu is not None:
        expect(cpu, str, "cpu", 'a processor such as "v3", or several such as "v3,v4"')
    chosen = targets_of(tuple(targets), cpu)
    expect(link, bool, "link", "True or False")
    shapes = expect_shapes(inputs)
    expect(fallback, bool, "fallback", "True or False")
    request = _Request(_name(name, model), tuple(chosen), tuple(shapes), data, link, fallback)
    for named in chosen if link or kind == "ort" else ():
        if kind == "ort" and named.form == "wasm":
            raise InputError('kind="ort" is a library for onnxruntime: there is none for wasm32')
        expect_linker(named)
    with within(limits):
        files, kernels = _MAKERS[kind](model, request)
    written = _written(target, files, request.name, chosen if link and kind == "c" else [])
    return Built(request.name, tuple(written), tuple(map(_shown_kernel, kernels)))


@dataclass(frozen=True, eq=False, slots=True)
class _Request:
    """The arguments of a build."""

    name: str
    targets: tuple[NamedTarget, ...]
    shapes: tuple[Mapping[str, Shape], ...]
    data: Mapping[str, Any] | None
    link: bool
    has_fallback: bool


Made = tuple[Files, Sequence[FreeKernel]]


def _c_library(model: object, request: _Request) -> Made:
    session = InferenceSession(model)
    region = whole_region(session.plan.model)
    feeds = None if request.data is None else _feeds(request.data, region)
    found = leaving(region, [_types(region, each, feeds) for each in request.shapes])
    if found.reasons:
        raise _refused(found)
    library = _library(request.name, session.model, region, found)
    sample = _sample(session, region, library, feeds)
    return library_files(library, request.targets, sample), library.kernels


def _types(
    region: Region, shapes: Mapping[str, Shape], feeds: Mapping[str, np.ndarray] | None
) -> list[Type | None]:
    types = told_types(region.inputs, shapes)
    return types if feeds is None else types_of_data(region.inputs, types, feeds, shapes)


def _operators(model: object, request: _Request) -> Made:
    original = _with_loops_of_its_own(loaded(model)[0])
    compiled = InferenceSession(original).plan.model
    told = [of_data(original, each, request.data or {}) for each in request.shapes]
    typings = [typing_of(compiled, each) for each in told]
    name, targets = request.name, request.targets
    return operators_of(
        compiled, original, typings, name, _version(), targets, request.has_fallback
    )


_MAKERS: Mapping[str, Callable[[object, _Request], Made]] = {
    "c": _c_library,
    "ort": _operators,
}


def _written(folder: Path, files: Files, name: str, linked: Sequence[NamedTarget]) -> list[Path]:
    """The files and the linked libraries; nothing is left if a step fails."""
    draft = draft_folder(folder, files)
    try:
        for named in linked:
            link_archive(name, named, draft)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return publish(draft, folder)


def _shown_kernel(kernel: FreeKernel) -> str:
    from treadle.jit import signatures

    found = signatures(kernel).inputs
    shown = ", ".join(f"{dtype}[{', '.join(map(str, shape))}]" for dtype, shape in found)
    return f"{shown}, where its loops begin" if kernel.true_inputs else shown


def _name(name: str | None, model: object) -> str:
    """The prefix of the library: a C identifier."""
    if name is None:
        stem = Path(os.fspath(model)).stem if isinstance(model, str | os.PathLike) else "model"
        is_path = isinstance(model, os.PathLike) or (isinstance(model, str) and "\n" not in model)
        own = re.sub(r"[^A-Za-z0-9_]+", "_", stem).strip("_") if is_path else "model"
        own = own if own[:1].isalpha() else f"model_{own}".rstrip("_")
        return f"{own}_model" if own in _KEYWORDS else own
    expect(name, str, "name", "a C identifier")
    if not _NAME.fullmatch(name) or name in _KEYWORDS:
        raise InputError(f'name is "{name}", wanted a C identifier such as "lstm"')
    return name


def _feeds(data: Any, region: Region) -> dict[str, np.ndarray]:
    expect(data, Mapping, "data", "arrays by the names of inputs")
    missing = [value.name for value in region.inputs if value.name not in data]
    if missing:
        raise InputError(f"data lacks the inputs {', '.join(missing)}")
    return {value.name: np.asarray(data[value.name]) for value in region.inputs}


def _refused(found: Leaving) -> Unsupported:
    """The error for a model that cannot run without Python, with every reason."""
    advice = (
        'kind="ort" compiles the parts that native code has, and leaves the rest to onnxruntime'
    )
    reasons = (*found.reasons, advice)
    return Unsupported("a C library", None, "the model cannot be a C library:", lines=reasons)


def _with_loops_of_its_own(model: Model) -> Model:
    """The model, without the Scan of opset 8: no operator stands for the loop over its batch."""
    if any(isinstance(v.step, Call) and v.step.function == _SCAN_8 for v in walk(model)):
        return convert_version(model, 9, lambda *_: None)[0]
    return model


def _library(name: str, model: Model, region: Region, found: Leaving) -> Library:
    digest = hashlib.sha256(onnx_format.to_bytes(model)).hexdigest()
    inputs = tuple(value.name for value in region.inputs)
    outputs = tuple(value.name for value in model.main.results if value is not None)
    return Library(name, inputs, outputs, found.kernels, digest, _version())


def _version() -> str:
    try:
        return metadata.version("treadle")
    except metadata.PackageNotFoundError:
        return "unknown"


def _sample(
    session: InferenceSession,
    region: Region,
    library: Library,
    feeds: Mapping[str, np.ndarray] | None,
) -> Sample | None:
    """Inputs and outputs of a run; None if generated inputs do not run."""
    given = made_up_inputs(region.inputs, library.kernels[0]) if feeds is None else feeds
    try:
        outputs = session.run(None, dict(given))
    except TreadleError:
        if feeds is None:
            return None
        raise
    return as_sample(given, library.inputs, outputs)
