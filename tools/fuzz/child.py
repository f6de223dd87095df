"""A process that fuzzes one target with atheris until time is up or a case fails.

To instrument treadle takes half a minute. It is done once, and each child is a fork. Children alone
import onnxruntime, which starts a thread.
"""

from __future__ import annotations

import importlib
import os
import random
import resource
import tempfile
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

_BOUNDS = (
    "-timeout=30", "-rss_limit_mb=5000", "-max_len=40000", "-verbosity=1", "-print_final_stats=1",
)  # fmt: skip
_MEMORY = 6 << 30
_OWN_CHANGES = 0.8
_FAILED = 70


def instrument() -> None:
    """Import all of treadle with counters of coverage."""
    import atheris

    with atheris.instrument_imports(include=["treadle"]):
        import treadle

        for name in _modules(Path(treadle.__path__[0])):
            importlib.import_module(name)


def _modules(package: Path) -> list[str]:
    files = (path.relative_to(package.parent) for path in package.rglob("*.py"))
    names = {".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files}
    return sorted(name for name in names if not name.endswith("__main__"))


def begin(name: str, options: Sequence[str], folder: Path) -> int:
    """Fork a child that fuzzes a target, given libFuzzer's options; the child's process id.

    The cases are in `folder`/corpus, the seeds among them. The child writes `folder`/log, and its
    temporary files there.
    """
    child = os.fork()
    if not child:
        try:
            _fuzz(name, options, folder)
        except BaseException:  # noqa: BLE001 (the fork must not go on as its parent)
            traceback.print_exc()
        finally:
            os._exit(_FAILED)
    return child


def _fuzz(name: str, options: Sequence[str], folder: Path) -> None:
    import atheris

    from tools.fuzz.targets import TARGETS

    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(log, stream)
    tempfile.tempdir = str(folder)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    target = TARGETS[name]
    for number, data in enumerate(target.seeds()):
        (folder / "corpus" / f"seed-{number}").write_bytes(data)
    change = target.change

    def mutate(data: bytes, largest: int, seed: int) -> bytes:
        dice = random.Random(seed)
        if change is None or dice.random() > _OWN_CHANGES:
            return bytes(atheris.Mutate(data, largest))
        return change(data, dice)[:largest]

    arguments = ["fuzz", *_BOUNDS, *options, str(folder / "corpus")]
    atheris.Setup(arguments, target.attempt, custom_mutator=mutate)
    atheris.Fuzz()
