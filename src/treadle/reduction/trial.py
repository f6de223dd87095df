"""One try: writes the case to files and runs the command on them in its own process."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from treadle.reduction.candidates import Case, Feeds

MODEL, INPUTS = "model.onnx", "inputs.npz"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a command: its exit code, negative for a signal; None for a timeout."""

    code: int | None
    said: str = ""

    @property
    def words(self) -> str:
        """The outcome as text."""
        if self.code is None:
            return "did not end in time"
        if self.code < 0:
            return f"was ended by {signal.Signals(-self.code).name}"
        return f"ended with code {self.code}"

    @property
    def failed(self) -> bool:
        """Whether the command ended with a code other than 0."""
        return self.code != 0


@dataclass(frozen=True, slots=True)
class Archive:
    """Writes inputs to an .npz file, and reads them."""

    write: Callable[[Path, Feeds], None]
    read: Callable[[Path], Feeds]


def write_case(folder: Path, data: bytes, case: Case, archive: Archive) -> None:
    """Write the model and its inputs to a folder."""
    (folder / MODEL).write_bytes(data)
    archive.write(folder / INPUTS, case.feeds)


def run_command(command: str, data: bytes, case: Case, archive: Archive, seconds: float) -> Outcome:
    """Run a shell command on the case; `{model}` and `{inputs}` in it are replaced by file paths.

    Without `{model}` the path of the model is appended. Child processes are ended with it.
    """
    with tempfile.TemporaryDirectory(prefix="treadle-reduce-") as folder:
        write_case(Path(folder), data, case, archive)
        paths = {"model": Path(folder) / MODEL, "inputs": Path(folder) / INPUTS}
        return _ended(_filled(command, paths), folder, seconds)


def _filled(command: str, paths: Mapping[str, Path]) -> str:
    given = command if "{model}" in command else f"{command} {{model}}"
    for name, path in paths.items():
        given = given.replace(f"{{{name}}}", shlex.quote(str(path)))
    return given


def _ended(command: str, folder: str, seconds: float) -> Outcome:
    environment = {**os.environ, "TMPDIR": folder}
    with subprocess.Popen(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env=environment, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return Outcome(None)
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
    code = process.returncode
    # a shell reports a signal of its child as 128 plus its number
    return Outcome(128 - code if code > 128 else code, said.decode(errors="replace"))
