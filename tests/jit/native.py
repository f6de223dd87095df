"""Runs a model on the native engine and tells whether it was compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

import treadle
from tests.values import assert_same
from treadle.jit.kernel.artifact import Slot, deserialize, serialize
from treadle.jit.kernel.fingerprint import fingerprint
from treadle.jit.kernel.ir import HostCall
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.runtime.native_region import NativeRegion
from treadle.plan import FallbackRequired

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
WORDS = {
    "float32": "float", "float64": "double", "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def natives(session: treadle.InferenceSession) -> list[NativeRegion]:
    """The native regions of a session's main block."""
    regions = session.plan.main.regions
    return [region.runnable for region in regions if isinstance(region.runnable, NativeRegion)]


def outcomes(session: treadle.InferenceSession) -> list[object]:
    """What became of every signature that came: a kernel, or why there is none."""
    return [made for native in natives(session) for made in native.cache.compiled.values()]


def escapes(session: treadle.InferenceSession) -> list[str]:
    """The operators that the session's kernels call."""
    kernels = [
        made.kernel for native in natives(session) for made in native.cache.compiled.values()
    ]
    nodes = [node for kernel in kernels for node in all_nodes(kernel.main)]
    return [node.op.leaf.op for node in nodes if isinstance(node.op, HostCall)]


def check(text: str, *feeds: Mapping[str, np.ndarray], head: str = HEAD) -> list[object]:
    """Run it natively and by interp: the same answers, and native code it was; gives the last."""
    return _checked(text, feeds, head)[1]


def check_uncalled(text: str, *feeds: Mapping[str, np.ndarray], head: str = HEAD) -> None:
    """As `check`; and no operator is called."""
    session, _ = _checked(text, feeds, head)
    assert escapes(session) == []


def _checked(
    text: str, feeds: Sequence[Mapping[str, np.ndarray]], head: str
) -> tuple[treadle.InferenceSession, list[object]]:
    session = treadle.InferenceSession(head + text, engines=("jit", "interp"))
    interp = _interp(head + text)
    names = [output.name for output in session.get_outputs()]
    for feed in feeds:
        with refused_nothing():
            found = session.run(None, dict(feed))
        assert_same(found, interp.run(None, dict(feed)), names)
    made = outcomes(session)
    assert made, session.explain()
    assert not [why for why in made if isinstance(why, str)], made
    for each in made:
        assert isinstance(each, CompiledKernel)
        assert_kept(each)
    return session, found


@lru_cache(maxsize=16)
def _interp(text: str) -> treadle.InferenceSession:
    return treadle.InferenceSession(text, engines=("interp",))


def assert_kept(made: CompiledKernel) -> None:
    """The kernel has a name among those on disk, and what its slots hold can be written down."""
    assert fingerprint(made.kernel, made.exact)
    code, machine_code = deserialize(made.kernel, serialize(made.kernel, made.code, b"code"))
    assert machine_code == b"code"
    assert len(code.slots) == len(made.code.slots)
    assert all(map(same_slot, code.slots, made.code.slots))


def same_slot(one: Slot, other: Slot) -> bool:
    """Whether they hold the same; a packed constant is an array with the width of its panels."""
    firsts, seconds = (
        each.which if isinstance(each.which, tuple) else (each.which,) for each in (one, other)
    )
    return one.kind == other.kind and all(
        first is second or bool(np.array_equal(first, second))
        for first, second in zip(firsts, seconds, strict=True)
    )


@contextmanager
def refused_nothing() -> Iterator[None]:
    """No kernel is left to another engine inside."""
    call = NativeRegion.__call__

    def watched(self: NativeRegion, *given: Any) -> Any:
        try:
            return call(self, *given)
        except FallbackRequired as refused:
            raise AssertionError(f"the native engine refused it: {refused}") from refused

    NativeRegion.__call__ = watched  # type: ignore[method-assign]
    try:
        yield
    finally:
        NativeRegion.__call__ = call  # type: ignore[method-assign]


def declined(text: str, feed: Mapping[str, np.ndarray]) -> str:
    """Why it is not compiled; the answers must be interp's all the same."""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    names = [output.name for output in session.get_outputs()]
    found = session.run(None, dict(feed))
    interp = _interp(HEAD + text)
    assert_same(found, interp.run(None, dict(feed)), names)
    whys = [str(why) for why in outcomes(session)]
    reasons = [region.reason for region in session.plan.main.regions if region.engine == "interp"]
    return "; ".join([*whys, *reasons])
