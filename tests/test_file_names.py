"""Mechanisms are found by file names alone; the glossary names existing files."""

import re
from pathlib import Path

import pytest

import treadle

SOURCE = Path(treadle.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
PAGES = (DOCS / "glossary.md", DOCS / "native-engine.md")
LINES = [line for page in PAGES for line in page.read_text().splitlines() if ".py`" in line]

HOMES = {
    "cse": ["jit/kernel/cse.py", "passes/simplify/cse.py"],
    "licm": ["jit/kernel/licm.py", "passes/simplify/licm.py"],
    "dce": ["jit/kernel/dce.py", "passes/simplify/dce.py"],
    "fused": ["jit/codegen/fused_nest.py"],
    "disk_cache": ["jit/toolchain/disk_cache.py"],
    "thread_pool": ["jit/threads/thread_pool.py"],
    "ragged": ["jit/lowering/sequences/ragged.py", "jit/lowering/sequences/ragged_ops.py"],
    "box": ["jit/host/boxed_values.py", "jit/lowering/boxing.py"],
    "dynamic_dims": ["jit/runtime/dynamic_dims.py"],
    "cost_model": ["jit/schedule/cost_model.py"],
}
"""What a search of the file names for a word finds, and nothing else: common subexpression
elimination, loop-invariant code motion, dead code elimination, fusion, the disk cache, the thread
pool, ragged sequences, boxing of Python objects, dynamic dims, the cost model.
"""


@pytest.mark.parametrize("word", HOMES)
def test_a_mechanism_is_found_by_file_names_alone(word: str) -> None:
    files = (str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if word in file.stem)
    assert sorted(files) == HOMES[word]


@pytest.mark.parametrize("line", LINES)
def test_the_pages_name_files_that_exist(line):
    for path in re.findall(r"`([a-z_0-9/]+\.py)`", line):
        homes = (SOURCE, SOURCE / "jit", DOCS.parent)
        assert any((home / path).is_file() for home in homes), path
