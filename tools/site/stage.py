"""Copies every page into the site's source, and adapts its links."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MOVED: Mapping[str, str] = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "examples/README.md": "examples.md",
    "tools/site/site.css": "site.css",
}
"""Files outside docs/, and what they are called on the site."""

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)


def repository() -> str:
    """The public address of the repository, "" while it has none."""
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    address: str = written["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    return address.rstrip("/")


def places() -> dict[Path, Path]:
    """Each file of the site by its path in the repository: where it lies on the site."""
    inside = {path: path.relative_to(DOCS) for path in DOCS.rglob("*") if path.is_file()}
    readmes = {path: to.with_name("index.md") for path, to in inside.items() if to.stem == "README"}
    return inside | readmes | {ROOT / path: Path(to) for path, to in MOVED.items()}


def stage(folder: Path) -> None:
    """Write the source of the site into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    known, address = places(), repository()
    for source, place in known.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            text = source.read_text(encoding="utf-8")
            target.write_text(relinked(text, source, known, address), encoding="utf-8")
        else:
            shutil.copy(source, target)


def relinked(text: str, source: Path, known: Mapping[Path, Path], address: str) -> str:
    """A page whose links hold on the site; code blocks stay as they are."""

    def link(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if "://" in target or not target:
            return found[0]
        path = Path(os.path.normpath(source.parent / target))
        if path in known:
            to = os.path.relpath(known[path], known[source].parent)
            return f"{found['image']}[{found['text']}]({to}{'#' + anchor if anchor else ''})"
        if path in (DOCS, DOCS / "decisions"):
            return (
                f"[{found['text']}]({os.path.relpath('decisions/index.md', known[source].parent)})"
            )
        if not path.exists():
            raise SystemExit(f"{source.relative_to(ROOT)}: nothing lies at {found['target']}")
        where = path.relative_to(ROOT).as_posix()
        return f"[{found['text']}]({address}/blob/main/{where})" if address else found["text"]

    return outside_code(text, lambda part: _LINK.sub(link, part))


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """A page with a change made to all but its code blocks."""
    parts, at = [], 0
    for block in _FENCE.finditer(text):
        parts += [change(text[at : block.start()]), block[0]]
        at = block.end()
    return "".join([*parts, change(text[at:])])
