"""Models for the tests of HTML reports."""

SMOOTH = """<ir_version: 10, opset_import: ["" : 21]>
smooth (float[T] x, float start) => (float[T] y, float[T] all) {
  last, y = Scan <num_scan_inputs = 1, body = step (float h, float item) => (float n, float o) {
    half = Constant <value_float = 0.5> ()
    sum = Add (h, item)
    n = Log (sum)
    o = Mul (n, half)
  }> (start, x)
  none = Sub (x, x)
  trip = Constant <value_int = 3> ()
  all = Loop (trip, , none) <body = b (int64 i, bool c, float[K] kept) => (bool go, float[J] more) {
    go = Identity (c)
    two = Constant <value_floats = [1.0, 2.0]> ()
    more = Concat <axis = 0> (kept, two)
  }>
}"""


def chain(count: int) -> str:
    """A model with a chain of this number of nodes."""
    steps = [f"v{k + 1} = {'Tanh' if k % 3 else 'Neg'} (v{k})" for k in range(count)]
    inside = "\n".join(steps)
    head = '<ir_version: 10, opset_import: ["" : 21]>'
    return f"{head}\nchain (float[3] v0) => (float[3] v{count}) {{\n{inside}\n}}"
