"""Parquet files: every row once and in order, across workers and interruptions."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import treadle
from tests.predict.test_predictor import FILTER, filtered, ragged
from tests.seeded import seeded
from treadle.cli.main import main

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """The model, a Parquet file of ragged rows, and where the output goes."""
    model = tmp_path / "filter.onnx"
    treadle.save(treadle.load(FILTER), model)
    column = pyarrow.array(
        [row.tolist() for row in ragged(seeded("map"), 50)], pyarrow.list_(pyarrow.float32())
    )
    table = pyarrow.table({"signal": column, "a": [np.float32(0.25)] * 50, "id": range(50)})
    parquet.write_table(table, tmp_path / "in.parquet", row_group_size=17)
    return model, tmp_path / "in.parquet", tmp_path / "out.parquet"


def arguments(files: tuple[Path, Path, Path], *more: str) -> list[str]:
    model, source, target = map(str, files)
    given = ["map", model, "--input", source, "--output", target, "--columns", "x=signal"]
    return [*given, "--rows", "8", *more]


def expect_right(target: Path) -> None:
    table = parquet.read_table(target)
    assert table.column_names == ["signal", "a", "id", "y", "last", "error"]
    assert table.column("id").to_pylist() == list(range(50))
    for row, y in zip(ragged(seeded("map"), 50), table.column("y").to_pylist(), strict=True):
        np.testing.assert_allclose(y, filtered(row), rtol=1e-6)


def test_two_workers_write_all_rows_in_order(files: tuple[Path, Path, Path]) -> None:
    ran = CliRunner().invoke(main, arguments(files, "--workers", "2"), catch_exceptions=False)
    assert (ran.exit_code, ran.stdout) == (0, f"50 rows: {files[2]}\n")
    expect_right(files[2])
    assert not list(files[2].parent.glob("*.parts"))


def test_an_interrupt_keeps_the_rows_written_before(
    files: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    call = treadle.Predictor.__call__

    def stopped(self: treadle.Predictor, batch: object) -> object:
        calls.append(len(batch))  # type: ignore[arg-type]
        if len(calls) == 4:
            raise KeyboardInterrupt
        return call(self, batch)

    with monkeypatch.context() as patched:
        patched.setattr(treadle.Predictor, "__call__", stopped)
        assert CliRunner().invoke(main, arguments(files)).exit_code == 130
    assert not files[2].exists()
    assert CliRunner().invoke(main, [*arguments(files), "--rows", "9", "--resume"]).exit_code
    ran = CliRunner().invoke(main, arguments(files, "--resume"), catch_exceptions=False)
    assert ran.stdout == f"50 rows, 24 of them done before: {files[2]}\n"
    expect_right(files[2])


def test_rows_that_fail_are_counted(files: tuple[Path, Path, Path]) -> None:
    table = parquet.read_table(files[1])
    nulls = pyarrow.array([None, *[[1.0]] * 49], pyarrow.list_(pyarrow.float32()))
    parquet.write_table(table.set_column(0, "signal", nulls), files[1])
    ran = CliRunner().invoke(main, arguments(files), catch_exceptions=False)
    assert ran.exit_code == 1
    assert "50 rows, 1 of them failed" in ran.stdout


def test_files_that_are_not_parquet_are_errors(files: tuple[Path, Path, Path]) -> None:
    files[1].write_bytes(b"no")
    ran = CliRunner().invoke(main, arguments(files))
    assert ran.exit_code == 1
    assert "not a readable Parquet file" in ran.output
