"""docs/map.md: a line for every file of the package, the first sentence of its docstring.

`pytest tests/test_map.py --update-golden` writes it anew.
"""

import re
from collections.abc import Callable
from pathlib import Path

import treadle
from tests.test_arrows import ROOMS

SOURCE = Path(treadle.__file__).parent
HEAD = """# Map

One line for every file of `src/treadle`: the first sentence of its docstring. The rooms stand in
the order of the arrows: a room imports only rooms below it.
`pytest tests/test_map.py --update-golden` writes this page anew.

How to add an operator, a pass, a rule with its fix, or an engine: a section each of
[CONTRIBUTING.md](../CONTRIBUTING.md).
How to add native code for an operator, or a loop strategy: [native-engine.md](native-engine.md).
"""
OTHERS = {
    "ops/contrib.txt": "The operators that onnxruntime adds or keeps: versions and types.",
    ".onnxtxt": "A model of the demo, as text.",
    ".c": "The C source of operators of onnxruntime, around the functions of a library.",
    ".css": "The style of the page of `treadle report`.",
    ".html": "The frame of the page of `treadle report`.",
    ".mjs": "JavaScript that loads a WebAssembly module of a model, and calls it.",
    ".tsv": "What `python -m tools.sweep` found onnxruntime to get wrong, a row a fault.",
    ".txt": "Examples of the rules on {}: a bad model, and the same mended.",
    ".typed": "Says that the package has types.",
}


def text() -> str:
    """The page as it should be."""
    files = sorted(
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    rooms = [room for line in ROOMS for room in line]
    sections = ["treadle", *rooms]
    grouped: dict[str, list[str]] = {section: [] for section in sections}
    for file in files:
        room = file.split("/")[0].removesuffix(".py")
        grouped[room if room in rooms else "treadle"].append(f"| `{file}` | {sentence(file)} |")
    tables = (
        f"## {section}\n\n| file | what it is |\n|---|---|\n" + "\n".join(lines) + "\n"
        for section, lines in grouped.items()
        if lines
    )
    return "\n".join([HEAD, *tables])


def sentence(file: str) -> str:
    """What a file says it is."""
    path = SOURCE / file
    if path.suffix == ".js":
        return path.read_text(encoding="utf-8").splitlines()[0].removeprefix("// ")
    if path.suffix != ".py":
        return OTHERS.get(file) or OTHERS[path.suffix].format(path.stem.replace("_", " "))
    said = re.match(r'"""(.+?)"""', path.read_text(encoding="utf-8"), re.DOTALL)
    assert said, f"{file} has no docstring"
    first = " ".join(said[1].split("\n\n")[0].split())
    return re.split(r"(?<=[^.]\.) ", first)[0].replace("|", "\\|")


def test_the_map_is_up_to_date(page: Callable[[str, str], None]) -> None:
    page("map.md", text())
