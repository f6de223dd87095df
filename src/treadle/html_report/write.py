"""The public function `write_report`: writes a model as one HTML page."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from treadle import checks
from treadle.arguments import expect, expect_path
from treadle.boundary import public
from treadle.comparing import Comparison
from treadle.errors import InputError
from treadle.files import replaced_file
from treadle.html_report.contents import contents
from treadle.limits import LoadLimits, within
from treadle.sources import loaded

__all__ = ["write_report"]


@public
def write_report(
    model: object,
    path: str | os.PathLike[str],
    feeds: Mapping[str, object] | None = None,
    comparison: Comparison | None = None,
    *,
    limits: LoadLimits | None = None,
) -> None:
    """Write a page about a model: one HTML file that needs no server and no network.

        treadle.write_report("decoder.onnx", "report.html", feeds)

    `model` is any source of `treadle.load`. Each block is drawn as a graph when it is opened; one
    with more than 500 nodes is a list with a filter. For a loop the page shows its carried, sliced,
    stacked and captured values, for every node its types, engine and findings. With `feeds`, as for
    `session.run`, the model runs once, and the page shows every value over the iterations, and the
    first NaN. `comparison` is a result of `treadle.compare`: the page marks the first difference.

    The graph is laid out by igraph: `pip install 'treadle[report]'`. Raises ConfigurationError
    without it, InputError if `path` cannot be written, and the errors of loading and running. A
    model that cannot be run still gets a page, unless `feeds` are given. `limits` as in `load`.
    """
    target = Path(expect_path(path))
    expect(feeds, (Mapping, type(None)), "feeds", "a dict of inputs by name, or None")
    kinds = (Comparison, type(None))
    expect(comparison, kinds, "comparison", "what treadle.compare gave, or None")
    with within(limits):
        given, found = loaded(model)
        title = _title(model, given.main.name)
        findings = [*found, *checks.check(given)]
        data = contents(given, title, findings, feeds, comparison)
    _write(target, page(title, data))


def page(title: str, shown: Mapping[str, Any]) -> str:
    """The page, with its style, its script and its data inside."""
    assets = files("treadle.html_report") / "assets"
    read = {name: (assets / name).read_text("utf-8") for name in _ASSETS}
    data = json.dumps(_plain(shown), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    parts = {
        "title": escape(title),
        "style": read["style.css"],
        "script": "\n".join(read[name] for name in _ASSETS if name.endswith(".js")),
        "data": data.replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], read["page.html"])


_ASSETS = ("page.html", "style.css", "model.js", "graph.js", "profile.js", "detail.js", "page.js")


def _plain(value: Any) -> Any:
    """The data with null for numbers that JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _title(source: object, name: str) -> str:
    if isinstance(source, str | os.PathLike) and "\n" not in os.fsdecode(source):
        return Path(os.fsdecode(source)).name
    return name or "model"


def _write(target: Path, text: str) -> None:
    """Write the file completely or not at all."""
    try:
        with replaced_file(target) as draft:
            draft.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from None
