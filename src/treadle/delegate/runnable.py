"""A region made ready: one onnxruntime session, and how a call of it goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from treadle.delegate.watch import Watch, watched
from treadle.errors import RunError
from treadle.plan import Refused, RunContext

_NOISE = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : |/?\S*\.(?:cc|h):\d+ ")


@dataclass(frozen=True, slots=True)
class Session:
    """The Runnable of a region. `run` is the session's own, `inputs` and `outputs` its names.

    `is_brief`: it ends soon by itself, so that Ctrl-C may wait for it, as it does in onnxruntime.
    Watching a run costs 4 microseconds.
    """

    path: str
    run: Callable[[Sequence[str], dict[str, object], Any], Sequence[object]]
    options: Callable[[], Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    is_brief: bool = False

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """Run it; Refused where onnxruntime fails, so that interp says where and why, or succeeds.

        A Ctrl-C whose handler does not raise leaves the run to be done again: it has no effects.
        """
        feed = dict(zip(self.inputs, inputs, strict=True))
        if self.is_brief and context.options is None and context.limits.seconds is None:
            return self._unwatched(feed)
        while True:
            watch = Watch(self.options(), context)
            try:
                return watched(partial(self.run, self.outputs, feed, watch.options), watch)
            except Exception as failure:  # the border to onnxruntime
                context.poll(self.path)
                if not watch.stopped_by_signal:
                    raise Refused(RunError(reason(failure), self.path)) from failure

    def _unwatched(self, feed: dict[str, object]) -> Sequence[object]:
        try:
            return self.run(self.outputs, feed, None)
        except Exception as failure:  # the border to onnxruntime
            raise Refused(RunError(reason(failure), self.path)) from failure


def reason(failure: Exception) -> str:
    """What onnxruntime says, without its file names, line numbers and codes."""
    text = " ".join(_NOISE.sub("", str(failure)).split())
    return f"onnxruntime: {text}"
