"""A loop written as OpenVINO IR: the file gives ONNX's answers there, zero iterations included.

Writing needs no OpenVINO. Where it is installed, both are run and compared.
"""

import importlib.util

import numpy as np

import treadle

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
decay (int64 n, float[2,4] x) => (float[2,4] last, float[N,2,4] seen)
<float[4] rates = {0.5, 0.9, 0.1, 1.0}>
{
  yes = Constant <value = bool {1}> ()
  last, seen = Loop (n, yes, x) <body = step
    (int64 i, bool go, float[2,4] h) => (bool go_on, float[2,4] h_next, float[2,4] row) {
      go_on = Identity (go)
      part = Mul (h, rates)
      h_next = Tanh (part)
      row = Identity (h_next)
    }>
}
"""


def main() -> None:
    """Write the IR, read it again, and ask OpenVINO if it is there."""
    for finding in treadle.check(MODEL, portable=["openvino"]):
        print("found", finding)
    treadle.save(treadle.load(MODEL), "decay.xml")
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    for count in (0, 1, 5):
        feeds = {"n": np.array(count), "x": x}
        wanted = treadle.InferenceSession(MODEL).run(None, feeds)
        again = treadle.InferenceSession("decay.xml").run(None, feeds)
        for one, other in zip(wanted, again, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
        print(f"{count} iterations: shapes {[value.shape for value in wanted]}, the IR agrees")
        if importlib.util.find_spec("openvino"):
            compare_with_openvino(feeds, wanted)


def compare_with_openvino(feeds: dict[str, np.ndarray], wanted: list[np.ndarray]) -> None:
    """The same on OpenVINO itself."""
    import openvino

    compiled = openvino.Core().compile_model("decay.xml", "CPU")
    found = list(compiled(feeds).values())
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_allclose(one, np.asarray(other).reshape(one.shape), rtol=1e-5)
    print("OpenVINO agrees")


if __name__ == "__main__":
    main()
