"""Writes the reference: Python's public names, the commands, and indexes of folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

import treadle
from treadle.cli import main
from treadle.cli.main import GROUPS

API: Mapping[str, tuple[str, ...]] = {
    "Running": (
        "InferenceSession", "SessionOptions", "RunOptions", "LoadLimits", "Predictor", "operator",
        "Operator", "set_seed", "get_available_providers", "set_default_logger_severity",
        "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "ModelMetadata", "NodeArg",
        "LoraAdapter",
    ),
    "Seeing inside": (
        "infer", "expose", "write_report", "Recorder", "Progress", "compare", "Comparison", "bench",
        "Benchmark",
    ),
    "Checking": ("check", "Finding", "repair", "Report", "Change"),
    "Rewriting": (
        "load", "save", "optimize", "specialize", "unroll", "reroll", "rewrite", "convert_version",
        "convert_dtype", "build",
    ),
    "Errors": (
        "TreadleError", "InputError", "InputTypeError", "ConfigurationError", "LoadError",
        "InvalidModel", "Unsupported", "LoadLimitExceeded", "RunError", "DataError", "KernelError",
        "LimitExceeded", "Terminated", "ComparisonError",
    ),
}  # fmt: skip
"""The public names under headings; those not named here follow under one of their own."""
_WITH_INHERITED = ("InferenceSession",)


def api_page() -> str:
    """Directives for mkdocstrings, which reads the docstrings."""
    parts = ["# Python reference\n"]
    placed = {name for names in API.values() for name in names}
    more = {"More": tuple(name for name in treadle.__all__ if name not in placed)}
    for heading, names in (API | more).items():
        if not names:
            continue
        parts.append(f"## {heading}\n")
        parts += map(_directive, names)
    parts.append("## Rooms\n\nOf the packages below the top level two are public.\n")
    parts += [
        f"::: treadle.{room}\n    options:\n      heading_level: 3\n      members: false\n"
        for room in ("ir", "surgery")
    ]
    return "\n".join(parts)


def _directive(name: str) -> str:
    inherited = "      inherited_members: true\n" if name in _WITH_INHERITED else ""
    return f"::: treadle.{name}\n    options:\n      heading_level: 3\n{inherited}"


def verbs_page() -> str:
    """The help of every verb."""
    parts = ["# Command line\n", _help("treadle", main)]
    for group, verbs in GROUPS.items():
        parts.append(f"## {group}\n")
        for verb in verbs:
            command = main.get_command(click.Context(main), verb)
            assert command is not None
            parts += [f"### {verb}\n", _help(f"treadle {verb}", command)]
    return "\n".join(parts)


def _help(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name, max_content_width=88, terminal_width=88)
    return f"```text\n{command.get_help(context)}\n```\n"


def decisions_page(folder: Path) -> str:
    """A contents of the decisions."""
    lines = ["# Decisions", "", "A choice that had a rival, and why it was made.", ""]
    for page in sorted(folder.glob("0*.md")):
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        number, _, words = title.partition(". ")
        lines.append(f"- {number}: [{words}]({page.name})")
    return "\n".join([*lines, ""])


def write(folder: Path) -> None:
    """The made pages, into the source of the site."""
    (folder / "reference").mkdir(exist_ok=True)
    (folder / "reference" / "python.md").write_text(api_page(), encoding="utf-8")
    (folder / "reference" / "verbs.md").write_text(verbs_page(), encoding="utf-8")
    (folder / "decisions" / "index.md").write_text(
        decisions_page(folder / "decisions"), encoding="utf-8"
    )
