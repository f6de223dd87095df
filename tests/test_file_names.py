"""Where a mechanism is can be told from file names alone; the glossary names files that exist."""

import re
from pathlib import Path

import pytest

import treadle

SOURCE = Path(treadle.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
PAGES = (DOCS / "glossary.md", DOCS / "native-engine.md")
LINES = [line for page in PAGES for line in page.read_text().splitlines() if ".py`" in line]

HOMES = {
    "common subexpression elimination": "passes/simplify/cse.py",
    "loop-invariant code motion": "passes/simplify/licm.py",
    "dead code elimination": "passes/simplify/dce.py",
    "fusion": "jit/codegen/fused_nest.py",
    "the disk cache": "jit/toolchain/disk_cache.py",
    "the thread pool": "jit/threads/thread_pool.py",
    "ragged sequences": "jit/lowering/sequences/ragged.py",
    "boxing of Python objects": "jit/host/boxed_values.py",
    "dynamic dims": "jit/runtime/dynamic_dims.py",
    "the cost model": "jit/schedule/cost_model.py",
}


@pytest.mark.parametrize("mechanism", HOMES)
def test_a_mechanism_has_a_file_of_its_name(mechanism):
    assert (SOURCE / HOMES[mechanism]).is_file()


@pytest.mark.parametrize("line", LINES)
def test_the_pages_name_files_that_exist(line):
    for path in re.findall(r"`([a-z_0-9/]+\.py)`", line):
        homes = (SOURCE, SOURCE / "jit", DOCS.parent)
        assert any((home / path).is_file() for home in homes), path
