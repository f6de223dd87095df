"""Runs OpenVINO in another process, which may crash or hang.

It is the one of this Python, or of the Python that the variable TREADLE_OPENVINO_PYTHON names.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SERVER = Path(__file__).parent / "oracle_server.py"
PATIENCE = 60.0
LARGEST = 2**24
"""OpenVINO compares i32, and takes their remainders, as float32: whole numbers stay below this."""

Answer = dict[str, np.ndarray] | str


def _python() -> str:
    return os.environ.get("TREADLE_OPENVINO_PYTHON", sys.executable)


@cache
def why_not() -> str:
    """Why there is no oracle; empty where there is one."""
    probe = [_python(), "-c", "import openvino"]
    found = subprocess.run(probe, capture_output=True, text=True, check=False)
    if found.returncode == 0:
        return ""
    reason = (found.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    return f"no OpenVINO to ask, pip install '.[openvino]': {reason}"


class Oracle:
    """Asks OpenVINO, and starts it anew after it crashed or was stopped for taking too long."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.version = ""

    def ask(
        self,
        model: Path,
        feeds: Sequence[Mapping[str, np.ndarray]],
        *,
        keep: bool = False,
        patience: float = PATIENCE,
    ) -> list[Answer]:
        """What OpenVINO gives for each feed: outputs by name, or why there are none."""
        process = self._started()
        asked = {"model": str(model), "feeds": [dict(feed) for feed in feeds], "keep": keep}
        try:
            assert process.stdin is not None
            pickle.dump(asked, process.stdin)
            process.stdin.flush()
            answers: list[Answer] = self._answer(patience)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            return [f"OpenVINO crashed: exit status {process.wait()}"] * len(feeds)
        except TimeoutError:
            return [f"OpenVINO gave no answer in {patience} seconds"] * len(feeds)
        return answers

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                [_python(), str(SERVER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self.version = self._answer(PATIENCE)
        return self._process

    def _answer(self, patience: float) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], patience)
        if not ready:
            self.close()
            raise TimeoutError
        return pickle.load(self._process.stdout)

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self._process = None
