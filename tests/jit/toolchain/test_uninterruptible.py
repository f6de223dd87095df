"""Ctrl-C during compilation ends the waiting, not the compilation."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from treadle.jit.toolchain.uninterruptible import run_aside, uninterruptible


@uninterruptible
def named(fails: bool = False) -> str:
    if fails:
        raise LookupError("no such thing")
    return threading.current_thread().name


def test_results_and_exceptions_of_the_work_are_passed_on():
    assert named() == "treadle compiles"
    with pytest.raises(LookupError, match="no such thing"):
        named(fails=True)


def test_other_threads_run_the_call_themselves():
    found = []
    thread = threading.Thread(target=lambda: found.append(named()), name="mine")
    thread.start()
    thread.join()
    assert found == ["mine"]


def test_an_interrupt_ends_the_waiting_only():
    begun, ended = threading.Event(), threading.Event()

    @uninterruptible
    def work() -> None:
        begun.set()
        time.sleep(0.5)
        ended.set()

    def strike() -> None:
        begun.wait()
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=strike).start()
    with pytest.raises(KeyboardInterrupt):
        work()
    assert not ended.is_set()
    assert ended.wait(5)


def test_the_waiting_thread_polls():
    ended = threading.Event()

    def work() -> None:
        time.sleep(0.3)
        ended.set()

    def poll() -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        run_aside(work, poll)
    assert not ended.is_set()
    assert ended.wait(5)


LEFT = """
import time
from treadle.jit.toolchain.uninterruptible import run_aside as aside

def work():
    time.sleep(1)
    print("done to its end")

def poll():
    raise SystemExit

print("begun", flush=True)
aside(work, poll)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize(("strikes", "said"), [(1, "done to its end\n"), (2, "")])
def test_the_end_of_the_process_waits_once_more(strikes, said):
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", LEFT], stdout=pipe, stderr=pipe, text=True)
    with process:
        assert process.stdout.readline() == "begun\n"
        for _ in range(strikes):
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
        assert process.stdout.read() == said
    assert process.returncode == (0 if strikes == 1 else -signal.SIGINT)
