"""Compiles a model to operators of onnxruntime: a library per target, and the calling model."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from treadle import jit, ops
from treadle.build.archive import archive
from treadle.build.c_library import Library, library_data, library_header, members_of, target_data
from treadle.build.folder import Files
from treadle.build.link import link_operators
from treadle.build.partition import partition_of
from treadle.build.rewriting import Operator, with_operators, with_params_of
from treadle.build.targets import NamedTarget
from treadle.build.typings import Typing
from treadle.errors import Unsupported
from treadle.formats import onnx
from treadle.ir import DType, Model
from treadle.jit import FreeKernel
from treadle.passes import to_onnx_loops

__all__ = ["OperatorLibrary", "operator_files", "operators_name", "operators_of"]

_REGION = """\
typedef struct Region {{
  const char *name, *fits_name;
  size_t inputs, outputs;
  int input_types[{inputs}], output_types[{outputs}];
  size_t output_sizes[{outputs}];
  int32_t (*shapes)(const treadle_tensor in[], treadle_tensor out[]);
  size_t (*workspace)(const treadle_tensor in[]);
  int32_t (*run)(const treadle_tensor in[], treadle_tensor out[], const treadle_run *run);
}} Region;
enum {{ MOST_INPUTS = {inputs}, MOST_OUTPUTS = {outputs} }};
#define DOMAIN_NAME "{domain}"
static const Region regions[] = {{
{entries}
}};
"""


@dataclass(frozen=True, eq=False, slots=True)
class OperatorLibrary:
    """The operators of a model: its name, their domain, and a C library per region."""

    name: str
    domain: str
    regions: tuple[Library, ...]


def operators_of(
    model: Model,
    original: Model,
    typings: Sequence[Typing],
    name: str,
    version: str,
    targets: Sequence[NamedTarget],
    has_fallback: bool,
) -> tuple[Files, Sequence[FreeKernel]]:
    """The files of a model's operators; raises Unsupported if no part of it can be one.

    `model` is `original` as compiled; kernels are made for each of the `typings` of its values.
    """
    digest = hashlib.sha256(onnx.to_bytes(original)).hexdigest()
    domain = f"treadle.{digest[:16]}"
    declared = {value.name: value.type for value in original.main.params}
    parts = partition_of(model, typings, declared)
    if not parts.leaving:
        reasons = parts.reasons or ("it has no loop",)
        why = "no part of the model can be an operator:"
        raise Unsupported("an operator of onnxruntime", None, why, lines=reasons)
    found = {
        region: Library(
            f"{name}_{number}",
            tuple(value.name for value in region.inputs),
            tuple(value.name for value in region.outputs),
            left.kernels,
            digest,
            version,
        )
        for number, (region, left) in enumerate(parts.leaving.items())
    }
    has_choice = has_fallback and not parts.is_certain
    operators = {region: Operator(library.name, has_choice) for region, library in found.items()}
    rewritten = with_operators(model, parts.main, operators, domain)
    files = operator_files(OperatorLibrary(name, domain, tuple(found.values())), targets)
    whole = with_params_of(to_onnx_loops(rewritten), original)
    data = onnx.to_bytes(whole, unique_names=True)
    kernels = [kernel for library in found.values() for kernel in library.kernels]
    return {**files, f"{name}.onnx": data}, kernels


def operators_name(name: str, named: NamedTarget) -> str:
    """The path of the library below the folder."""
    suffix = {"elf": "so", "coff": "dll", "macho": "dylib"}[named.form]
    prefix = "" if named.form == "coff" else "lib"
    return f"{named.name}/{prefix}{name}_operators.{suffix}"


def operator_files(made: OperatorLibrary, targets: Sequence[NamedTarget]) -> Files:
    """The libraries and their description, by path; raises ConfigurationError if linking fails."""
    built: dict[str, bytes] = {}
    listed = []
    for named in targets:
        path = operators_name(made.name, named)
        built[path] = _linked(made, named)
        listed.append({**target_data(named), "file": path, "bytes": len(built[path])})
    data = {
        "name": made.name,
        "domain": made.domain,
        "treadle": made.regions[0].version,
        "model": f"sha256:{made.regions[0].digest}",
        "operators": [library_data(each) for each in made.regions],
        "targets": listed,
    }
    built[f"{made.name}.json"] = json.dumps(data, indent=2).encode()
    return built


def _linked(made: OperatorLibrary, named: NamedTarget) -> bytes:
    """The library of a target."""
    members: dict[str, jit.Member] = {}
    for library in made.regions:
        members |= {member.name: member for member in members_of(library, named)}
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room)
        for library in made.regions:
            (folder / f"{library.name}.h").write_text(library_header(library))
        (folder / "lib.a").write_bytes(archive(list(members.values()), named.form))
        (folder / "operators.c").write_text(_source(made))
        return link_operators(named, folder).read_bytes()


def _source(made: OperatorLibrary) -> str:
    """The C source of the operators."""
    includes = "\n".join(f'#include "{library.name}.h"' for library in made.regions)
    found = [jit.signatures(library.kernels[0]) for library in made.regions]
    table = _REGION.format(
        inputs=max(1, *(len(each.inputs) for each in found)),
        outputs=max(1, *(len(each.outputs) for each in found)),
        domain=made.domain,
        entries=",\n".join(map(_entry, made.regions, found)),
    )
    operators = ", ".join(
        f"OPERATOR(&regions[{k}], {asks})" for k in range(len(found)) for asks in (0, 1)
    )
    text = files("treadle.build").joinpath("operators.c").read_text(encoding="utf-8")
    text = text.replace("/*LIBRARY*/", f"{includes}\n\n{table}")
    return text.replace("/*OPERATORS*/", operators)


def _entry(library: Library, found: jit.Signatures) -> str:
    name = library.name
    inputs, outputs = (
        ", ".join(str(ops.element_to_proto(DType(dtype))) for dtype, _ in kinds) or "0"
        for kinds in (found.inputs, found.outputs)
    )
    sizes = ", ".join(str(DType(dtype).numpy.itemsize) for dtype, _ in found.outputs)
    return (
        f'  {{"{name}", "{name}_fits", {len(found.inputs)}, {len(found.outputs)}, {{{inputs}}},'
        f" {{{outputs}}}, {{{sizes}}}, {name}_shapes, {name}_workspace, {name}_run}}"
    )
