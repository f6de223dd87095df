"""`treadle build`: a model compiled for programs without Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

import treadle
from treadle.cli.options import FILE
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, json_option, model_argument

_EXAMPLE = """
$ treadle build lstm.onnx -o out
$ treadle build lstm.onnx -o out --target x86_64-linux,wasm32 --data inputs.npz
$ treadle build lstm.onnx -o out --input x=n,2,16 --input x=n,8,16
"""


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to; by default named like the model, in the current one.",
)
@click.option(
    "--as",
    "kind",
    default="c",
    show_default=True,
    help="c: a C library; ort: operators of onnxruntime.",
)
@click.option(
    "--target",
    "targets",
    default="host",
    show_default=True,
    metavar="NAME,...",
    help="x86_64-linux, aarch64-linux, wasm32 and others; host is this machine.",
)
@click.option(
    "--cpu",
    metavar="v3|v4|native",
    help="The processor, of x86-64; v3 without. v3,v4: code for both, chosen in each run.",
)
@click.option("--name", help="What names of functions begin with; the file's name without.")
@click.option(
    "--input",
    "shapes",
    multiple=True,
    metavar="x=n,2,16",
    help="The shape of an input; a name leaves an extent open. Each repetition adds a kernel.",
)
@click.option("--data", type=FILE, help="An .npz file with inputs for the test.")
@click.option("--link", is_flag=True, help="Link shared libraries, or .wasm modules, too.")
@json_option
def build(
    model: Path,
    folder: Path | None,
    kind: str,
    targets: str,
    cpu: str | None,
    name: str | None,
    shapes: tuple[str, ...],
    data: Path | None,
    link: bool,
    as_json: bool,
) -> None:
    """Compile a model for C, C++, and languages that can call C.

    Writes a header, an archive for each target, a description (JSON), and a program that tests the
    library. Trip counts and the lengths of sliced axes stay dynamic.
    """
    from treadle.cli.archive import read_archive

    arrays = None if data is None else read_archive(data, "in:")
    with working(f"building {model}", quiet=as_json):
        built = treadle.build(
            model,
            folder or Path(model.stem),
            kind=kind,
            targets=[each for each in targets.split(",") if each],
            cpu=cpu,
            name=name,
            inputs=_kernels(shapes),
            data=arrays,
            link=link,
        )
    if as_json:
        kernels = list(built.kernels)
        echo_json({"name": built.name, "files": list(map(str, built.files)), "kernels": kernels})
        return
    for kernel in built.kernels:
        echo(f"kernel for {kernel}")
    for path in built.files:
        echo(f"wrote {path} ({path.stat().st_size:,} bytes)")


def _kernels(shapes: tuple[str, ...]) -> list[Mapping[str, tuple[int | str, ...]]] | None:
    """The shapes of each kernel: a shape given once is shared by all kernels."""
    told: dict[str, list[tuple[int | str, ...]]] = {}
    for text in shapes:
        name, equals, shape = text.rpartition("=")
        if not equals:
            raise click.UsageError(f'"--input {text}" lacks a shape: --input x=n,2,16')
        extents = [extent.strip() for extent in shape.split(",") if extent.strip()]
        told.setdefault(name, []).append(
            tuple(int(extent) if extent.isdecimal() else extent for extent in extents)
        )
    counts = {len(each) for each in told.values()} - {1}
    if len(counts) > 1:
        raise click.UsageError("give the shape of an input once, or once for each kernel")
    count = max(counts, default=1)
    return (
        [
            {name: each[k] if len(each) > 1 else each[0] for name, each in told.items()}
            for k in range(count)
        ]
        if told
        else None
    )
