"""Inputs of a model from the command line: files, `name=value`, and random data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from treadle.cli.archive import as_type, read_archive, read_array
from treadle.cli.options import Inputs
from treadle.errors import InputError, did_you_mean
from treadle.ir import DType, Model, Sequence, Tensor, Type, show_type, type_symbols
from treadle.report import plural, table
from treadle.warming import made_up_value

Declared = Mapping[str, Type | None]
"""The type of each input, by name."""


def wanted(model: Model) -> Declared:
    """The inputs that must be given, by name."""
    defaults = {constant.value for constant in model.main.constants}
    return {v.name: v.type for v in model.main.params if v not in defaults}


def collect(model: Model, inputs: Inputs) -> dict[str, object]:
    """Collect the feeds: from the archive, the assignments, then random ones if there is a seed.

    Raises UsageError for unknown names and for missing inputs, with how to give them.
    """
    declared = {value.name: value.type for value in model.main.params}
    _check_extents(inputs.extents, declared)
    feeds: dict[str, object] = {}
    if inputs.archive is not None:
        found = _read(inputs.archive, declared)
        feeds = {name: as_type(value, declared.get(name)) for name, value in found.items()}
    for text in inputs.assignments:
        name, value = assignment(text, declared)
        feeds[name] = value
    missing = {name: type_ for name, type_ in wanted(model).items() if name not in feeds}
    if inputs.seed is not None:
        feeds |= {n: _made_up(n, t, inputs.seed, inputs.extents) for n, t in missing.items()}
    elif missing:
        raise click.UsageError(_show_missing(missing))
    return feeds


def _made_up(name: str, type_: Type | None, seed: int, extents: Mapping[str, int]) -> object:
    try:
        return made_up_value(name, type_, seed, extents)
    except InputError as error:
        raise click.UsageError(f"--random: {error}; give it with -i {name}=@FILE.npy") from None


def assignment(text: str, inputs: Declared) -> tuple[str, object]:
    """The name and value of `name=value`: a number, true, text, a JSON list, or @file.npy."""
    name, equals, given = text.partition("=")
    if not equals:
        raise click.UsageError(f'"-i {text}" lacks a value: -i NAME=VALUE')
    _check_name(name, inputs, "-i")
    type_ = inputs[name]
    if given.startswith("@"):
        return name, as_type(read_array(Path(given[1:])), type_)
    return name, _value(name, given, type_)


def _value(name: str, given: str, type_: Type | None) -> object:
    is_text = isinstance(type_, Tensor) and type_.dtype is DType.STRING
    try:
        value: object = json.loads(given)
    except (ValueError, RecursionError):  # a number of 5,000 digits, or deeply nested lists
        if is_text:
            return given
        raise click.UsageError(
            f'"{given}" is no value for input "{name}", {show_type(type_)}: give a number, true or'
            " false, a JSON list, or @FILE.npy"
        ) from None
    return given if is_text and not isinstance(value, list | str) else value


def _read(archive: Path, inputs: Declared) -> dict[str, object]:
    found = read_archive(archive, "in:")
    for name in found:
        _check_name(name, inputs, str(archive))
    return found


def _check_name(name: str, inputs: Declared, where: str) -> None:
    if name in inputs:
        return
    hint = did_you_mean(name, inputs)
    raise click.UsageError(f'{where}: the model has no input "{name}", {hint}')


def _check_extents(extents: Mapping[str, int], inputs: Declared) -> None:
    known = sorted(set().union(*map(type_symbols, inputs.values())))
    for name in extents:
        if name not in known:
            hint = did_you_mean(name, known)
            raise click.UsageError(f'--dim: no input of the model has an extent "{name}", {hint}')


def _show_missing(missing: Declared) -> str:
    rows = [
        (name, show_type(type_), f"-i {_example(name, type_)}") for name, type_ in missing.items()
    ]
    verb = "is" if len(rows) == 1 else "are"
    return (
        f"{plural(len(rows), 'input')} {verb} missing:\n{table(rows, indent=2)}\n"
        "Give them with --input FILE.npz, with -i NAME=VALUE (a number, a JSON list, @FILE.npy),\n"
        "or let --random make them up."
    )


def _example(name: str, type_: Type | None) -> str:
    if isinstance(type_, Sequence):
        return f"{name}='[...]'"
    if not isinstance(type_, Tensor) or type_.shape is None or len(type_.shape) > 2:
        return f"{name}=@{name}.npy"
    word = {DType.BOOL: "true", DType.STRING: '"text"'}.get(type_.dtype or DType.FLOAT32, "1")
    brackets = len(type_.shape)
    value = "[" * brackets + word + (", ..." if brackets else "") + "]" * brackets
    return f"{name}='{value}'" if brackets else f"{name}={value.strip(chr(34))}"
