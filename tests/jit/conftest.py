"""Every test of native code starts with empty caches, and links the code it compiles."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.jit.fenced_memory import fenced_arrays, usual_arrays
from tests.jit.fences import fenced
from treadle import InferenceSession
from treadle.jit.kernel.target import Target
from treadle.jit.runtime import compilation
from treadle.jit.toolchain import llvm, symbols
from treadle.report import engine_counts


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    compilation._recent.clear()


@pytest.fixture(autouse=True)
def _linked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a linker it knows all that the emitter writes."""
    by_llvm = llvm._placed_by_llvm

    def placed(data: bytes, names: Sequence[str]) -> tuple[Mapping[str, int], Any]:
        assert not symbols.is_possible(), "the linker of jit/toolchain/elf_loader must learn this"
        return by_llvm(data, names)

    monkeypatch.setattr(llvm, "_placed_by_llvm", placed)


@pytest.fixture(autouse=True)
def _fenced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """With `--fences` every array, workspace and list ends where a page begins to fault.

    But those of sessions without native code, which only say what native code must answer.
    """
    if not request.config.getoption("--fences"):
        yield
        return
    run = InferenceSession.run

    def run_with_fences(session: InferenceSession, *args: Any, **kwargs: Any) -> Any:
        if "jit" in engine_counts(session.plan):
            return run(session, *args, **kwargs)
        with usual_arrays():
            return run(session, *args, **kwargs)

    monkeypatch.setattr(InferenceSession, "run", run_with_fences)
    with fenced_arrays():
        yield


@pytest.fixture
def fences() -> Iterator[None]:
    """Whatever the test's kernels allocate ends at a page that nobody may touch."""
    with fenced():
        yield


@pytest.fixture
def avx2(monkeypatch: pytest.MonkeyPatch) -> Target:
    """Code is made for a processor with vectors of 32 bytes."""
    features = llvm._llvm().get_host_cpu_features()
    if not (features.get("avx2") and features.get("fma")):
        pytest.skip("a processor without AVX2")
    target = replace(
        llvm.host_target(), processor="haswell", features="", vector_bytes=32, registers=16,
        has_scale=False,
    )  # fmt: skip
    monkeypatch.setattr(llvm, "host_target", lambda: target)
    return target
