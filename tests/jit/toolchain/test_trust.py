"""The disk cache runs no file that other users could have written, and waits for none."""

import os
import stat

import pytest

from treadle.jit.toolchain import trust
from treadle.jit.toolchain.disk_cache import VARIABLE, DiskCache, default_folder

CONTENT = b"code"

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")


@pytest.fixture
def store(tmp_path):
    made = DiskCache(tmp_path / "above" / "cache")
    made.write("k", CONTENT)
    assert made.read("k") == CONTENT
    return made


def test_folders_are_made_for_this_user_alone(store):
    for folder in (store.folder, store.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_write(store, mode):
    store.folder.chmod(mode)
    assert store.read("k") is None
    store.write("other", CONTENT)
    assert not (store.folder / "other.kernel").exists()


@pytest.mark.parametrize(("mode", "is_read"), [(0o775, False), (0o777, False), (0o1777, True)])
def test_a_folder_above_that_others_may_write(store, mode, is_read):
    store.folder.parent.chmod(mode)
    assert (store.read("k") == CONTENT) is is_read


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write(store, mode):
    (store.folder / "k.kernel").chmod(mode)
    assert store.read("k") is None


def test_the_log_names_an_untrusted_file_and_not_the_whole_cache(store, caplog):
    store.write("other", CONTENT)
    (store.folder / "k.kernel").chmod(0o666)
    with caplog.at_level("INFO", "treadle"):
        assert [store.read("k"), store.read("k"), store.read("other")] == [None, None, CONTENT]
        (told,) = caplog.messages
        assert told.startswith("a file of the cache is not used")
        assert "k.kernel" in told
        store.folder.chmod(0o777)
        assert store.read("other") is None
    assert caplog.messages[1].startswith("the cache is not used")


def test_files_of_others(store, monkeypatch):
    monkeypatch.setattr(trust, "_ROOT_UID", -1)
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    assert store.read("k") is None


def test_a_link_in_the_place_of_a_file(store, tmp_path):
    file = store.folder / "k.kernel"
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert store.read("k") is None
    store.write("k", CONTENT)
    assert store.read("k") == CONTENT
    assert not file.is_symlink()


def test_a_fifo_is_not_waited_for(store):
    file = store.folder / "k.kernel"
    file.unlink()
    os.mkfifo(file)
    assert store.read("k") is None


def test_a_cache_folder_behind_a_symbolic_link(store, tmp_path):
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "link").symlink_to("above/cache/../cache")
    assert DiskCache(tmp_path / "link").read("k") == CONTENT
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "link").symlink_to(store.folder)
    assert DiskCache(tmp_path / "open" / "link").read("k") is None


def test_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    circle = DiskCache(tmp_path / "a" / "cache")
    circle.write("k", CONTENT)
    assert circle.read("k") is None


def test_a_folder_that_is_no_path(tmp_path):
    for name in ("a\0b", "x" * 5000):
        store = DiskCache(tmp_path / name)
        store.write("k", CONTENT)
        assert store.read("k") is None


def test_a_relative_folder(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert DiskCache(store.folder.relative_to(tmp_path)).read("k") == CONTENT


def test_the_folder_is_absolute_and_the_current_one_is_gone(store, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert store.read("k") == CONTENT


def test_without_owners_the_users_profile_alone_is_trusted(store, tmp_path, monkeypatch):
    monkeypatch.delattr(os, "getuid")
    monkeypatch.setenv("HOME", str(tmp_path / "above"))
    assert store.read("k") == CONTENT
    monkeypatch.setenv("HOME", str(tmp_path / "above" / "cache" / "other"))
    assert store.read("k") is None


def test_a_cache_folder_of_an_unknown_user(monkeypatch):
    monkeypatch.setenv(VARIABLE, "~no_such_user_here/cache")
    assert default_folder() is None
