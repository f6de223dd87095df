"""A process that makes machine code of kernels.

It reads pickled kernels from its standard input and answers each with the form in which the cache
keeps its code. An empty answer means that it failed; the parent then compiles the kernel itself and
meets the fault. The process ends with its input, so it does not outlive its parent.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import IO, Any

from treadle.compact_pickle import NO_FORM, CompactPickler

_NICENESS = 10
_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.stdin.buffer.readline());"
    " from treadle.jit.runtime.compiler_process import serve; serve()"
)
_WINDOWS_FLAGS = 0x0800_0000 | 0x0000_4000
"""CREATE_NO_WINDOW and BELOW_NORMAL_PRIORITY_CLASS."""


class Cancelled(Exception):
    """Nobody needs the code any more."""


@dataclass(eq=False, slots=True)
class CompilerProcess:
    """The process, started when it is first needed; `is_broken`: none can be had."""

    process: subprocess.Popen[bytes] | None = None
    is_broken: bool = False

    def compiled(
        self,
        kernel: object,
        waiting: Callable[[], AbstractContextManager[None]],
        is_cancelled: Callable[[], bool],
    ) -> bytes | None:
        """The kept form of a kernel's code; None if the process does not make it.

        It is waited for inside `waiting()`. Raises Cancelled if nobody needs the code any more.
        """
        request = _pickled(kernel)
        process = None if request is None else self._started()
        if is_cancelled():  # looked at after the start: from here on `kill` ends the process
            raise Cancelled
        if request is None or process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            with waiting():
                _write(process.stdin, request)
                return _read(process.stdout) or None
        except (OSError, EOFError, ValueError):
            self.close()
            if is_cancelled():
                raise Cancelled from None
            self.is_broken = True
            return None

    def _started(self) -> subprocess.Popen[bytes] | None:
        if self.process is None and not self.is_broken and _is_python(sys.executable):
            try:
                self.process = _start()
            except (OSError, ValueError, subprocess.SubprocessError):
                self.is_broken = True
        return self.process

    def kill(self) -> None:
        """End the process at once, from any thread."""
        process = self.process
        if process is not None:
            with contextlib.suppress(OSError):
                process.kill()

    def close(self) -> None:
        """End the process, if there is one."""
        process, self.process = self.process, None
        if process is not None:
            _end(process)

    def forget(self) -> None:
        """In a forked process: let go of the parent's process."""
        process, self.process = self.process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError, ValueError):
                    if pipe is not None:
                        pipe.close()
            process.returncode = 0


def _is_python(executable: str | None) -> bool:
    """Whether the program runs Python code that it is given: not a frozen one, or a server."""
    name = os.path.basename(executable or "").lower()
    return not getattr(sys, "frozen", False) and name.startswith(("python", "pypy"))


def _start() -> subprocess.Popen[bytes]:
    flags: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        flags = {"creationflags": _WINDOWS_FLAGS}
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        **flags,
    )  # fmt: skip
    assert process.stdin is not None
    path = [each for each in sys.path if isinstance(each, str)]  # imports ignore anything else
    try:
        process.stdin.write(json.dumps(path).encode() + b"\n")
    except BaseException:
        _end(process)
        raise
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def _pickled(kernel: object) -> bytes | None:
    buffer = io.BytesIO()
    try:
        CompactPickler(buffer, protocol=5).dump(kernel)
    except NO_FORM:
        return None
    return buffer.getvalue()


def _write(file: IO[bytes], data: bytes) -> None:
    view = memoryview(len(data).to_bytes(8, "little") + data)
    while view:
        view = view[file.write(view) :]


def _read(file: IO[bytes]) -> bytes:
    return _exactly(file, int.from_bytes(_exactly(file, 8), "little"))


def _exactly(file: IO[bytes], size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = file.read(size - len(parts))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def serve() -> None:
    """The process: answer requests until the input ends."""
    from treadle.jit.runtime.compilation import kept_form

    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb", 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    with contextlib.suppress(EOFError):
        while True:
            request = _read(requests)
            try:
                answer = kept_form(*pickle.loads(request))
            except Exception:  # noqa: BLE001  whoever asked compiles it, and raises what it meets
                answer = b""
            _write(answers, answer)
