"""Children of the tools that try models end with the tool."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tools.type_rules import end_with_parent

PARENT = """
import subprocess, sys, time
from tools.type_rules import end_with_parent
command = [sys.executable, "-c", "import time; time.sleep(600)"]
print(subprocess.Popen(command, preexec_fn=end_with_parent).pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what a parent's end does elsewhere differs")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_child_ends_with_its_parent(how):
    assert callable(end_with_parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=environment
    ) as parent:
        child = int(parent.stdout.readline())
        parent.send_signal(how)
    for _ in range(200):
        if not os.path.exists(f"/proc/{child}") or _is_dead(child):
            return
        time.sleep(0.1)
    raise AssertionError("the child goes on")


def _is_dead(child):
    with open(f"/proc/{child}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"
