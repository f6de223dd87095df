"""Calls a built C library in this process, through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

COMPILER = shutil.which("cc")
GROW = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
POLL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, PART, ctypes.c_void_p, ctypes.c_int64)
DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
    9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
    16: ml_dtypes.bfloat16,
}  # fmt: skip
NUMBERS = {np.dtype(dtype): number for number, dtype in DTYPES.items()}


class Tensor(ctypes.Structure):
    """treadle_tensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
    )


class Run(ctypes.Structure):
    """treadle_run."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("workspace", ctypes.c_void_p),
        ("grow", GROW),
        ("poll", POLL),
        ("share", SHARE),
        ("user", ctypes.c_void_p),
        ("iterations", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
    )


@dataclass(eq=False)
class Memory:
    """A `grow` that counts; it fails from the request of number `fails` on."""

    fails: int = 2**30
    asked: int = 0
    held: dict[int, Any] = field(default_factory=dict)

    def __call__(self, user: int, memory: int | None, size: int) -> int | None:
        if not size:
            del self.held[memory]
            return None
        self.asked += 1
        if self.asked > self.fails:
            return None
        room = ctypes.create_string_buffer(size)
        self.held[ctypes.addressof(room)] = room
        return ctypes.addressof(room)


def shared_library(archive: Path, *flags: str) -> Path:
    """The shared library of an archive, by the machine's compiler."""
    path = archive.with_suffix(".so")
    command = [str(COMPILER), "-shared", "-o", str(path), "-Wl,--whole-archive", str(archive),
               "-Wl,--no-whole-archive", *flags, "-lm"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return path


class Loaded:
    """The functions of a library."""

    def __init__(self, path: Path, name: str) -> None:
        self.library = ctypes.CDLL(str(path))
        for word, kind in (
            ("abi", ctypes.c_int32),
            ("describe", ctypes.c_char_p),
            ("shapes", ctypes.c_int32),
            ("workspace", ctypes.c_size_t),
            ("run", ctypes.c_int32),
        ):
            function = getattr(self.library, f"{name}_{word}")
            function.restype = kind
            setattr(self, word, function)
        self.library.treadle_reason.restype = ctypes.c_char_p

    def reason(self, status: int) -> str:
        """What a status says."""
        return self.library.treadle_reason(status).decode()

    def call(
        self,
        arrays: Sequence[np.ndarray],
        outputs: int,
        *,
        memory: Memory | None = None,
        poll: Callable[[Any], int] | None = None,
        share: Callable[..., None] | None = None,
        iterations: int = 0,
        bytes_: int = 0,
    ) -> tuple[int, list[np.ndarray]]:
        """The status of a run, and its outputs."""
        given, _keep = tensors(arrays)
        made = (Tensor * max(outputs, 1))()
        shapes = [(ctypes.c_int64 * 32)() for _ in range(outputs)]
        for tensor, shape in zip(made, shapes, strict=False):
            tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
        status = self.shapes(given, made)
        if status:
            return status, []
        rooms = [room_of(tensor) for tensor in made[:outputs]]
        for tensor, room in zip(made, rooms, strict=False):
            tensor.data = None if room is None else room.ctypes.data
        memory = memory or Memory()
        run = Run(ctypes.sizeof(Run), iterations=iterations, bytes=bytes_, grow=GROW(memory))
        if poll is not None:
            run.poll = POLL(poll)
        if share is not None:
            run.share = SHARE(share)
        size = self.workspace(given)
        workspace = ctypes.create_string_buffer(size) if size else None
        run.workspace = ctypes.addressof(workspace) if workspace else None
        status = self.run(given, made, ctypes.byref(run))
        if status:
            assert not memory.held, "memory is held after an error"
            return status, []
        return 0, [taken(tensor, room) for tensor, room in zip(made, rooms, strict=False)]


def tensors(arrays: Sequence[np.ndarray]) -> tuple[Any, list[Any]]:
    """The arrays as tensors, and what keeps them alive."""
    made, keep = (Tensor * max(len(arrays), 1))(), []
    for tensor, array in zip(made, arrays, strict=False):
        own = np.ascontiguousarray(array).reshape(array.shape)
        shape = (ctypes.c_int64 * max(own.ndim, 1))(*own.shape)
        keep += [own, shape]
        tensor.data, tensor.rank, tensor.dtype = own.ctypes.data, own.ndim, NUMBERS[own.dtype]
        tensor.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_int64))
    return made, keep


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape[axis] for axis in range(tensor.rank))


def room_of(tensor: Tensor) -> np.ndarray | None:
    """Memory for an output whose shape is known."""
    shape = _shape(tensor)
    return None if -1 in shape else np.empty(shape, DTYPES[tensor.dtype])


def taken(tensor: Tensor, room: np.ndarray | None) -> np.ndarray:
    """An output, copied from memory that `grow` gave."""
    if room is not None:
        return room
    made = np.empty(_shape(tensor), DTYPES[tensor.dtype])
    ctypes.memmove(made.ctypes.data, tensor.data, made.nbytes)
    return made
