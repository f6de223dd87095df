"""A model that a checker refuses, repaired, and brought to an opset that an older runtime loads."""

import numpy as np

import treadle

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
sums (int64 n, float[3] x) => (float[3] total, float[N,3] steps)
{
  yes = Constant <value = bool {1}> ()
  total, steps = Loop (n, yes, x) <body = add
    (int64 i, bool go, float[3] x) => (bool go_on, float[3] more, float[3] row) {
      go_on = Identity (go)
      half = Constant <value_float = 0.5> ()
      more = Mul (x, half)
      row = Identity (more)
    }>
}
"""


def main() -> None:
    """Check, repair, convert, save, and run all three."""
    for finding in treadle.check(MODEL):
        print("found   ", finding)
    repaired, done = treadle.repair(MODEL)
    for fix in done:
        print("mended  ", fix)
    assert [each for each in treadle.check(repaired) if each.severity == "error"] == []
    older = treadle.convert_version(repaired, 13)
    treadle.save(older, "sums-13.onnx")
    feeds = {"n": np.array(3), "x": np.array([1, 2, 4], np.float32)}
    models = (repaired, older, "sums-13.onnx")
    first, *others = (treadle.InferenceSession(model).run(None, feeds) for model in models)
    for outputs in others:
        assert all(map(np.array_equal, outputs, first))
    print("opset 13 gives", first[0].tolist(), "as before")


if __name__ == "__main__":
    main()
