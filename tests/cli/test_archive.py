"""Archives of values: every kind of damage is reported as an error of treadle."""

import io
import random
import zipfile
from pathlib import Path

import click
import numpy as np
import pytest

from treadle.cli.archive import read_archive, read_array, write_archive
from treadle.cli.feeds import assignment
from treadle.errors import InputError
from treadle.ir import DType, Tensor

VALUES = {"x": np.arange(6.0).reshape(2, 3), "s": [np.ones(1), np.ones(2)], "t": np.array(["a"])}


def as_file(values, write) -> bytes:
    file = io.BytesIO()
    write(file, values)
    return file.getvalue()


def archives(folder: Path) -> list[bytes]:
    write_archive(folder / "a.npz", VALUES)
    packed = as_file({"x": VALUES["x"]}, lambda file, values: np.savez_compressed(file, **values))
    return [(folder / "a.npz").read_bytes(), packed]


def damaged(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        at = dice.randrange(len(changed))
        match dice.randrange(4):
            case 0:
                changed[at] = dice.randrange(256)
            case 1:
                changed[at] ^= 1 << dice.randrange(8)
            case 2:
                del changed[at : at + dice.choice((1, 2, 8))]
            case 3:
                changed[at:at] = dice.randbytes(2)
    return bytes(changed)


def outcome(read, *arguments) -> str:
    """ "read" or "refused"; whatever else is raised is an error of the test."""
    try:
        read(*arguments)
    except click.UsageError:
        return "refused"
    return "read"


def test_damaged_archives(tmp_path):
    dice, goods = random.Random(5), archives(tmp_path)
    file, outcomes = tmp_path / "bad.npz", set()
    for _ in range(400):
        file.write_bytes(damaged(dice.choice(goods), dice))
        outcomes.add(outcome(read_archive, file, "in:"))
    assert outcomes == {"read", "refused"}


def test_damaged_arrays(tmp_path):
    dice, good = random.Random(6), as_file(VALUES["x"], np.save)
    file, outcomes = tmp_path / "bad.npy", set()
    for _ in range(400):
        file.write_bytes(damaged(good, dice))
        outcomes.add(outcome(read_array, file))
    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ({"x.npy": b"no array"}, 'entry "x" is not an array'),
        ({"x.npy": b"\x93NUMPY\x09\x00\x00\x00"}, "cannot be read"),
        ({"x.npy": b"\x93NUMPY\x01\x00\x04\x00{1:("}, "cannot be read"),
    ],
)
def test_entries_that_are_no_arrays(entries, told, tmp_path):
    file = tmp_path / "bad.npz"
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    with pytest.raises(click.UsageError, match=told):
        read_archive(file, "in:")


def test_a_number_in_a_key_of_any_length(tmp_path):
    write_archive(tmp_path / "a.npz", {f"x[{'9' * 5000}]": np.ones(1)})
    assert list(read_archive(tmp_path / "a.npz", "in:")) == [f"x[{'9' * 5000}]"]


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5000, "[1, 2", "nan,"])
def test_a_value_that_is_not_json(value):
    with pytest.raises(click.UsageError, match="is no value for input"):
        assignment(f"x={value}", {"x": Tensor(DType.FLOAT32, (1,))})


def test_an_archive_is_not_written_to_a_device(tmp_path: Path) -> None:
    (tmp_path / "y.npz").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="not a regular file"):
        write_archive(tmp_path / "y.npz", {"y": np.zeros(2)})
