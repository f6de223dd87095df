"""Fixtures and options of all tests: hypothesis profiles, golden files, slow tests."""

import difflib
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from tests.seeded import seeded

os.environ["TREADLE_CACHE_DIR"] = ""  # no test finds machine code that another run has kept

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

os.environ["TREADLE_DEBUG"] = "1"  # a fault of treadle itself is raised as it is

GOLDEN = Path(__file__).parent / "golden"
DOCS = Path(__file__).parents[1] / "docs"

settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=50)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("fixed")


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """The random numbers of a test: the same whichever tests ran before it."""
    return seeded(request.node.nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow", action="store_true", help="also what takes long: SLOW in conftest.py"
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/golden and the generated pages of docs",
    )
    parser.addoption(
        "--fences",
        action="store_true",
        help="tests/jit: all memory of native code lies between pages that nobody may touch",
    )


SLOW = (
    "tests/benchmarks/test_openvino_load.py",
    "tests/checks/test_hostile.py::test_two_thousand_mutated_models",
    "tests/cli/test_streams.py::test_memory_that_is_short_is_told_in_a_line",
    "tests/comparing/test_inner_windows.py::test_a_model_agrees_with_itself[jit]",
    "tests/delegate/crashes/test_contrib_nodes.py::test_some_changed_nodes_of_every_operator",
    "tests/delegate/sizes/test_temporaries.py::test_the_bound_holds_what_onnxruntime_fills[Unique]",
    "tests/html_report/test_browser.py::test_ten_thousand",
    *(f"tests/jit/codegen/loops/test_wavefront_tables.py::"
      f"test_tables_behind_a_border_and_of_other_rows[{word}" for word in ("int64", "uint8")),
    "tests/jit/codegen/steps/test_step_functions.py::test_random_programs_as_functions",
    "tests/jit/codegen/test_index_set_splitting.py::test_any_concat_is_split",
    "tests/jit/codegen/steps/test_outline.py",
    "tests/jit/codegen/test_pipeline.py::test_any_number_of_threads_gives_the_same_bits[Loops",
    "tests/jit/host/test_host_kernels.py::test_host_kernels_with_dynamic_extents",
    "tests/jit/host/test_host_kernels.py::test_half_precision",
    "tests/jit/host/test_out_of_memory.py",
    "tests/jit/runtime/test_compile_modes.py::test_a_process_forks_and_ends_while_code_is_compiled",
    *(f"tests/jit/lowering/test_element_types.py::test_native_code_agrees_with_numpy[{part}]"
      for part in ("IKL", "NOP", "QR", "S", "T-Z")),
    "tests/jit/lowering/test_host_calls_of_dynamic_shapes.py::test_any_length",
    "tests/jit/lowering/test_node_cases.py::test_native_operators_give_the_data_of_the_standard",
    "tests/jit/lowering/test_ragged_sequences.py::test_random_sequence_programs",
    "tests/jit/toolchain/test_disk_cache.py::test_processes_that_write_at_once",
    "tests/jobs/test_jobs.py::test_a_job_runs_in_bash",
    "tests/tools/test_soak.py",
)  # fmt: skip
"""Tests of three seconds and more that repeat what others hold by more data: with --slow."""


SAMPLED = (
    "tests/backend/",
    "tests/benchmarks/",
    "tests/checks/",
    "tests/delegate/",
    "tests/formats/",
    "tests/jit/",
    "tests/ops/",
    "tests/parity/",
    "tests/passes/",
    "tests/session/test_dropped.py",
)
"""Where tests with many cases run a quarter: all with --slow, or if their file is named."""
LEAST_CASES, SHARE = 6, 4


def pytest_configure(config: pytest.Config) -> None:
    """Every kernel of the process is made alike: memory one asks for, another gives back."""
    config.addinivalue_line("markers", "unfenced: looks at malloc itself; left out with --fences")
    config.addinivalue_line(
        "markers", "slow: SLOW, and cases of SAMPLED; `--slow -m slow` runs these alone"
    )
    if config.getoption("--fences"):
        from tests.jit.fenced_memory import fence_kernels

        fence_kernels()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--fences` what looks at malloc is left out: `pytest -m unfenced` runs it alone.

    So are the slow tests, unless they are asked for by `--slow` or by their own name.
    """
    named = [str(argument) for argument in config.args]
    out = set()
    if config.getoption("--fences"):
        out |= {item for item in items if item.get_closest_marker("unfenced")}
    slow = [item for item in items if item.nodeid.startswith(SLOW)]
    if not any(".py" in name for name in named):
        slow += _cases_left_out(items)
    for item in slow:
        item.add_marker("slow")
    if not (config.getoption("--slow") or any(n.partition("[")[0].startswith(SLOW) for n in named)):
        out |= set(slow)
    if out:
        config.hook.pytest_deselected(items=list(out))
        items[:] = [item for item in items if item not in out]


def _cases_left_out(items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases of tests with many that only `--slow` runs: three quarters, always the same."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.nodeid.startswith(SAMPLED):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    rest = []
    for name, found in cases.items():
        kept = min(len(found), max(LEAST_CASES, -(-len(found) // SHARE)))
        chosen = set(random.Random(name).sample(range(len(found)), kept))
        rest += [item for number, item in enumerate(found) if number not in chosen]
    return rest


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares text with `tests/golden/NAME`; `--update-golden` writes the file instead."""

    def compare(name: str, text: str) -> None:
        _compare(GOLDEN / name, text.rstrip() + "\n", request)

    return compare


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares text with `docs/NAME`; `--update-golden` writes the page anew."""

    def compare(name: str, text: str) -> None:
        _compare(DOCS / name, text, request)

    return compare


def _compare(file: Path, text: str, request: pytest.FixtureRequest) -> None:
    command = f"pytest {request.node.nodeid.split('::')[0]} --update-golden"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert file.exists(), f"no {file}: run {command} and look at what it writes"
    wanted = file.read_text(encoding="utf-8")
    difference = difflib.unified_diff(
        wanted.splitlines(), text.splitlines(), file.name, "now", lineterm=""
    )
    assert text == wanted, "\n".join([command, *difference])
