"""Rewrites RNN, GRU and LSTM as Scans, and matching loops as these operators."""

from treadle.passes.rewrites.named.recurrent.from_loop import scan_to_recurrent
from treadle.passes.rewrites.named.recurrent.to_scan import recurrent_to_scan

__all__ = ["recurrent_to_scan", "scan_to_recurrent"]
