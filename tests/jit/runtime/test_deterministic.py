"""With `use_deterministic_compute` results do not depend on earlier runs."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, natives
from tests.jit.runtime.test_dynamic_dims import ATTENDED
from tests.jit.runtime.test_failed_guards import BROADCAST, LAST_OF_A_LIST, ONE, SIX
from tests.jit.runtime.test_value_specialization import TEXT as EXPANDED
from tests.seeded import floats, seeded
from treadle import delegate
from treadle.jit.runtime import kernel_cache
from treadle.jit.runtime.invoke import CompiledKernel

Feeds = dict[str, Any]


def attended(rng: np.random.Generator, batch: int, length: int) -> Feeds:
    wide = 6
    return {"n": np.array(3), "k": floats(rng, batch, length, wide),
            "m": floats(rng, batch, length), "q0": floats(rng, batch, wide)}  # fmt: skip


SUMS = """g (int64 n, float[A] x) => (float[A] last) {
  last = Loop (n, "", x) <body = f (int64 i, bool on, float[A] v) => (bool more, float[A] next) {
    more = Identity (on)
    total = ReduceSum <keepdims = 1> (v)
    little = Tanh (total)
    next = Mul (v, little)
  }>
}"""


def summed(rng: np.random.Generator, length: int) -> Feeds:
    return {"n": np.array(3), "x": floats(rng, length)}


def expanded(rng: np.random.Generator, length: int) -> Feeds:
    return {"length": np.array([length]), "x": floats(rng, 5), "n": np.array(4)}


def cases(rng: np.random.Generator) -> dict[str, tuple[str, list[Feeds]]]:
    """Models, and feeds of which every one is answered by another kernel."""
    return {
        "shapes": (ATTENDED, [attended(rng, 2, length) for length in (3, 7, 20, 7, 33)]),
        "values": (EXPANDED, [expanded(rng, length) for length in (20, 33, 47, 64, 20, 0, 3)]),
        "assumptions": (LAST_OF_A_LIST, [{"n": np.array(n)} for n in (1, 2, 5, 3, 4)]),
        "misfits": (
            BROADCAST,
            [
                {"n": np.array(2), "x": floats(rng, 6), "y": y}
                for y in (ONE, ONE, ONE, SIX, ONE, SIX)
            ],
        ),
    }


def session(text: str, *, is_deterministic: bool = True) -> treadle.InferenceSession:
    options = treadle.SessionOptions(use_deterministic_compute=is_deterministic, cache_dir="")
    return treadle.InferenceSession(HEAD + text, options, engines=("jit", "interp"))


def bits(results: list[Any]) -> list[bytes]:
    return [np.asarray(result).tobytes() for result in results]


def answers(text: str, feeds: Feeds) -> list[bytes]:
    return bits(session(text).run(None, feeds))


def paths(used: treadle.InferenceSession) -> dict[object, object]:
    """What decides which code answers: the kernels by signature, and what they assume."""
    (native,) = natives(used)
    return {
        key: made if isinstance(made, str) else made.kernel.assumes
        for key, made in native.cache.compiled.items()
    }


@pytest.mark.parametrize("name", ["shapes", "values", "assumptions", "misfits"])
def test_earlier_runs_do_not_change_an_answer(name: str, rng: np.random.Generator) -> None:
    text, feeds = cases(rng)[name]
    used = session(text)
    for each in feeds:
        fresh = session(text)
        assert bits(used.run(None, each)) == bits(fresh.run(None, each))
        ((key, made),) = paths(fresh).items()
        assert paths(used)[key] == made


def test_earlier_shapes_choose_the_code_unless_deterministic(rng: np.random.Generator) -> None:
    text, feeds = SUMS, [summed(rng, length) for length in (30, 40, 50, 60, 70)]
    used = session(text, is_deterministic=False)
    for each in feeds:
        used.run(None, each)
    (native,) = natives(used)
    assert len(native.cache.compiled) < len(feeds)


def test_threads_that_bring_other_shapes_change_no_bits(rng: np.random.Generator) -> None:
    feeds = [summed(rng, length) for length in range(30, 36)]
    wanted = [answers(SUMS, each) for each in feeds]
    used, wrong = session(SUMS), list[int]()

    def work(seed: int) -> None:
        for number in seeded(seed).integers(0, len(feeds), 100):
            if bits(used.run(None, feeds[number])) != wanted[number]:
                wrong.append(int(number))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_inputs_changed_as_they_run_change_no_later_bits(rng: np.random.Generator) -> None:
    text, feeds = cases(rng)["misfits"]
    wanted = [answers(text, each) for each in feeds]
    used, victim = session(text), {name: value.copy() for name, value in feeds[0].items()}
    is_over = threading.Event()

    def change() -> None:
        while not is_over.is_set():
            victim["n"][...], victim["y"][...] = rng.integers(0, 9), (ONE, SIX)[rng.integers(2)]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            with suppress(treadle.RunError):  # values of which one is changed already
                used.run(None, victim)
    finally:
        is_over.set()
        thread.join()
    assert [bits(used.run(None, each)) for each in feeds] == wanted


def test_the_least_used_kernel_makes_room(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(kernel_cache, "_MAX_KERNELS", 3)
    used, first = session(SUMS), summed(rng, 3)
    for length in range(4, 10):
        used.run(None, first)
        each = summed(rng, length)
        assert bits(used.run(None, each)) == answers(SUMS, each)
    (native,) = natives(used)
    assert len(native.cache.compiled) == 3
    assert all(isinstance(made, CompiledKernel) for made in native.cache.compiled.values())
    kept = [{entry[1] for entry in key} for key in native.cache.compiled]
    assert any((3,) in shapes for shapes in kept), "the one used most often stayed"
    assert not any((4,) in shapes for shapes in kept), "the oldest went"


def test_the_option_reaches_onnxruntime() -> None:
    options = treadle.SessionOptions(use_deterministic_compute=True)
    assert delegate.Options.of(options).session_options().use_deterministic_compute
