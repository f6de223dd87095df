"""The order of rooms: imports of every file, lazy ones included, read from the syntax tree."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import treadle

SOURCE = Path(treadle.__file__).parent

LINES = """
__main__
cli backend
html_report
comparing
api exposing rewriting surgery
bench build predict profiler reduction
single_operator
coercion
session
warming
pickling ort_session
iobinding recording debugging
call_arguments
engines feeds load_cache options profiling variants
adapters parity
execution
interp jit delegate report
plan
sources
passes formats
checks
batching
infer
ops
tracing
ir
limits machine
arguments boundary
ort_exceptions
errors
compact_pickle lazy_names locks markup messages files
"""
"""The architecture: a room may import only rooms on lines below its own."""

ROOMS = [line.split() for line in LINES.strip().splitlines()]
BELOW = {
    room: {lower for line in ROOMS[number + 1 :] for lower in line}
    for number, line in enumerate(ROOMS)
    for room in line
}
TOP = "treadle"  # the package's own __init__.py may import every room; of the rooms, only cli it

HOMES = {
    "onnx": ("formats/onnx/", "ops/", "backend.py"),
    "llvmlite": ("jit/",),
    "onnxruntime": ("delegate/",),
    "openvino": ("comparing/runtimes.py",),
    "igraph": ("html_report/",),
    "click": ("cli/",),
    "rich": ("cli/",),
}
HEAVY = ("igraph", "llvmlite", "onnxruntime", "onnx.reference", "rich")
LAZY = {
    "jit/codegen/": "treadle.jit.codegen",
    "jit/schedule/": "treadle.jit.schedule",
}  # rooms that are heavy themselves: imported on first use


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every statement at any depth, without a look into expressions: a fifth of `ast.walk`'s time.

    for each in statements(ast.parse(source)): ...
    """
    pending: list[ast.AST] = [tree]
    while pending:
        within = pending.pop()
        for field in ("body", "orelse", "handlers", "finalbody", "cases"):
            inner = getattr(within, field, ())
            if isinstance(inner, list):
                pending += inner
        if isinstance(within, ast.stmt):
            yield within


@cache
def imports(source: str) -> tuple[tuple[str, int], ...]:
    """Every module a file imports by name, and how many dots stand before it."""
    return tuple(each for node in statements(ast.parse(source)) for each in imported(node))


def imported(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """What a statement imports, as `imports`."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, 0) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((f"{node.module or ''}.{alias.name}", node.level) for alias in node.names)


def at_module_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run when the file is imported."""
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            continue
        yield statement
        pending += [s for s in ast.iter_child_nodes(statement) if isinstance(s, ast.stmt)]


def room_of(file: str) -> str:
    """The room of a file given by its path below the package."""
    return TOP if file == "__init__.py" else file.split("/")[0].removesuffix(".py")


def complaints(file: str, source: str) -> set[str]:
    """What is wrong with the imports of one file."""
    found: set[str] = set()
    for module, dots in imports(source):
        if dots:
            found.add(f"{file} must not import relatively: {'.' * dots}{module}")
        elif module.split(".")[0] == "treadle":
            found |= inner_complaints(file, module)
        else:
            found |= foreign_complaints(file, module)
    return found | {
        f"{file} must import {heavy} on first use, in a function"
        for statement in at_module_level(ast.parse(source))
        for module, _ in imported(statement)
        for heavy in heavy_for(file)
        if f"{module}.".startswith(f"{heavy}.")
    }


def heavy_for(file: str) -> tuple[str, ...]:
    """What the file must not import at its top; a file of a lazy room may import what is heavy."""
    if any(file.startswith(folder) for folder in LAZY):
        return ()
    return (*HEAVY, *LAZY.values())


def inner_complaints(file: str, module: str) -> set[str]:
    """What is wrong with importing one of treadle's own modules."""
    room, inner = room_of(file), module.split(".")[1:]
    target = inner[0] if inner else TOP
    if room in {TOP, target}:
        return set()
    if target not in BELOW:
        return set() if room == "cli" else {f"{file} must not import {TOP}, but a room of it"}
    if target not in BELOW[room]:
        return {f"{file} must not import {target}"}
    if len(inner) == 1 or is_public(target, inner[1:]):
        return set()
    return {f"{file} must import {inner[-1]} from treadle.{target}, and be given it in __all__"}


def is_public(room: str, names: list[str]) -> bool:
    """Whether the room offers the name, and each room within it the next."""
    offers = f"treadle.{room}"
    for name in names:
        if name not in offered(import_module(offers)):
            return False
        offers += f".{name}"
    return True


def offered(room: ModuleType) -> set[str]:
    """The names in a room's `__all__`; those without an underscore where the room is one file."""
    if hasattr(room, "__path__"):
        return set(room.__all__)
    return {name for name in vars(room) if not name.startswith("_")}


def foreign_complaints(file: str, module: str) -> set[str]:
    """What is wrong with importing another project's module."""
    package = module.split(".")[0]
    homes = HOMES.get(package)
    if homes is None or any(file.startswith(home) for home in homes):
        return set()
    return {f"{file} must not import {package}"}


FILES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
KNOWN = frozenset(FILES)


def test_imports_point_down() -> None:
    assert set().union(*(complaints(file, (SOURCE / file).read_text()) for file in FILES)) == set()


def test_every_room_has_a_line() -> None:
    assert {room_of(file) for file in FILES} - {TOP} <= set(BELOW)


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("ir/bad.py", "import treadle.plan", "ir/bad.py must not import plan"),
        ("ir/bad.py", "def f():\n    from treadle import ops", "ir/bad.py must not import ops"),
        ("jit/bad.py", "from treadle.interp import x", "jit/bad.py must not import interp"),
        ("ir/bad.py", "from . import graph", "ir/bad.py must not import relatively: ."),
        ("ops/bad.py", "import treadle", "ops/bad.py must not import treadle"),
        (
            "plan/bad.py",
            "from treadle.ir.graph import Block",
            "plan/bad.py must import Block from treadle.ir",
        ),
        (
            "plan/bad.py",
            "from treadle.ir import graph",
            "plan/bad.py must import graph from treadle.ir, and be given it in __all__",
        ),
        ("plan/good.py", "from treadle.ir import Block, walk", None),
        ("plan/bad.py", "from onnx import helper", "plan/bad.py must not import onnx"),
        ("interp/bad.py", "import onnxruntime", "interp/bad.py must not import onnxruntime"),
        ("report/bad.py", "from rich.table import Table", "report/bad.py must not import rich"),
        (
            "jit/bad.py",
            "try:\n    import llvmlite.ir\nexcept ImportError: pass",
            "jit/bad.py must import llvmlite on first use, in a function",
        ),
        (
            "ops/bad.py",
            "from onnx import reference",
            "ops/bad.py must import onnx.reference on first use, in a function",
        ),
        ("ops/good.py", "def f():\n    import onnx.reference", None),
        ("cli/good.py", "import click, treadle\nfrom treadle.ir import show_model", None),
        ("session.py", "from treadle import delegate", None),
    ],
)
def test_a_bad_file_is_caught(file: str, source: str, complaint: str | None) -> None:
    found = complaints(file, source)
    if complaint is None:
        assert found == set()
    else:
        assert any(each.startswith(complaint) for each in found), found


JIT = [
    "library",
    "engine",
    "runtime",
    "policy",
    "codegen",
    "schedule",
    "lowering",
    "host",
    "threads",
    "toolchain",
    "internal_errors",
    "kernel",
]
"""The rooms of `treadle.jit`: each may import only rooms on lines below its own."""

LLVM = {"llvmlite.ir": "codegen", "llvmlite.binding": "toolchain"}
"""The one room of `treadle.jit` that imports each part of llvmlite."""


def jit_complaints(file: str, source: str) -> set[str]:
    """What is wrong with the imports of one file of `treadle.jit`, given by its path there."""
    room = file.split("/")[0].removesuffix(".py")
    found = set()
    for module, _ in imports(source):
        for part, home in LLVM.items():
            if f"{module}.".startswith(f"{part}.") and room != home:
                found.add(f"{file} must not import {part}, only {home} does")
        inner = module.split(".")[2:]
        if not module.startswith("treadle.jit.") or inner[0] in (room, ""):
            continue
        is_below = inner[0] in JIT and JIT.index(inner[0]) > JIT.index(room)
        if not is_below:
            found.add(f"{file} must not import {inner[0]}")
    return found


JIT_FILES = [file.removeprefix("jit/") for file in FILES if file.startswith("jit/")]


def test_imports_of_the_native_engine_point_down() -> None:
    files = {file: SOURCE / "jit" / file for file in JIT_FILES if file != "__init__.py"}
    found = (jit_complaints(file, path.read_text()) for file, path in files.items())
    assert set().union(*found) == set()


def test_a_file_that_imports_upwards_in_the_native_engine_is_found() -> None:
    source = "from treadle.jit.codegen.loop import emit_loop\nfrom llvmlite import ir"
    assert jit_complaints("lowering/bad.py", source) == {
        "lowering/bad.py must not import codegen",
        "lowering/bad.py must not import llvmlite.ir, only codegen does",
    }


@pytest.mark.parametrize("root", [SOURCE, Path(__file__).parent], ids=["src", "tests"])
def test_no_folder_holds_more_than_30_files(root: Path) -> None:
    files = [file for file in root.rglob("*.py") if file.name != "__init__.py"]
    counts = Counter(file.parent.relative_to(root).as_posix() for file in files)
    assert {folder: count for folder, count in counts.items() if count > 30} == {}


@pytest.mark.parametrize("root", [SOURCE, Path(__file__).parent], ids=["src", "tests"])
def test_no_file_has_more_than_400_lines(root: Path) -> None:
    lengths = {str(file): len(file.read_text().splitlines()) for file in root.rglob("*.py")}
    assert {file: length for file, length in lengths.items() if length > 400} == {}


def files_imported(file: str, source: str) -> set[str]:
    """The files of the package that one of them imports: at its top, in functions, for types."""
    found: set[str] = set()
    for module, _ in imports(source):
        parts = module.split(".")
        if parts[0] != TOP:
            continue
        inner = "/".join(parts[1:])
        around = "/".join(parts[1:-1])
        names = (f"{inner}.py", f"{inner}/__init__.py", f"{around}.py", f"{around}/__init__.py")
        found.update([name for name in names if name in KNOWN][:1])
    return found - {file}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Files that import each other, each the next; [] where there are none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_import_each_other() -> None:
    graph = {file: files_imported(file, (SOURCE / file).read_text()) for file in FILES}
    assert circle(graph) == []


def test_the_interpreter_defines_the_semantics_without_passes() -> None:
    for file in FILES:
        if file.startswith("interp/"):
            found = files_imported(file, (SOURCE / file).read_text())
            assert not {each for each in found if each.startswith(("passes/", "execution/"))}


def test_files_that_import_each_other_are_found_though_for_types_only() -> None:
    source = "if TYPE_CHECKING:\n    from treadle.ir.loop import ports"
    graph = {
        "ir/graph.py": files_imported("ir/graph.py", source),
        "ir/loop.py": files_imported("ir/loop.py", "def f():\n    from treadle.ir import graph"),
    }
    assert circle(graph)[0] in graph
