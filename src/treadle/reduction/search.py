"""Greedy search: the first smaller case that still fails becomes the current one.

Every try is recorded in the folder by the digest of its files, so a search that was interrupted
continues, and no case is tried twice.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from treadle import formats
from treadle.errors import InputError, TreadleError
from treadle.reduction.candidates import Case, candidates
from treadle.reduction.normal_form import normal_form
from treadle.reduction.trial import INPUTS, MODEL, Archive, Outcome, run_command, write_case
from treadle.report import plural

_TRIES, _README = "tries.jsonl", "README.md"
_PACKAGES = ("treadle", "onnx", "onnxruntime", "openvino", "torch", "numpy")
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reduced:
    """The result of a search: the smallest case, the outcome of the command, the number of tries.

    `is_done`: no smaller candidate fails; otherwise a limit was reached.
    """

    case: Case
    outcome: Outcome
    tries: int
    is_done: bool


@dataclass(slots=True)
class _Search:
    command: str
    folder: Path
    timeout: float
    deadline: float
    most_tries: int
    wanted: int | None
    known: dict[str, int | None]
    archive: Archive
    tries: int = 0

    def outcome(self, data: bytes, case: Case) -> Outcome:
        """The outcome of the command on a case; taken from the records if it was tried before."""
        key = _digest(data, case)
        if key in self.known:
            return Outcome(self.known[key])
        self.tries += 1
        found = run_command(self.command, data, case, self.archive, self.timeout)
        self.known[key] = found.code
        with (self.folder / _TRIES).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"case": key, "code": found.code}) + "\n")
        return found

    @property
    def is_over(self) -> bool:
        """Whether a limit is reached."""
        return self.tries >= self.most_tries or time.monotonic() > self.deadline


def reduce_case(
    case: Case,
    command: str,
    folder: Path,
    archive: Archive,
    *,
    timeout: float = 60.0,
    seconds: float = 600.0,
    most_tries: int = 2000,
    tell: Tell = lambda _: None,
) -> Reduced:
    """Search and write the smallest case on which a command fails as it does on this one.

    The command fails if it ends with a code other than 0, with a signal, or not within `timeout`
    seconds; a smaller case is accepted if it ends with the same code. `seconds` and `most_tries`
    limit the search. The folder always holds the smallest case so far (model.onnx, inputs.npz,
    README.md) and the record of tries: a search of the same command continues there. `tell` is
    called for every reduction. Raises InputError if the command does not fail on the case.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = normal_form(case)
    if started is None:
        raise InputError("the model itself breaks a rule; run treadle check")
    search = _Search(
        command, folder, timeout, time.monotonic() + seconds, most_tries, None, _noted(folder),
        archive,
    )  # fmt: skip
    found = search.outcome(started[1], started[0])
    if not found.failed:
        raise InputError(f"the command does not fail on the model: it {found.words}")
    search.wanted = found.code
    best = _resumed(search, started)
    while not search.is_over:
        smaller = _step(search, best, tell)
        if smaller is None:
            break
        best = smaller
        _write(search, best)
    _write(search, best)
    return Reduced(best[0], Outcome(search.wanted), search.tries, not search.is_over)


def _noted(folder: Path) -> dict[str, int | None]:
    try:
        lines = (folder / _TRIES).read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue  # the last line of a search that was killed
        found[str(told["case"])] = told["code"]
    return found


def _resumed(search: _Search, started: tuple[Case, bytes]) -> tuple[Case, bytes]:
    """The result of an earlier search in the folder, if the command fails on it too."""
    try:
        data = (search.folder / MODEL).read_bytes()
        feeds = search.archive.read(search.folder / INPUTS)
    except (OSError, ValueError, TreadleError):
        return started
    model = formats.read(data)[0]
    again = None if model is None else normal_form(Case(model, feeds))
    if again is None or search.outcome(again[1], again[0]).code != search.wanted:
        return started
    return again


def _step(search: _Search, best: tuple[Case, bytes], tell: Tell) -> tuple[Case, bytes] | None:
    """The first smaller case that still fails; None if there is none, or time is over."""
    case, _ = best
    for words, candidate in candidates(case):
        if search.is_over:
            return None
        smaller = normal_form(candidate)
        if smaller is None or not _is_smaller(smaller[0], case):
            continue
        if search.outcome(smaller[1], smaller[0]).code == search.wanted:
            steps, _, elements = smaller[0].size
            tell(f"{words}: {steps} nodes, {elements} elements fed")
            return smaller
    return None


def _is_smaller(new: Case, old: Case) -> bool:
    """Whether some part of the size shrinks and none grows, or only the weight shrinks.

    The size is the number of steps, outputs and elements.
    """
    pairs = list(zip(new.size, old.size, strict=True))
    if any(after > before for after, before in pairs):
        return False
    return any(after < before for after, before in pairs) or new.weight < old.weight


def _digest(data: bytes, case: Case) -> str:
    digest = hashlib.sha256(data)
    for name, value in sorted(case.feeds.items()):
        kind = f"{name} {getattr(value, 'dtype', '')} {getattr(value, 'shape', '')}"
        digest.update(kind.encode())
        digest.update(value.tobytes() if hasattr(value, "tobytes") else repr(value).encode())
    return digest.hexdigest()


def _write(search: _Search, best: tuple[Case, bytes]) -> None:
    """Write the case, and how to reproduce the failure."""
    case, data = best
    write_case(search.folder, data, case, search.archive)
    versions = "\n".join(f"- {name} {found}" for name in _PACKAGES if (found := _version(name)))
    steps, outputs, elements = case.size
    (search.folder / _README).write_text(
        f"""# A model on which a command fails

`model.onnx` has {plural(steps, "node")} and {plural(outputs, "output")}; `inputs.npz` feeds it
{plural(elements, "element")}.

    {search.command}

{Outcome(search.wanted).words} on it ({{model}} and {{inputs}} are the paths of the two files).

{versions}
- Python {platform.python_version()}, {platform.platform()}
""",
        encoding="utf-8",
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
