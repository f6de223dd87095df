"""Children of the tools that try models end with the tool."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tools.fatal_models import end_with_parent

PARENT = """
import subprocess, sys, time
from tools.fatal_models import end_with_parent
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


TOOL = """
import os, time
from tools.fatal_models import Trial, note, run

def attempt(name, model):
    if model == 1:
        note("1 was seen")
    if model == 3:
        os.abort()
    return "wrong" if model == 5 else ""

def models():
    return ((f"Add-{k} x" if k % 2 else f"Sub-{k} x", k) for k in range(8))

run(Trial("own_tool", "A tool.", models, attempt))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="children have limits of Linux")
@pytest.mark.parametrize(
    ("arguments", "lines", "status"),
    [
        ((), ["note: 1 was seen", "ends with -6: 3 Add-3 x", "fault: 5 Add-5 x: wrong",
              "1 models end or hang the process, 1 have another fault"], 1),
        (("--only", "Sub"), ["0 models end or hang the process, 0 have another fault"], 0),
        (("--every", "5"), ["fault: 5 Add-5 x: wrong",
                            "0 models end or hang the process, 1 have another fault"], 1),
    ],
)  # fmt: skip
def test_a_tool_goes_on_where_a_child_ends(tmp_path, arguments, lines, status):
    (tmp_path / "own_tool.py").write_text(TOOL)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "own_tool", *arguments],
        stdout=subprocess.PIPE, env=environment, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == lines
    assert done.returncode == status
