"""Times a model in treadle and onnxruntime: load, first call, compiling, warm calls, memory."""

from treadle.bench.benchmark import bench
from treadle.bench.cold import ColdStart
from treadle.bench.contenders import CONTENDERS
from treadle.bench.result import Benchmark, Timing
from treadle.bench.warm import WarmCalls

__all__ = ["CONTENDERS", "Benchmark", "ColdStart", "Timing", "WarmCalls", "bench"]
