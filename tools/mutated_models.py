"""Checks mutated models: every file gives findings, a Model or a LoadError.

    python -m tools.mutated_models --count 20000

makes this number of models (bytes, protobuf fields, text in turn) from the edge cases and the
exporters' models, and checks, loads and repairs each in a child process. It prints every one that
crashed, took over 5 s or raised something that is not ours; `--only N` runs one of them here.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import random
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import onnx
import onnx.printer
from google.protobuf.message import Message

import treadle
from tests.conformance.data import EXPORTED, edges, exported
from treadle.checks import RUNTIMES, examples, whole
from treadle.errors import Finding, TreadleError
from treadle.formats import onnx as files
from treadle.formats.onnx.source import open_source

LONGEST = 5.0
_XML = ("<net", "<?xml")
_LARGEST = 60_000
_MEMORY = 6 << 30
_CHUNK = 250
_NUMBERS = (0, 1, -1, 2, 3, 7, 127, 255, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63), 2**63 - 1)
_WORDS = (
    "", "x", "If", "Loop", "Scan", "body", "then_branch", "else_branch", "Identity", "Concat",
    "SequenceInsert", "local", "ai.onnx.ml", "Constant", "value", "axis", "\x00", "ü", "\\",
)  # fmt: skip
_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_][\w.]*|-?\d+(?:\.\d+)?|\s+|.', re.DOTALL)


REFERENCES = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
g (float x) => (y) { y = local.f <axis = 0, count = 3> (x) }
<domain: "local", opset_import: ["" : 21]>
f <axis, count> (a) => (b) {
  c = Constant <value_int: int = @count> ()
  s = Constant <value_ints = [0]> ()
  d = Concat <axis: int = @axis> (s, s)
  e = Cast <to: int = @count> (d)
  n = Loop (c, "", a) <body = bb (int64 i, bool q, float z) => (q, w) { w = Relu (z) }>
  b = Identity (n)
}
"""
"""Attributes of nodes that are those of the function they are in."""


class Trouble(NamedTuple):
    """A mutated model that something went wrong with."""

    number: int
    what: str


@functools.cache
def protos() -> Sequence[bytes]:
    """The models that are mutated, as files."""
    sources: list[object] = [edge.source for edge in edges().values()]
    sources += [exported(name)[0] for name in EXPORTED]
    sources += [text for text in map(whole, _goods()) if not text.startswith(_XML)]
    sources.append(REFERENCES)
    files = [open_source(source).proto.SerializeToString() for source in sources]
    return [data for data in files if len(data) < _LARGEST]


@functools.cache
def texts() -> Sequence[str]:
    """The same as texts."""
    written = [edge.source for edge in edges().values() if isinstance(edge.source, str)]
    printed = [onnx.printer.to_text(onnx.ModelProto.FromString(data)) for data in protos()[::4]]
    bad = [whole(example.bad) for example in examples().values()]
    return [*written, *printed, *(text for text in bad if not text.startswith(_XML))]


def _goods() -> list[str]:
    return [example.good for example in examples().values()]


def mutated_bytes(dice: random.Random) -> bytes:
    """A file with bytes changed, cut out, put in, or the rest cut off."""
    data = bytearray(dice.choice(protos()))
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        at = dice.randrange(len(data) + 1)
        match dice.randrange(5):
            case 0:
                data[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del data[at : at + dice.choice((1, 2, 8, 64))]
            case 2:
                data[at:at] = bytes(dice.randrange(256) for _ in range(dice.choice((1, 2, 8))))
            case 3:
                other = dice.choice(protos())
                start = dice.randrange(len(other))
                data[at:at] = other[start : start + dice.choice((2, 16, 200))]
            case 4 if at < len(data):
                data[at] ^= 1 << dice.randrange(8)
    return bytes(data[: dice.randrange(len(data) + 1)] if dice.random() < 0.1 else data)


def mutated_fields(dice: random.Random) -> onnx.ModelProto:
    """A message with fields changed, repeated, removed, or exchanged."""
    return change_fields(dice, onnx.ModelProto.FromString(dice.choice(protos())))


def change_fields(dice: random.Random, model: onnx.ModelProto) -> onnx.ModelProto:
    """The model itself, fields of which are changed, repeated, removed, or those of others."""
    for _ in range(dice.choice((1, 1, 2, 4, 12))):
        messages = list(_messages(model))
        message = dice.choice(messages)
        fields = list(message.DESCRIPTOR.fields)
        set_ = [field for field, _ in message.ListFields()]
        field = dice.choice(set_ if set_ and dice.random() < 0.8 else fields)
        if _is_many(field):
            _change_many(dice, message, field, messages)
        else:
            _change_one(dice, message, field, messages)
    return model


def _messages(message: Message) -> Iterator[Message]:
    pending = [message]
    while pending:
        each = pending.pop()
        yield each
        for field, value in each.ListFields():
            if field.message_type is not None:
                pending += list(value) if _is_many(field) else [value]


def _is_many(field: Any) -> bool:
    return bool(field.is_repeated)


def _change_many(
    dice: random.Random, message: Message, field: Any, messages: Sequence[Message]
) -> None:
    items = getattr(message, field.name)
    at = dice.randrange(len(items)) if items else 0
    action = dice.randrange(4)
    if action == 0 and items:
        del items[at]
    elif field.message_type is not None:
        same = [m for m in messages if m.DESCRIPTOR is field.message_type]
        if same:
            copy = type(same[0])()
            copy.CopyFrom(dice.choice(same))
            items.append(copy)
    elif action == 1 and len(items) > 1:
        items[at], items[0] = items[0], items[at]
    elif action == 2 and items:
        items[at] = _scalar(dice, field, items[at])
    else:
        items.append(dice.choice(list(items)) if items else _scalar(dice, field, None))


def _change_one(
    dice: random.Random, message: Message, field: Any, messages: Sequence[Message]
) -> None:
    if dice.random() < 0.2:
        message.ClearField(field.name)
    elif field.message_type is None:
        setattr(message, field.name, _scalar(dice, field, getattr(message, field.name)))
    else:
        same = [m for m in messages if m.DESCRIPTOR is field.message_type]
        if same:
            copy = type(same[0])()
            copy.CopyFrom(dice.choice(same))
            getattr(message, field.name).CopyFrom(copy)


def _scalar(dice: random.Random, field: Any, old: Any) -> Any:
    if field.type == field.TYPE_STRING:
        return dice.choice([*_WORDS, *_names(), str(old or "") + "x"])
    if field.type == field.TYPE_BYTES:
        return dice.choice([b"", b"\x00", b"\xff" * 9, bytes(old or b"")[:-1]])
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return dice.choice([0.0, -1.0, float("nan"), float("inf"), 1e30])
    if field.type == field.TYPE_ENUM:
        return dice.choice([value.number for value in field.enum_type.values])
    number = dice.choice(_NUMBERS)
    if field.type in (field.TYPE_INT32, field.TYPE_UINT32):
        number = max(min(number, 2**31 - 1), 0 if field.type == field.TYPE_UINT32 else -(2**31))
    return abs(number) if field.type == field.TYPE_UINT64 else number


@functools.cache
def _names() -> Sequence[str]:
    return ("M", "C", "s0", "s", "i", "c", "x", "y", "ys", "so", "a", "b")


def mutated_text(dice: random.Random) -> str:
    """A text with tokens removed, repeated, exchanged, or overwritten by others."""
    return change_tokens(dice, dice.choice(texts()))


def change_tokens(dice: random.Random, text: str) -> str:
    """The text with tokens removed, repeated, exchanged, or overwritten by others."""
    tokens = _TOKENS.findall(text) or [""]
    for _ in range(dice.choice((1, 1, 2, 4, 12))):
        at, other = dice.randrange(len(tokens)), dice.randrange(len(tokens))
        match dice.randrange(6):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= 2
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = tokens[other]
            case 4:
                tokens[at] = dice.choice([*_WORDS, *_names(), *map(str, _NUMBERS)])
            case 5:
                part = tokens[min(at, other) : max(at, other)][:200]
                tokens[at:at] = part
    return "".join(tokens) + "\n"


KINDS: tuple[Callable[[random.Random], object], ...] = (mutated_bytes, mutated_fields, mutated_text)


def source_of(number: int) -> object:
    """The mutated model of a number: the same each time."""
    return KINDS[number % len(KINDS)](random.Random(number))


def trouble_of(number: int) -> str:
    """What goes wrong with a mutated model; "" where nothing does."""
    try:
        source = source_of(number)
    except ValueError:  # protobuf refuses the value itself
        return ""
    begun = time.monotonic()
    wrong = _outcome(source)
    took = time.monotonic() - begun
    return wrong or (f"took {took:.1f} s" if took > LONGEST else "")


def _outcome(source: object) -> str:
    try:
        found = treadle.check(source, portable=RUNTIMES)
        assert all(isinstance(each, Finding) for each in found)
        model, _ = treadle.repair(source, portable=RUNTIMES)
        treadle.infer(model)
        assert treadle.check(files.to_bytes(model)) is not None
    except TreadleError:
        return ""
    except Exception:  # noqa: BLE001  what is not ours is what is looked for
        return traceback.format_exc(limit=-3)
    return ""


def _work(numbers: Sequence[int], at: Any, results: Any) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    warnings.simplefilter("error")
    for number in numbers:
        at.value = number
        wrong = trouble_of(number)
        if wrong:
            results.put(Trouble(number, wrong))
    at.value = -1


def fuzz(numbers: Sequence[int]) -> list[Trouble]:
    """What goes wrong with the mutated models of these numbers, each in a child process."""
    forks = multiprocessing.get_context("fork")
    left, found = list(numbers), list[Trouble]()
    protos(), texts()
    while left:
        chunk, at, results = left[:_CHUNK], forks.Value("q", left[0]), forks.Queue()
        child = forks.Process(target=_work, args=(chunk, at, results))
        child.start()
        stuck = _watch(child, at)
        while not results.empty():
            found.append(results.get(timeout=1))
        if at.value == -1:
            left = left[len(chunk) :]
            continue
        found.append(Trouble(at.value, stuck or f"a crash, exit code {child.exitcode}"))
        left = left[left.index(at.value) + 1 :]
    return found


def _watch(child: Any, at: Any) -> str:
    """Wait for the child; kill it if one model takes far too long."""
    seen, since = at.value, time.monotonic()
    while child.is_alive():
        child.join(0.05)
        if at.value != seen:
            seen, since = at.value, time.monotonic()
        elif time.monotonic() - since > 4 * LONGEST:
            child.kill()
            child.join()
            return f"no answer in {4 * LONGEST:.0f} s"
    return ""


def main() -> int:
    """Run the fuzzer as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    if given.only is not None:
        print(trouble_of(given.only) or "nothing goes wrong")
        return 0
    found = fuzz(range(given.start, given.start + given.count))
    for trouble in found:
        print(f"{trouble.number}: {trouble.what}\n")
    print(f"{given.count} models, {len(found)} with trouble")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
