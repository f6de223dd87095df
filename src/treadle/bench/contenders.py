"""The contenders: treadle, one of its engines, or onnxruntime alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from treadle.arguments import names_of
from treadle.engines import ENGINES
from treadle.options import CompileMode, SessionOptions
from treadle.report import seconds_compiling
from treadle.session import InferenceSession

TREADLE = "treadle"
CONTENDERS = (TREADLE, "onnxruntime", "jit", "interp")
"""`onnxruntime` is onnxruntime alone; `jit` and `interp` are treadle with this engine first."""

Call = Callable[[Mapping[str, object]], list[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class OpenContender:
    """A loaded model: a call of it, and the seconds spent so far on compiling.

    `warm_up` is a call that waits for code compiled in the background.
    """

    call: Call
    compiling: Callable[[], float]
    warm_up: Callable[[Mapping[str, object]], None] = lambda feeds: None


def expect_contenders(names: Any) -> tuple[str, ...]:
    """Treadle and these contenders, each once; raises InputError for an unknown name."""
    return tuple(dict.fromkeys((TREADLE, *names_of(names, CONTENDERS, "against"))))


def open_contender(
    name: str, data: bytes, threads: int, compile_mode: CompileMode = "first_run"
) -> OpenContender:
    """Load the model in this contender; raises Unsupported or another TreadleError if it fails."""
    options = SessionOptions(intra_op_num_threads=threads, compile=compile_mode)
    if name == "onnxruntime":
        from treadle import delegate

        return OpenContender(delegate.baseline(data, delegate.Options.of(options)), lambda: 0.0)
    engines = {TREADLE: ENGINES, "jit": ("jit", "interp"), "interp": ("interp",)}[name]
    session = InferenceSession(data, options, engines=engines)

    def call(feeds: Mapping[str, object]) -> list[Any]:
        return session.run(None, feeds)

    return OpenContender(call, lambda: seconds_compiling(session.plan), session.warm_up)
