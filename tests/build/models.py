"""Models that the tests of `build` compile."""

GROW = """
<ir_version: 10, opset_import: ["" : 21]>
grow (int64 limit, float[4] start) => (float[K,4] rows, float[4] last)
{
  always = Constant <value = bool {1}> ()
  last, rows = Loop <body = step
    (int64 i, bool go, float[4] x) => (bool go_on, float[4] y, float[4] row)
    {
      half = Constant <value = float[4] {0.5, 0.25, 0.125, 0.0625}> ()
      most = Constant <value = float {900.0}> ()
      more = Exp (half)
      y = Add (x, more)
      row = Identity (y)
      sum = ReduceSum <keepdims = 0> (y)
      go_on = Less (sum, most)
    }> (limit, always, start)
}
"""
"""A while loop whose number of rows depends on data."""

SCAN = """
<ir_version: 10, opset_import: ["" : 21]>
totals (float[T,3] x, float[3] first) => (float[3] last, float[T,3] sums)
{
  last, sums = Scan <num_scan_inputs = 1, body = step
    (float[3] before, float[3] item) => (float[3] after, float[3] out)
    { after = Add (before, item)  out = Tanh (after) }> (first, x)
}
"""
"""A Scan, of any length."""

FOREVER = """
<ir_version: 10, opset_import: ["" : 21]>
forever (int64 n, float x) => (float y)
{
  always = Constant <value = bool {1}> ()
  y = Loop <body = step (int64 i, bool go, float a) => (bool go_on, float b)
    { c = Sin (a)  b = Cos (c)  go_on = Identity (go) }> (n, always, x)
}
"""
"""It runs as long as it is told."""

PICK = """
<ir_version: 10, opset_import: ["" : 21]>
pick (float[5] table, int64[N] index) => (float total)
{
  zero = Constant <value = float {0.0}> ()
  total = Scan <num_scan_inputs = 1, body = step
    (float before, int64 k) => (float after)
    { item = Gather (table, k)  after = Add (before, item) }> (zero, index)
}
"""
"""Indices come from data."""

BESIDE = """
<ir_version: 10, opset_import: ["" : 21]>
beside (float[1,1,4,4] image, int64 n) => (float[1,1,8,8] larger, seq(float[2]) made)
{
  none = SequenceEmpty <dtype = 1> ()
  sizes = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()
  larger = Resize <mode = "cubic"> (image, , sizes)
  two = Constant <value = float[2] {1.0, 2.0}> ()
  made = Loop <body = step (int64 i, bool go, seq(float[2]) so_far) => (bool on, seq(float[2]) next)
    { on = Identity (go)  next = SequenceInsert (so_far, two) }> (n, , none)
}
"""
"""What cannot leave Python, for several reasons."""

BATCH = """
<ir_version: 10, opset_import: ["" : 21]>
batch (float[T,B,4] x, float[B,4] first) => (float[B,4] last)
{
  last = Scan <num_scan_inputs = 1, body = step
    (float[B,4] before, float[B,4] item) => (float[B,4] after)
    { sum = Add (before, item)  after = Sigmoid (sum) }> (first, x)
}
"""
"""A batch of any size."""

WIDE = """
<ir_version: 10, opset_import: ["" : 21]>
wide (float[T,384,384] x, float[64,384] first) => (float[64,384] last)
{
  last = Scan <num_scan_inputs = 1, body = step
    (float[64,384] before, float[384,384] item) => (float[64,384] after)
    { product = MatMul (before, item)  after = Tanh (product) }> (first, x)
}
"""
"""Its products are worth several threads."""

MEASURED = """
<ir_version: 10, opset_import: ["" : 21]>
measured (float[T,B,4] x) => (float[N] flat, float[B,4] last)
{
  shape = Shape <start = 1> (x)
  first = ConstantOfShape <value = float[1] {1.0}> (shape)
  last = Scan <num_scan_inputs = 1, body = step
    (float[B,4] before, float[B,4] item) => (float[B,4] after)
    { sum = Add (before, item)  after = Tanh (sum) }> (first, x)
  size = Size (last)
  none = Constant <value = int64[1] {0}> ()
  length = Unsqueeze (size, none)
  flat = Reshape (last, length)
}
"""
"""It computes with extents of its input."""

NESTED = """
<ir_version: 10, opset_import: ["" : 21]>
nested (bool up, float[T,3] x, float[1,1,4,4] image, float[3] scale)
  => (float[3] last, float[1,1,8,8] larger)
{
  last, larger = If (up) <
    then_branch = grow () => (float[3] total, float[1,1,8,8] image_2) {
      none = Constant <value = float[3] {0.0, 0.0, 0.0}> ()
      two = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()
      image_2 = Resize <mode = "cubic"> (image, , two)
      total = Scan <num_scan_inputs = 1, body = step
        (float[3] before, float[3] item) => (float[3] after)
        { scaled = Mul (item, scale)  sum = Add (before, scaled)  after = Tanh (sum) }> (none, x)
    },
    else_branch = keep () => (float[3] nothing, float[1,1,8,8] image_3) {
      nothing = Constant <value = float[3] {7.0, 8.0, 9.0}> ()
      two_2 = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()
      image_3 = Resize <mode = "nearest"> (image, , two_2)
    }>
}
"""
"""A loop in a branch of an If that stays with onnxruntime."""

INNER = """
<ir_version: 10, opset_import: ["" : 21]>
inner (int64 n, float[T,3] x, float[1,1,2,2] image) => (float[3] last, float[1,1,2,2] made)
{
  none = Constant <value = float[3] {0.5, 0.25, 0.125}> ()
  ones = Constant <value = float[4] {1.0, 1.0, 1.0, 1.0}> ()
  last, made = Loop <body = outer
    (int64 i, bool go, float[3] so_far, float[1,1,2,2] picture)
      => (bool on, float[3] next, float[1,1,2,2] same)
    {
      on = Identity (go)
      same = Resize <mode = "cubic"> (picture, , ones)
      next = Scan <num_scan_inputs = 1, body = step
        (float[3] before, float[3] item) => (float[3] after)
        { sum = Add (before, item)  bent = Tanh (sum)  after = Add (bent, none) }> (so_far, x)
    }> (n, , none, image)
}
"""
"""A loop in the body of a Loop that stays with onnxruntime."""

TOTALS = """
<ir_version: 10, opset_import: ["" : 21]>
totals (float[T,N,4] x, float[N,4] first) => (float[N,4] last, float[T,N,4] steps) {
  last, steps = Scan <num_scan_inputs = 1, body = step
    (float[N,4] before, float[N,4] item) => (float[N,4] after, float[N,4] out)
    { sum = Add (before, item)  after = Tanh (sum)  out = Identity (after) }> (first, x)
}"""
"""The model of docs/building.md."""

WHETHER = """
<ir_version: 10, opset_import: ["" : 21]>
whether (int64 n, bool go, float[3] start) => (float[3] last, float[K,3] rows)
{
  last, rows = Loop <body = step
    (int64 i, bool on, float[3] x) => (bool again, float[3] y, float[3] row)
    { again = Identity (on)  y = Add (x, x)  row = Tanh (y) }> (n, go, start)
}
"""
"""A loop that may not begin."""

OLD = """
<ir_version: 3, opset_import: ["" : 8]>
old (float[b] s0, float[b,t] x) => (float[b] sf, float[b,t] ys) {
  sf, ys = Scan <num_scan_inputs = 1, directions = [1], body = step
    (float s, float item) => (float next, float out)
    { next = Add (s, item)  out = Tanh (next) }> ("", s0, x)
}"""
"""A Scan of opset 8, over a batch."""
