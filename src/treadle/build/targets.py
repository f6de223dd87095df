"""The machines that libraries are built for, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from treadle import jit
from treadle.errors import InputError, did_you_mean
from treadle.jit import Target

__all__ = ["TARGETS", "NamedTarget", "targets_of"]


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """A target as a user names it.

    `form` is that of its object files; `zig` is what the ziglang compiler calls it. `is_tested`:
    what is built for it is run by treadle's own tests.
    """

    name: str
    target: Target
    form: str
    zig: str
    is_tested: bool = True


_V3 = Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 32, 16, has_fma=True)
_ARM = Target("aarch64-unknown-linux-gnu", "generic", "", 16, 32, has_fma=True)
TARGETS: Mapping[str, NamedTarget] = {
    each.name: each
    for each in (
        NamedTarget("x86_64-linux", _V3, "elf", "x86_64-linux-gnu"),
        NamedTarget("aarch64-linux", _ARM, "elf", "aarch64-linux-gnu"),
        NamedTarget(
            "wasm32",
            Target(
                "wasm32-unknown-unknown", "generic", "+simd128,+nontrapping-fptoint,+sign-ext",
                16, 16, has_fma=False, pointer_bytes=4, relocation="static",
            ),
            "wasm", "wasm32-freestanding",
        ),
        NamedTarget(
            "riscv64-linux",
            Target(
                "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", 16, 32,
                has_fma=True,
            ),
            "elf", "riscv64-linux-gnu", is_tested=False,
        ),
        NamedTarget(
            "x86_64-windows", replace(_V3, triple="x86_64-pc-windows-msvc"),
            "coff", "x86_64-windows-gnu", is_tested=False,
        ),
        NamedTarget(
            "aarch64-macos",
            replace(_ARM, triple="arm64-apple-macosx11.0.0", processor="apple-m1"),
            "macho", "aarch64-macos", is_tested=False,
        ),
    )
}  # fmt: skip
"""By name; what is no x86-64 is made for the smallest processor of its kind."""

_LEVELS: Mapping[str, tuple[str, int, int, bool, bool]] = {
    "v2": ("x86-64-v2", 16, 16, False, False),
    "v3": ("x86-64-v3", 32, 16, True, False),
    "v4": ("x86-64-v4", 64, 32, True, True),
}
"""LLVM's name, bytes of a vector, number of vectors, FMA, products with powers of two."""
HOST, NATIVE = "host", "native"


def targets_of(names: tuple[str, ...], cpu: str | None) -> list[NamedTarget]:
    """The targets of these names, for a processor; raises InputError for what is not known."""
    if not names:
        raise InputError(f"targets is empty, wanted at least one of {_known()}")
    return list({named.name: named for named in (_target(name, cpu) for name in names)}.values())


def _known() -> str:
    return ", ".join((HOST, *TARGETS))


def _target(name: str, cpu: str | None) -> NamedTarget:
    host = jit.host_target()
    wanted = host_name(host.triple) if name == HOST else name
    if wanted not in TARGETS:
        hint = did_you_mean(wanted, TARGETS)
        raise InputError(f'no target is called "{wanted}"; known: {_known()}{hint}')
    named = TARGETS[wanted]
    if cpu is None:
        return named
    if cpu == NATIVE:
        if wanted != host_name(host.triple):
            raise InputError(f'cpu="native" is the processor of this machine, no {wanted}')
        own = replace(host, code_model="default", relocation="pic")
        return replace(named, target=own)
    return replace(named, target=_of_level(named, cpu))


def _of_level(named: NamedTarget, cpu: str) -> Target:
    if not named.target.triple.startswith("x86_64"):
        raise InputError(f'cpu is "{cpu}", which {named.name} does not have: leave cpu out')
    if cpu not in _LEVELS:
        raise InputError(f'cpu is "{cpu}", known: {", ".join((*_LEVELS, NATIVE))}')
    processor, width, registers, has_fma, has_scale = _LEVELS[cpu]
    return replace(
        named.target, processor=processor, vector_bytes=width, registers=registers,
        has_fma=has_fma, has_scale=has_scale,
    )  # fmt: skip


def host_name(triple: str) -> str:
    """The name of the target that this machine is; its triple where there is none."""
    machine, _, rest = triple.partition("-")
    systems = {"linux": "linux", "windows": "windows", "darwin": "macos", "macosx": "macos"}
    machine = {"arm64": "aarch64"}.get(machine, machine)
    system = next((name for word, name in systems.items() if word in rest), rest)
    return f"{machine}-{system}"
