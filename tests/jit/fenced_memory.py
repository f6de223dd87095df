"""Arrays of kernels and numpy between protected pages: `pytest tests/jit --fences`.

    block = page of its own figures, page that faults, the memory, page that faults

The memory ends where the page behind it begins, or begins where the page before it ends
(`fence_starts`). A read or write beyond it, or of a block that was given back, ends the process at
once. The functions are native: numpy gives memory back in the middle of anything, with an exception
on its way too, where no Python function may be called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from treadle.jit.codegen import heap_buffer
from treadle.jit.host import array_memory
from treadle.jit.toolchain import symbols

_TEXT = """
@end.mask = global i64 -1
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @mprotect(ptr, i64, i32)
declare i32 @munmap(ptr, i64)
declare ptr @memset(ptr, i32, i64)
declare ptr @memcpy(ptr, ptr, i64)

define ptr @pages(i64 %asked) {
  %none = icmp eq i64 %asked, 0
  %size = select i1 %none, i64 16, i64 %asked
  %up = add i64 %size, 4095
  %room = and i64 %up, -4096
  %length = add i64 %room, 12288
  %first = call ptr @mmap(ptr null, i64 %length, i32 0, i32 34, i32 -1, i64 0)
  %failed = icmp eq ptr %first, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %no, label %got
got:
  %data = getelementptr i8, ptr %first, i64 8192
  %a = call i32 @mprotect(ptr %first, i64 4096, i32 3)
  %b = call i32 @mprotect(ptr %data, i64 %room, i32 3)
  %both = or i32 %a, %b
  %refused = icmp ne i32 %both, 0
  br i1 %refused, label %back, label %made
made:
  %size.at = getelementptr i64, ptr %first, i64 1
  store i64 %length, ptr %first
  store i64 %size, ptr %size.at
  %left = sub i64 %room, %size
  %mask = load i64, ptr @end.mask
  %before = and i64 %left, %mask
  %place = getelementptr i8, ptr %data, i64 %before
  ret ptr %place
back:
  %gone = call i32 @munmap(ptr %first, i64 %length)
  br label %no
no:
  ret ptr null
}

define ptr @first(ptr %place) {
  %number = ptrtoint ptr %place to i64
  %page = and i64 %number, -4096
  %first = sub i64 %page, 8192
  %it = inttoptr i64 %first to ptr
  ret ptr %it
}

define ptr @give(i64 %size) {
  %place = call ptr @pages(i64 %size)
  %failed = icmp eq ptr %place, null
  br i1 %failed, label %end, label %fill
fill:
  %filled = call ptr @memset(ptr %place, i32 165, i64 %size)
  br label %end
end:
  ret ptr %place
}

define void @take(ptr %place) {
  %none = icmp eq ptr %place, null
  br i1 %none, label %end, label %some
some:
  %first = call ptr @first(ptr %place)
  %length = load i64, ptr %first
  %gone = call i32 @munmap(ptr %first, i64 %length)
  br label %end
end:
  ret void
}

define ptr @again(ptr %old, i64 %size) {
  %place = call ptr @give(i64 %size)
  %failed = icmp eq ptr %place, null
  %none = icmp eq ptr %old, null
  %nothing = or i1 %failed, %none
  br i1 %nothing, label %end, label %copy
copy:
  %first = call ptr @first(ptr %old)
  %size.at = getelementptr i64, ptr %first, i64 1
  %held = load i64, ptr %size.at
  %is_less = icmp ult i64 %held, %size
  %kept = select i1 %is_less, i64 %held, i64 %size
  %copied = call ptr @memcpy(ptr %place, ptr %old, i64 %kept)
  call void @take(ptr %old)
  br label %end
end:
  ret ptr %place
}

define ptr @array_malloc(ptr %context, i64 %size) {
  %place = call ptr @give(i64 %size)
  ret ptr %place
}
define ptr @array_calloc(ptr %context, i64 %count, i64 %each) {
  %size = mul i64 %count, %each
  %place = call ptr @pages(i64 %size)
  ret ptr %place
}
define ptr @array_realloc(ptr %context, ptr %old, i64 %size) {
  %place = call ptr @again(ptr %old, i64 %size)
  ret ptr %place
}
define void @array_free(ptr %context, ptr %place, i64 %size) {
  call void @take(ptr %place)
  ret void
}
"""
_ARRAYS = ("array_malloc", "array_calloc", "array_realloc", "array_free")
_SET_HANDLER = 304  # of numpy's table of functions


class _Handler(ctypes.Structure):
    """PyDataMem_Handler, as NEP 49 has it."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
    )


@cache
def _engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_TEXT), machine)
    engine.finalize_object()
    return engine


@cache
def _numpys() -> tuple[Any, _Handler]:
    """numpy's handler as the capsule it wants, and what lies in it."""
    handler = _Handler(b"fenced", 1, None, *map(_engine().get_function_address, _ARRAYS))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(handler), b"mem_handler", None), handler


def _set_handler(handler: Any) -> Any:
    core = np._core if hasattr(np, "_core") else np.core
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(core._multiarray_umath._ARRAY_API, None)
    address = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_SET_HANDLER]
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)(handler)


def fence_kernels() -> None:
    """Kernels that are made from now on get their memory from here, and it is never undone."""
    engine = _engine()
    symbols.SYMBOLS["page_realloc"] = engine.get_function_address("again")
    symbols.SYMBOLS["page_free"] = engine.get_function_address("take")
    heap_buffer.ALLOCATOR[:] = ["page_realloc", "page_free"]
    free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(symbols.SYMBOLS["page_free"])
    library = SimpleNamespace(free=free)
    array_memory._library = lambda: library


def fence_starts(*, starts: bool) -> None:
    """From now on blocks begin at a protected page; or end at one, as they do at first."""
    mask = ctypes.c_int64.from_address(_engine().get_global_value_address("end.mask"))
    mask.value = 0 if starts else -1


@contextmanager
def fenced_arrays() -> Iterator[None]:
    """Arrays that this thread makes inside get their memory from here, and keep it."""
    before = _set_handler(_numpys()[0])
    _usual.append(before)
    try:
        yield
    finally:
        _usual.pop()
        _set_handler(before)


_usual: list[Any] = []
"""The handlers of numpy that the fenced arrays around replaced."""


@contextmanager
def usual_arrays() -> Iterator[None]:
    """Arrays made inside have no fences, which take longer than interp needs to fill an array."""
    before = _set_handler(_usual[0]) if _usual else None
    try:
        yield
    finally:
        if before is not None:
            _set_handler(before)
