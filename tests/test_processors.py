"""The number of processors that a process may use, from its cgroup."""

from pathlib import Path

import pytest

import treadle
from treadle import delegate, machine
from treadle.machine import processor_count, quota


def cgroup(folder: Path, own: str, **files: str) -> tuple[Path, Path]:
    """A /sys/fs/cgroup and a /proc/self/cgroup; a name's __ is a slash and its _ a dot."""
    for name, content in files.items():
        path = folder / "cgroup" / name.replace("__", "/")
        path = path.with_name(path.name.replace("cpu_max", "cpu.max").replace("cpu_cfs", "cpu.cfs"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "own").write_text(own)
    return folder / "cgroup", folder / "own"


@pytest.mark.parametrize(
    ("own", "files", "wanted"),
    [
        ("0::/\n", {"cpu_max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu_max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a__b__cpu_max": "max 100000", "a__cpu_max": "200000 100000"}, 2.0),
        ("0::/a/b\n", {"a__b__cpu_max": "50000 100000", "a__cpu_max": "200000 100000"}, 0.5),
        ("1:cpu,cpuacct:/x\n2:memory:/x\n", {
            "cpu__x__cpu_cfs_quota_us": "300000", "cpu__x__cpu_cfs_period_us": "100000",
        }, 3.0),
        ("1:cpu:/\n", {"cpu__cpu_cfs_quota_us": "-1", "cpu__cpu_cfs_period_us": "100000"}, None),
        ("0::/gone\n", {}, None),
        ("0::/\n", {"cpu_max": "not a number"}, None),
    ],
)  # fmt: skip
def test_the_quota(tmp_path: Path, own: str, files: dict[str, str], wanted: float | None) -> None:
    assert quota(*cgroup(tmp_path, own, **files)) == wanted


def test_without_cgroups_there_is_no_quota(tmp_path: Path) -> None:
    assert quota(tmp_path, tmp_path / "none") is None


@pytest.mark.parametrize(("limit", "wanted"), [(None, 8), (0.5, 1), (1.5, 2), (64.0, 8)])
def test_the_count_is_bounded_by_the_quota(
    monkeypatch: pytest.MonkeyPatch, limit: float | None, wanted: int
) -> None:
    monkeypatch.setattr(machine, "_runnable", lambda: 8)
    monkeypatch.setattr(machine, "quota", lambda: limit)
    assert processor_count() == wanted


def test_sessions_of_onnxruntime_are_given_the_count_where_a_quota_bounds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert delegate.Options.of(treadle.SessionOptions()).session_options().intra_op_num_threads == 0
    monkeypatch.setattr(machine, "quota", lambda: 1.0)
    monkeypatch.setattr("treadle.delegate.options.quota", lambda: 1.0)
    assert delegate.Options.of(treadle.SessionOptions()).session_options().intra_op_num_threads == 1
    chosen = treadle.SessionOptions(intra_op_num_threads=3)
    assert delegate.Options.of(chosen).session_options().intra_op_num_threads == 3
