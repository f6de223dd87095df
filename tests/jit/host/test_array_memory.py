"""Memory that kernels allocate is freed, however they end."""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, outcomes
from treadle.errors import LimitExceeded
from treadle.jit import codegen
from treadle.jit.host import array_memory
from treadle.jit.host.array_memory import AdoptedBuffer, address, in_panels, words_type

pytestmark = [
    pytest.mark.unfenced,
    pytest.mark.skipif(sys.platform != "linux", reason="mallinfo2 is the GNU library's"),
]
ENDLESS = """g (float[3] p) => (float[A] a, float[N,B] s) {
  yes = Constant <value = bool {1}> ()
  a, s = Loop (, yes, p) <body = f (int64 i, bool go, float[A] x)
      => (bool on, float[C] x1, float[3] y) {
    on = Identity (go)
    most = Constant <value = int64[1] {1000}> ()
    zero = Constant <value = int64[1] {0}> ()
    front = Slice (x, zero, most)
    x1 = Concat <axis = 0> (p, front)
    y = Neg (p)
  }>
}"""
GROWING = """g (int64 n, float[A] p) => (float[B] a) {
  a = Loop (n, "", p) <body = f (int64 i, bool go, float[A] x) => (bool on, float[B] x1) {
    on = Identity (go)
    x1 = Concat <axis = 0> (x, p)
  }>
}"""


class Information(ctypes.Structure):
    """struct mallinfo2."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )]  # fmt: skip


def held() -> int:
    """The bytes that were asked for and not given back."""
    gc.collect()
    asked = ctypes.CDLL(None).mallinfo2
    asked.restype = Information
    found = asked()
    return int(found.uordblks + found.hblkhd)


def floats(size):
    return np.ones(size, np.float32)


def interrupted(session):
    timer = threading.Timer(0.02, signal.raise_signal, (signal.SIGINT,))

    def run():
        timer.start()
        session.run(None, {"p": floats(3)})

    with pytest.raises(KeyboardInterrupt):
        run()
    timer.join()


def limited(session):
    options = treadle.RunOptions()
    options.max_seconds = 0.02
    with pytest.raises(LimitExceeded):
        session.run(None, {"p": floats(3)}, options)


@pytest.mark.parametrize("stopped", [interrupted, limited])
def test_a_stopped_kernel_frees_its_memory(stopped):
    session = treadle.InferenceSession(HEAD + ENDLESS, engines=("jit", "interp"))
    limited(session)
    for _ in range(500):  # what compiles goes on
        if outcomes(session):
            break
        time.sleep(0.02)
    stopped(session)
    assert [made for made in outcomes(session) if not isinstance(made, str)]
    before = held()
    for _ in range(20):
        stopped(session)
    assert held() - before < 1_000_000


def test_polls_leak_no_memory(monkeypatch):
    monkeypatch.setattr(codegen.safepoint, "SAFEPOINT_PERIOD", 100)
    text = """g (int64 n, float x) => (float y) {
      y = Loop (n, "", x) <body = f (int64 i, bool go, float u) => (bool on, float v) {
        on = Identity (go)
        v = Cos (u)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"n": np.array(2_000_000), "x": np.float32(1)}
    session.run(None, feed)
    before = sys.getrefcount(None)
    session.run(None, feed)  # asks thousands of times, and is answered None
    assert sys.getrefcount(None) - before < 500


def test_many_runs_of_changing_lengths_hold_no_more_memory():
    session = treadle.InferenceSession(HEAD + GROWING, engines=("jit", "interp"))
    for size in range(2, 40):
        session.run(None, {"n": np.array(5), "p": floats(size)})
    growth = []
    for _ in range(3):  # what else this process does may hold memory once
        before = held()
        for count in range(1000):
            n, size = count % 7, 2 + count % 37
            (found,) = session.run(None, {"n": np.array(n), "p": floats(size)})
            assert found.shape == (size * (1 + n),)
        growth.append(held() - before)
    assert min(growth) < 100_000, growth
    assert len(outcomes(session)) == 3


LONG = """g (int64 n, float[R] p) => (float[M,R] ys, float[K,R] twice) {
  yes = Constant <value = bool {1}> ()
  ys = Loop (, yes) <body = f (int64 i, bool go) => (bool on, float[R] y) {
    one = Constant <value = int64 {1}> ()
    k = Add (i, one)
    on = Less (k, n)
    y = Add (p, p)
  }>
  twice = Concat <axis = 0> (ys, ys)
}"""


def test_large_results_own_their_memory_and_give_it_back():
    session = treadle.InferenceSession(HEAD + LONG, engines=("jit", "interp"))
    feed = {"n": np.array(3000), "p": floats(1000)}
    session.run(None, feed)
    before = held()
    found, twice = session.run(None, feed)
    size = found.nbytes + twice.nbytes
    assert size <= held() - before < 2 * size
    rest = found[-5:]
    found[:] = 7  # nobody else's
    assert (twice == 2).all()
    del found, twice
    assert (rest == 7).all()
    del rest
    assert held() - before < 1_000_000


LISTED = """g (int64 n, float[1,R] p) => (float[M,R] all) {
  empty = SequenceEmpty ()
  q = Loop (n, "", empty) <body = f (int64 i, bool go, seq(float[1,R]) u)
    => (bool on, seq(float[1,R]) v) {
    on = Identity (go)
    w = Sin (p)
    t = SequenceInsert (u, w)
    v = SequenceInsert (t, w)
  }>
  all = ConcatFromSequence <axis = 0> (q)
}"""


def test_rows_of_a_list_are_the_result():
    session = treadle.InferenceSession(HEAD + LISTED, engines=("jit", "interp"))
    feed = {"n": np.array(1500), "p": floats((1, 1000))}
    (found,) = session.run(None, feed)
    assert found.shape == (3000, 1000)
    assert np.allclose(found, np.sin(1.0))
    assert isinstance(found.base, np.ndarray)  # over the kernel's memory, nothing was copied


@pytest.mark.parametrize("shape", [(3, 8), (5, 7), (1, 17), (4, 1)])
def test_panels_hold_the_rows_of_some_columns(shape):
    matrix = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape)
    panels = in_panels(matrix, 8)
    assert panels.ctypes.data % 64 == 0
    assert panels.flags.c_contiguous
    together = np.concatenate(list(panels), axis=1)
    assert (together[:, : shape[1]] == matrix).all()
    assert not together[:, shape[1] :].any()


class _Signal:
    """Raises Ctrl-C as it is dropped, without Python code in which it would be delivered."""

    __slots__ = ("__del__",)

    def __init__(self) -> None:
        raise_ = getattr(ctypes.CDLL(None), "raise")
        self.__del__ = partial(raise_, int(signal.SIGINT))


class _Printing:
    """What was lost before: Python code as it is dropped."""

    def __del__(self) -> None:
        len("")


def _is_delivered(make):
    """Whether a Ctrl-C that waits while an object is dropped reaches the caller."""
    dropped = [make(), _Signal()]
    try:
        dropped.clear()  # from the end
    except KeyboardInterrupt:
        return True
    return False


def _lent(size):
    library = ctypes.CDLL(None)
    library.malloc.argtypes, library.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    slots = words_type(1)()
    slots[0] = library.malloc(size)
    return AdoptedBuffer(slots, 0)


@pytest.fixture
def interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_is_not_lost_as_memory_is_freed(monkeypatch):
    lost = []
    monkeypatch.setattr(sys, "unraisablehook", lambda event: lost.append(event.exc_type))
    assert _is_delivered(lambda: _lent(800).array((100,), np.dtype(np.float64)))
    assert _is_delivered(lambda: _lent(800))
    assert _is_delivered(lambda: AdoptedBuffer.__new__(AdoptedBuffer))  # before it is filled in
    assert lost == []
    assert not _is_delivered(_Printing)
    assert lost == [KeyboardInterrupt]


def test_adopted_memory_is_freed_once_with_its_last_user(monkeypatch):
    freed = []
    monkeypatch.setattr(array_memory, "_library", lambda: SimpleNamespace(free=freed.append))
    room = np.zeros(10)
    slots = words_type(2)()
    slots[1] = address(room)
    lent = AdoptedBuffer(slots, 1)
    array = lent.array((5, 2), np.dtype(np.float64))
    row = array[1]
    del lent, array
    assert freed == []
    del row
    assert [each.value for each in freed] == [address(room)]
