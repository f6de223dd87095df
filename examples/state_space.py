"""A selective scan, as state-space models have it, written as a careless exporter would.

The Loop gathers row after row of the whole input, computes what is the same in every iteration,
and collects results by concatenation. `treadle.optimize` mends all of it; the model it gives can be
saved, and is faster in other runtimes too.
"""

import time

import numpy as np

import treadle

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
selective (float[T,64] x, float[T,64] dt, float[64,16] a, float[64,16] h0, float[0,64] none)
  => (float[N,64] y, float[64,16] h)
{
  zero = Constant <value_int = 0> ()
  shape = Shape (x)
  steps = Gather (shape, zero)
  h, y = Loop <body = step
    (int64 t, bool go, float[64,16] h_in, float[M,64] y_in)
      => (bool go_on, float[64,16] h_out, float[K,64] y_out)
    {
      go_on = Identity (go)
      first = Constant <value_ints = [0]> ()
      last = Constant <value_ints = [1]> ()
      decay = Exp (a)
      rate = Neg (decay)
      row = Gather (x, t)
      step_size = Gather (dt, t)
      column = Unsqueeze (row, last)
      wide = Unsqueeze (step_size, last)
      moved = Mul (wide, rate)
      kept = Exp (moved)
      old = Mul (kept, h_in)
      new = Mul (wide, column)
      h_out = Add (old, new)
      seen = ReduceSum <keepdims = 0> (h_out, last)
      line = Unsqueeze (seen, first)
      y_out = Concat <axis = 0> (y_in, line)
    }> (steps, "", h0, none)
}
"""

STEPS = 3000


def seconds(model: object, feeds: dict[str, np.ndarray], engines: list[str]) -> float:
    """The better of two runs, after one."""
    session = treadle.InferenceSession(model, engines=engines)
    session.run(None, feeds)
    times = []
    for _ in range(2):
        began = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    """Optimize the model, and time both on onnxruntime and in native code."""
    generator = np.random.default_rng(0)
    feeds = {
        "x": generator.standard_normal((STEPS, 64)).astype(np.float32),
        "dt": generator.random((STEPS, 64)).astype(np.float32) * 0.1,
        "a": generator.random((64, 16)).astype(np.float32),
        "h0": np.zeros((64, 16), np.float32),
        "none": np.zeros((0, 64), np.float32),
    }
    better, report = treadle.optimize(MODEL, with_report=True)
    print(report)
    before, after = (treadle.InferenceSession(m).run(None, feeds) for m in (MODEL, better))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    slow, quick = (seconds(m, feeds, ["onnxruntime", "interp"]) for m in (MODEL, better))
    native = seconds(better, feeds, ["jit", "onnxruntime", "interp"])
    print(f"onnxruntime: {slow * 1e3:.1f} ms before, {quick * 1e3:.1f} ms optimized")
    print(f"native code: {native * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
