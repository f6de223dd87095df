"""Writes a model as a C library: header, archives, a description and a test program."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from treadle import jit, ops
from treadle.build.archive import archive
from treadle.build.folder import Files
from treadle.build.header import header
from treadle.build.program import test_program
from treadle.build.targets import NamedTarget
from treadle.ir import DType, dtype_of
from treadle.jit import FreeKernel
from treadle.report import tolerance_of

__all__ = [
    "Library",
    "Sample",
    "as_sample",
    "library_data",
    "library_files",
    "library_header",
    "members_of",
    "target_data",
]


@dataclass(frozen=True, eq=False, slots=True)
class Library:
    """The content of a library: its name, the names of its tensors, and its kernels.

    `digest` is that of the model, `version` treadle's.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    kernels: tuple[FreeKernel, ...]
    digest: str
    version: str


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """Inputs of a run and its outputs."""

    inputs: Sequence[np.ndarray]
    outputs: Sequence[np.ndarray]


def library_files(library: Library, targets: Sequence[NamedTarget], sample: Sample | None) -> Files:
    """The files of the library, by path."""
    data = library_data(library)
    files: dict[str, bytes] = {f"{library.name}.h": library_header(library).encode()}
    built = []
    for named in targets:
        path = f"{named.name}/lib{library.name}.a"
        files[path] = archive(members_of(library, named), named.form)
        built.append({**target_data(named), "file": path, "bytes": len(files[path])})
    files[f"{library.name}.json"] = _json({**data, "targets": built}, indent=2)
    if sample is not None:
        numbers = {each.value: ops.element_to_proto(each) for each in DType}
        text = test_program(library.name, numbers, sample.inputs, sample.outputs)
        files["test/main.c"] = text.encode()
    return files


def members_of(library: Library, named: NamedTarget) -> list[jit.Member]:
    """The object files for a target."""
    described = _json({**library_data(library), "target": target_data(named)}).decode()
    return jit.compile_library(library.name, library.kernels, described, named.targets)


def _json(data: Any, indent: int | None = None) -> bytes:
    return json.dumps(data, indent=indent, ensure_ascii=True).encode()


def target_data(named: NamedTarget) -> dict[str, Any]:
    """The description of a target."""
    target = named.target
    return {
        "name": named.name,
        "triple": target.triple,
        "processor": target.processor,
        "better_processors": [each.processor for each in named.better],
        "features": target.features,
        "is_tested": named.is_tested,
    }


def library_data(library: Library) -> dict[str, Any]:
    """The library's description of itself, equal for every target."""
    found = [jit.signatures(kernel) for kernel in library.kernels]
    dtypes = {dtype for each in found for dtype, _ in each.outputs}
    tolerances = {name: tolerance_of(DType(name)) for name in sorted(dtypes)}
    return {
        "name": library.name,
        "abi": 1,
        "treadle": library.version,
        "model": f"sha256:{library.digest}",
        "tolerance": {
            name: {"relative": each.relative, "absolute": each.absolute}
            for name, each in tolerances.items()
        },
        "kernels": [
            {
                "inputs": _tensors(library.inputs, each.inputs),
                "outputs": _tensors(library.outputs, each.outputs),
                "if_true": [library.inputs[number] for number in kernel.true_inputs],
            }
            for kernel, each in zip(library.kernels, found, strict=True)
        ],
    }


def _tensors(
    names: Sequence[str], kinds: Sequence[tuple[str, tuple[int | str, ...]]]
) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": dtype,
            "number": ops.element_to_proto(DType(dtype)),
            "shape": list(shape),
        }
        for name, (dtype, shape) in zip(names, kinds, strict=True)
    ]


def library_header(library: Library) -> str:
    """The header of a library."""
    found = jit.signatures(library.kernels[0])
    several = len(library.kernels) > 1
    rank = max((len(shape) for _, shape in found.outputs), default=0)
    inputs, outputs = (
        [_shown(name, *kind, several=several) for name, kind in zip(names, kinds, strict=True)]
        for names, kinds in ((library.inputs, found.inputs), (library.outputs, found.outputs))
    )
    return header(library.name, inputs, outputs, rank, library.version)


def _shown(name: str, dtype: str, shape: tuple[int | str, ...], *, several: bool) -> str:
    extents = ", ".join(map(str, shape))
    return f"{name}: {dtype}, rank {len(shape)}" if several else f"{name}: {dtype}[{extents}]"


def as_sample(inputs: Mapping[str, Any], names: Sequence[str], outputs: Sequence[Any]) -> Sample:
    """Inputs and outputs in order, as arrays."""
    arrays = [np.ascontiguousarray(inputs[name]).reshape(np.shape(inputs[name])) for name in names]
    made = [np.ascontiguousarray(each).reshape(np.shape(each)) for each in outputs]
    assert all(dtype_of(array.dtype) for array in arrays)
    return Sample(arrays, made)
