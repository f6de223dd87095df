"""The README: its length, its examples, its figures and links."""

import re
import tomllib
from pathlib import Path

import pytest

from benchmarks import show
from benchmarks.__main__ import read

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "examples" / "README.md"]
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"][
    "metadata"
]["hooks"]["custom"]["repository"]


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-") for text in found}


def test_the_readme_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_the_first_screen_has_a_number_and_a_picture() -> None:
    screen = "\n".join(README.splitlines()[:20])
    _, rows = read(ROOT / "benchmarks" / "figures.json")
    ratios = [ratio for row in rows if (ratio := row.ratio("onnxruntime"))]
    assert f"**{show.mean(ratios):.0f} times faster than onnxruntime** on {len(ratios)}" in screen
    assert f"from {min(ratios):.2g} to {round(max(ratios), -2):,.0f} times" in screen
    assert "![" in screen


def test_commands_have_no_prompt() -> None:
    blocks = [text for language, text in BLOCK.findall(README) if language in ("sh", "python")]
    assert len(blocks) >= 5
    assert all(not line.startswith(("$", ">", "%")) for text in blocks for line in text.split("\n"))
    assert "```console" not in README


def test_every_problem_has_a_link() -> None:
    for problem in (
        "My loop is slow", "It gives other answers", "It does not load", "What is in this model?",
        "I need another opset", "My runtime has no Loop", "OpenVINO", "Deploy it", "Contribute",
    ):  # fmt: skip
        (row,) = re.findall(rf"^\| {re.escape(problem)} \|.*$", README, re.MULTILINE)
        assert LINK.search(row), problem


def test_the_install_line_is_that_of_a_clone_until_published() -> None:
    assert (ADDRESS == "") == ("From a clone of this repository:" in README)
    assert ("pip install ." in README) == (ADDRESS == "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        file = page.parent / target
        assert file.exists(), f"{page.name} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor[1:] in headings(file), f"{page.name} links to {target}{anchor}"
