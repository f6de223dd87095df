"""A Kalman filter over many readings: one Scan, compiled to native code, beside plain numpy.

A body moves along a line. Its state is position and speed; each reading is the position with noise.
"""

import time

import numpy as np

import treadle

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
kalman (float[T] readings, float[2] state, float[2,2] covariance)
  => (float[2] last, float[2,2] spread, float[T,2] track)
<float[2,2] move = {1, 1, 0, 1}, float[2,2] moved = {1, 0, 1, 1},
 float[2,2] drift = {0.01, 0, 0, 0.01}, float[2] look = {1, 0}, float noise = {4.0},
 float[2,1] column = {1, 0}, float[2,2] unit = {1, 0, 0, 1},
 int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}>
{
  last, spread, track = Scan <num_scan_inputs = 1, body = step
    (float[2] x, float[2,2] p, float reading) => (float[2] x_new, float[2,2] p_new, float[2] seen)
    {
      ahead = MatMul (move, x)
      p_moved = MatMul (move, p)
      p_back = MatMul (p_moved, moved)
      p_ahead = Add (p_back, drift)
      expected = MatMul (look, ahead)
      surprise = Sub (reading, expected)
      gain_column = MatMul (p_ahead, column)
      gain_flat = Reshape (gain_column, two)
      seen_spread = MatMul (look, gain_flat)
      total = Add (seen_spread, noise)
      gain = Div (gain_flat, total)
      correction = Mul (gain, surprise)
      x_new = Add (ahead, correction)
      gain_again = Unsqueeze (gain, one)
      look_row = Unsqueeze (look, zero)
      taken = MatMul (gain_again, look_row)
      left = Sub (unit, taken)
      p_new = MatMul (left, p_ahead)
      seen = Identity (x_new)
    }> (state, covariance, readings)
}
"""


def by_hand(readings: np.ndarray) -> np.ndarray:
    """The same with numpy, step by step."""
    move, drift = np.array([[1, 1], [0, 1]], np.float32), 0.01 * np.eye(2, dtype=np.float32)
    state, spread, track = np.zeros(2, np.float32), np.eye(2, dtype=np.float32), []
    for reading in readings:
        ahead, spread_ahead = move @ state, move @ spread @ move.T + drift
        gain = spread_ahead[:, 0] / (spread_ahead[0, 0] + np.float32(4))
        state = ahead + gain * (reading - ahead[0])
        spread = (np.eye(2, dtype=np.float32) - np.outer(gain, [1, 0])) @ spread_ahead
        track.append(state)
    return np.array(track, np.float32)


def main() -> None:
    """Filter 100,000 readings both ways."""
    generator = np.random.default_rng(0)
    truth = np.cumsum(0.3 * np.ones(100_000) + 0.01 * generator.standard_normal(100_000))
    readings = (truth + 2 * generator.standard_normal(truth.size)).astype(np.float32)
    feeds = {
        "readings": readings,
        "state": np.zeros(2, np.float32),
        "covariance": np.eye(2, dtype=np.float32),
    }
    session = treadle.InferenceSession(MODEL)
    session.warm_up({**feeds, "readings": readings[:10]})
    began = time.perf_counter()
    _, _, track = session.run(None, feeds)
    native = time.perf_counter() - began
    began = time.perf_counter()
    expected = by_hand(readings[:1000])
    slow = (time.perf_counter() - began) * readings.size / 1000
    np.testing.assert_allclose(track[:1000], expected, rtol=1e-3, atol=1e-2)
    error = float(np.sqrt(np.mean((track[1000:, 0] - truth[1000:]) ** 2)))
    print(f"{readings.size:,} readings in {native * 1e3:.1f} ms; numpy would take {slow:.2f} s")
    print(f"error of a reading 2.0, of the filter {error:.2f}")


if __name__ == "__main__":
    main()
