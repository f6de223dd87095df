"""Links archives to shared libraries and WebAssembly modules, with a linker of the machine.

The machine's own `cc` links for the machine; the ziglang package (`pip install treadle[build]`),
which brings LLVM's linkers, for every target. Nothing is downloaded.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from treadle import jit
from treadle.build.targets import NamedTarget, host_name
from treadle.errors import ConfigurationError

__all__ = ["expect_linker", "link", "linked_name", "operators_command", "run_tool"]

_WORDS = ("abi", "describe", "shapes", "workspace", "run")
_STACK = 1 << 20
"""The stack size of a WebAssembly module in bytes."""


@dataclass(frozen=True, slots=True)
class _Job:
    """One linker run: the archive, the output file, other inputs, and the exported names."""

    archive: Path
    output: Path
    others: tuple[Path, ...]
    exports: tuple[str, ...]
    named: NamedTarget


def linked_name(name: str, named: NamedTarget) -> str:
    """The path of the linked file below the folder."""
    file = {
        "elf": f"lib{name}.so",
        "wasm": f"{name}.wasm",
        "coff": f"{name}.dll",
        "macho": f"lib{name}.dylib",
    }[named.form]
    return f"{named.name}/{file}"


def expect_linker(named: NamedTarget) -> None:
    """Raise ConfigurationError if no linker for a target is installed."""
    if _cc(named) is None and not _has_zig():
        raise ConfigurationError(
            f"no linker for {named.name} is installed: install the linker that treadle's extra "
            "brings"
            f" (pip install 'treadle[build]'), or leave link=True out and link the archive yourself"
        )


def link(name: str, named: NamedTarget, folder: Path) -> Path:
    """Link the archive to a shared library beside it; raises ConfigurationError."""
    archive = folder / named.name / f"lib{name}.a"
    output = folder / linked_name(name, named)
    exports = (*(f"{name}_{word}" for word in _WORDS), "treadle_reason")
    others: tuple[Path, ...] = ()
    if named.form == "wasm":
        memory = folder / named.name / ".memory.o"
        memory.write_bytes(jit.memory_object(named.target))
        others, exports = (memory,), (*exports, "realloc", "free")
    if named.form == "coff":
        floats = folder / named.name / ".floats.o"
        floats.write_bytes(jit.float_object(named.target))
        others = (floats,)
    job = _Job(archive, output, others, exports, named)
    compiler = _cc(named)
    command = _by_cc(compiler, job) if compiler else _BY_ZIG[named.form](job)
    try:
        run_tool(command)
    finally:
        for path in others:
            path.unlink()
    if named.form == "wasm":
        output.with_suffix(".mjs").write_bytes(module_script(name))
    return output


def module_script(name: str) -> bytes:
    """The JavaScript module that loads a WebAssembly module and calls it."""
    text = files("treadle.build").joinpath("library.mjs").read_text(encoding="utf-8")
    return text.replace("NAME", name).encode()


def run_tool(command: Sequence[str]) -> None:
    """Run a compiler or a linker; raises ConfigurationError with its output."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ConfigurationError(f"{command[0]} cannot be run: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise ConfigurationError(f"{Path(command[0]).name} failed:\n{said[:2000]}")


def operators_command(
    named: NamedTarget, folder: Path, source: str, archive: str, output: str
) -> list[str]:
    """The command that compiles a C source and links it with an archive."""
    compiler = _cc(named)
    first = [compiler] if compiler else zig("cc", "-target", named.zig)
    hidden = [] if named.form != "elf" else ["-Wl,--exclude-libs,ALL", "-Wl,--build-id=none"]
    return [
        *first, "-std=gnu99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-I", str(folder),
        str(folder / source), str(folder / archive), *hidden, "-lm", "-o", str(folder / output),
    ]  # fmt: skip


def _cc(named: NamedTarget) -> str | None:
    """The machine's own compiler, if it links for the target."""
    is_host = named.name == host_name(jit.host_target().triple)
    return shutil.which("cc") if is_host and named.form in ("elf", "macho") else None


def _has_zig() -> bool:
    return find_spec("ziglang") is not None


def zig(*arguments: str) -> list[str]:
    """A command of the ziglang package."""
    return [sys.executable, "-m", "ziglang", *arguments]


def _by_cc(compiler: str, job: _Job) -> list[str]:
    if job.named.form == "macho":
        whole = [f"-Wl,-force_load,{job.archive}"]
    else:
        whole = ["-Wl,--whole-archive", str(job.archive), "-Wl,--no-whole-archive"]
        whole += ["-Wl,--build-id=none", "-Wl,--as-needed"]
    return [compiler, "-shared", "-o", str(job.output), *whole, "-lm"]


def _elf_by_zig(job: _Job) -> list[str]:
    return zig(
        "ld.lld", "-shared", "--build-id=none", "--hash-style=gnu", "-o", str(job.output),
        "--whole-archive", str(job.archive),
    )  # fmt: skip


def _wasm_by_zig(job: _Job) -> list[str]:
    return zig(
        "wasm-ld", "--no-entry", "--import-undefined", "--strip-all", "-z", f"stack-size={_STACK}",
        *(f"--export={name}" for name in job.exports), "-o", str(job.output), str(job.archive),
        *map(str, job.others),
    )  # fmt: skip


def _other_by_zig(job: _Job) -> list[str]:
    return zig(
        "cc", "-target", job.named.zig, "-shared", "-o", str(job.output),
        "-Wl,--whole-archive", str(job.archive), "-Wl,--no-whole-archive", *map(str, job.others),
    )  # fmt: skip


_BY_ZIG: Mapping[str, Callable[[_Job], list[str]]] = {
    "elf": _elf_by_zig,
    "wasm": _wasm_by_zig,
    "coff": _other_by_zig,
    "macho": _other_by_zig,
}
