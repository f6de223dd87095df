"""Modules, classes and functions have names of the field; parameters are whole words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import treadle
from tests.test_arrows import statements

SOURCE = Path(treadle.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

PRIVATE_DIALECT = frozenset((
    "apart", "beside", "held", "outside", "team", "helping", "trying", "shelter", "shaping",
    "openings", "foreseen", "account", "ahead", "arcs", "cuts", "chains", "moving", "swap",
    "joined", "pace", "turns", "place", "otherwise", "worth", "fitting", "steady", "alone",
    "foreign", "mistaken", "claims", "kept", "hand", "opened", "noops", "merging", "hoisting",
    "unchanged",
))  # fmt: skip
"""Words that say nothing to a reader who comes from LLVM, MLIR, XLA, JAX, numba or ONNX.

None of them is the whole name of a module, a class or a function; docs/glossary.md has the words
that are. No exception is needed; one would need a decision record.
"""


def names(file: Path) -> Iterator[str]:
    """The names that a file gives: its own, and those of its classes and functions."""
    yield file.parent.name if file.name == "__init__.py" else file.stem
    for node in statements(ast.parse(file.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def parameters(given: ast.arguments) -> Iterator[ast.arg]:
    """All parameters of a function, those with stars too."""
    yield from (*given.posonlyargs, *given.args, *given.kwonlyargs)
    yield from filter(None, (given.vararg, given.kwarg))


def one_letter_parameters(source: str) -> list[str]:
    """The one-letter parameters of functions; those of a lambda, a formula, are left out."""
    return [
        f"{node.name}({argument.arg})"
        for node in statements(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for argument in parameters(node.args)
        if len(argument.arg) == 1 and argument.arg != "_"
    ]


def test_names_are_words_of_the_field() -> None:
    found = {
        f"{file.relative_to(SOURCE)}: {name}"
        for file in FILES
        for name in names(file)
        if name.lower() in PRIVATE_DIALECT
    }
    assert found == set()


def test_parameters_of_the_native_engine_are_whole_words() -> None:
    engine = (file for file in FILES if "jit" in file.relative_to(SOURCE).parts)
    found = {str(file): one_letter_parameters(file.read_text()) for file in engine}
    assert {file: parameters for file, parameters in found.items() if parameters} == {}


def test_a_name_of_one_letter_is_found() -> None:
    source = "def f(a, *c, b=1): return lambda x: x"
    assert one_letter_parameters(source) == ["f(a)", "f(b)", "f(c)"]


# Prose: the rules of ruff's pydocstyle hold that docstrings exist; these, that they are plain.

ROOT = Path(__file__).resolve().parents[1]
DEVELOPMENT = [
    file for room in ("tests", "tools", "benchmarks") for file in (ROOT / room).rglob("*.py")
]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

DIALECT = (
    "so many", "run tells", "nothing tells", "nobody knows", "no one knows", "held outside",
    "made ready", "made anew", "written anew", "in the place of", "hangs on", "hang on",
    "takes no notice", "told beforehand", "beside the other", "truth value", "truth values",
    "to no end", "as interp has it", "what comes behind", "what stands", "what came of",
    "said in words", "who runs what", "who runs steps", "is to be had", "of late",
)  # fmt: skip
"""Phrases of the private dialect that this code was once written in."""

_DIALECT = re.compile(r"\b(?:" + "|".join(DIALECT).replace(" ", r"\s+") + r")\b")


def dialect(text: str) -> list[str]:
    """The phrases of the dialect in a text; a literal that is split over lines counts as one."""
    return _DIALECT.findall(re.sub(r"\"\n\s*f?\"", "", text.lower()))


def test_prose_is_without_phrases_of_the_dialect() -> None:
    files = {*FILES, *PAGES, *DEVELOPMENT} - {Path(__file__).resolve()}
    read = {str(file): file.read_text() for file in sorted(files)}
    assert {name: found for name, text in read.items() if (found := dialect(text))} == {}


def test_a_phrase_of_the_dialect_is_found() -> None:
    assert dialect('"an extent that only the run"\n    " tells"') == ["run tells"]


def test_the_glossary_names_files_that_exist() -> None:
    rows = re.findall(r"^\|.*\|([^|]*)\|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    paths = [path for row in rows for path in re.findall(r"`([\w/]+\.py|[\w/]+/)`", row)]
    assert len(paths) > 50
    assert [path for path in paths if not (SOURCE / path).exists()] == []


def test_files_that_the_pages_name_exist() -> None:
    rooms = [ROOT / room for room in ("src", "tests", "tools", "benchmarks", "examples")]
    files = [f"/{file.relative_to(ROOT)}" for room in rooms for file in room.rglob("*.py")]
    named = {
        (page.name, path)
        for page in PAGES
        for path in re.findall(r"`([\w/-]+/\w+\.py)`", page.read_text())
    }
    assert len(named) > 50
    assert [each for each in named if not any(f.endswith(f"/{each[1]}") for f in files)] == []
