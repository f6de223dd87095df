"""Files that take the place of others when they are complete."""

import os
import stat
import threading
from pathlib import Path

import pytest

from treadle.files import replaced_file


def test_a_file_is_replaced_at_the_end(tmp_path: Path):
    path = tmp_path / "x.txt"
    path.write_text("old")
    with replaced_file(path) as draft:
        draft.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_after_an_error_the_old_file_is_there(tmp_path: Path):
    path = tmp_path / "x.txt"
    path.write_text("old")

    def write() -> None:
        with replaced_file(path) as draft:
            draft.write_text("half")
            tmp_path.write_text("not a file")

    with pytest.raises(IsADirectoryError):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.txt"]


def test_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "x.txt", tmp_path / "link"
    link.symlink_to(target)
    for text in ("one", "two"):
        with replaced_file(link) as draft:
            draft.write_text(text)
        assert link.is_symlink()
        assert target.read_text() == text


def test_a_pipe_is_written_to(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with replaced_file(pipe) as draft:
        draft.write_bytes(b"written")
    reader.join(10)
    assert found == [b"written"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
