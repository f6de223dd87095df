"""Every example of the pages runs, in order: python blocks, and `treadle` commands to exit code 0.

A console block has commands behind `$ ` and what they print; a block of sh has commands alone, and
a text block that follows it is what the last of them prints. `<!-- needs: EXTRA -->` before a block
names what `.ci/run` does not install: the page is skipped where that is missing.
"""

import doctest
import re
import shlex
import tomllib
import warnings
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from treadle.cli import main
from treadle.cli.demo import measure

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(
    r"^(?:<!-- needs: (?P<needs>\w+) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
PAGES = sorted(
    page.relative_to(ROOT).as_posix()
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
)
EXTRAS = {
    "torch": ("torch", "onnxscript"),
    "jax": ("jax", "jax2onnx"),
    "sklearn": ("sklearn", "skl2onnx"),
}
"""The modules of each extra that a block may need."""
SKIPPED = {
    "docs/tutorials/from_jax.md": {"jax": 3},
    "docs/tutorials/from_scikit_learn.md": {"sklearn": 3},
    "docs/tutorials/from_torch.md": {"torch": 3},
    "docs/tutorials/jax_scan.md": {"jax": 7},
    "docs/tutorials/torch_lstm.md": {"torch": 6},
}
"""How many blocks of a page need an extra."""
SAME = doctest.OutputChecker()
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Example(NamedTuple):
    """One block of a page, or one command of a console block and what the page shows of it."""

    language: str
    text: str
    shown: str


def needs(page: str) -> Counter[str]:
    blocks = BLOCK.finditer((ROOT / page).read_text(encoding="utf-8"))
    return Counter(match["needs"] for match in blocks if match["needs"])


def test_blocks_that_are_skipped_are_those_of_the_list() -> None:
    found = {page: dict(needs(page)) for page in PAGES if needs(page)}
    assert found == SKIPPED
    written = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert EXTRAS.keys() <= written["project"]["optional-dependencies"].keys()


def examples(page: str) -> list[Example]:
    found = []
    for match in BLOCK.finditer((ROOT / page).read_text(encoding="utf-8")):
        if match["language"] == "python":
            found.append(Example("python", match["text"], ""))
        elif match["language"] == "console":
            for part in re.split(r"^\$ ", match["text"], flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                found.append(Example("console", command, shown))
        elif match["language"] == "sh":
            lines = match["text"].replace("\\\n", " ").splitlines()
            found += [Example("console", line, "") for line in lines]
        elif match["language"] == "text" and found and found[-1].language == "console":
            found[-1] = found[-1]._replace(shown=match["text"])
    return found


def run_command(example: Example) -> None:
    program, *arguments = shlex.split(example.text, comments=True) or [""]
    if program != "treadle":
        return
    variables = {"NO_COLOR": "1", "COLUMNS": "100"}
    done = CliRunner().invoke(main, arguments, env=variables, prog_name="treadle")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, f"$ {example.text}\n{done.output}"
    if example.shown.strip():
        agrees = SAME.check_output(example.shown, done.stdout, LENIENT)
        assert agrees, (
            f"$ {example.text} printed\n{done.stdout}\nand the page shows\n{example.shown}"
        )


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for extra in needs(page):
        for module in EXTRAS[extra]:
            pytest.importorskip(module, reason=f"needs the extra {extra}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "SECONDS", 0.05)
    if needs(page):
        warnings.simplefilter("ignore")  # of what exporters use; pytest restores the filters
    names: dict[str, object] = {"__name__": "__main__"}
    for example in examples(page):
        if example.language == "python":
            exec(compile(example.text, page, "exec"), names)
        else:
            run_command(example)


def test_ci_runs_the_commands_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command in ("pip install . && treadle demo", "pip install '.[test]' && pytest -n auto"):
        assert command in readme
        assert command in script
