"""Runs a model over the rows of a table: batches in, batches out, in one process or many."""

from treadle.predict.mapping import Mapped, map_parquet
from treadle.predict.predictor import Predictor

__all__ = ["Mapped", "Predictor", "map_parquet"]
