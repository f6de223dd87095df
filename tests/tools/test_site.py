"""The site has every page and every public name, and its links hold."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import treadle
from tools.site import reference
from tools.site.stage import MOVED, ROOT, outside_code, places, relinked, stage

MADE = {"reference/python.md", "reference/verbs.md", "decisions/index.md"}


def pages_of(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, list):
        for entry in nav:
            yield from pages_of(entry)
    elif isinstance(nav, dict):
        yield from pages_of(list(nav.values()))


def test_every_page_is_in_the_contents() -> None:
    written = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    listed = set(pages_of(written["project"]["nav"]))
    pages = {to.as_posix() for to in places().values() if to.suffix == ".md"} | MADE
    linked = {page for page in pages if re.match(r"(decisions|reports)/", page)}
    assert pages - linked - listed == set()
    assert listed - pages == set()


def test_every_public_name_is_in_the_reference() -> None:
    page = reference.api_page()
    assert [name for name in treadle.__all__ if f"::: treadle.{name}\n" not in page] == []


def test_the_verbs_stand_with_their_help() -> None:
    page = reference.verbs_page()
    assert "### convert\n" in page
    assert "Usage: treadle cache" in page


def test_pages_are_staged_with_links_that_hold(tmp_path: Path) -> None:
    stage(tmp_path)
    for page in tmp_path.rglob("*.md"):
        prose = outside_code(page.read_text(encoding="utf-8"), lambda part: part)
        for target in re.findall(r"\]\(([^)#\s]+)", prose):
            if "://" not in target and not target.endswith("decisions/index.md"):
                assert (page.parent / target).resolve().exists(), (page.name, target)


@pytest.mark.parametrize(
    ("written", "address", "wanted"),
    [
        ("[a](docs/limits.md#b)", "", "[a](limits.md#b)"),
        ("![p](docs/speed.svg)", "", "![p](speed.svg)"),
        ("[code](src/treadle/api.py)", "", "code"),
        ("[code](src/treadle/api.py)", "https://x.org/t", "[code](https://x.org/t/blob/main/src/treadle/api.py)"),
        ("```\n[a](docs/limits.md)\n```", "", "```\n[a](docs/limits.md)\n```"),
        ("[a](https://x.org) [b](#c)", "", "[a](https://x.org) [b](#c)"),
    ],
)  # fmt: skip
def test_links(written: str, address: str, wanted: str) -> None:
    assert relinked(written, ROOT / "README.md", places(), address) == wanted


def test_a_broken_link_is_an_error() -> None:
    with pytest.raises(SystemExit, match="nowhere"):
        relinked("[a](nowhere.md)", ROOT / "README.md", places(), "")


def test_pages_that_move_are_there() -> None:
    assert all((ROOT / page).is_file() for page in MOVED)
