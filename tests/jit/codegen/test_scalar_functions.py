"""Inline functions against wider floats over their whole range: a bound in ULP, exact specials."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import HEAD, check, escapes, natives, outcomes  # noqa: F401
from treadle import InferenceSession
from treadle.ir import DType
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.toolchain.llvm import host_target

BOUNDS = {
    "Exp": 1.0 if host_target().has_fma else 1.2,
    **dict.fromkeys(("Sin", "Cos"), 1.6),
    "Log": 1.0,
    "Tanh": 1.4,
    "Sigmoid": 1.5,
    "Softplus": 2.0,
    **dict.fromkeys(
        ("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"),
        0.6,
    ),
}
FLOAT64 = 2.5  # by the C library, of the best that libraries promise
WIDE = {np.float32: np.float64, np.float64: np.longdouble}
WORD = {np.float32: "float", np.float64: "double"}
EXACT = {
    "Exp": np.exp, "Log": np.log, "Tanh": np.tanh, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan,
    "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh,
    "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh,
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.logaddexp(x, np.zeros((), x.dtype)),
}  # fmt: skip


def sweep(rng, dtype):
    """Numbers of every size, near every edge."""
    random, count = rng, 20_000
    least, most = (-44, 38) if dtype is np.float32 else (-320, 308)
    edge = 104 if dtype is np.float32 else 746
    parts = [random.uniform(-bound, bound, count) for bound in (1, 20, edge)]
    powers = 10.0 ** random.uniform(least, most, count)
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, *np.arange(-20, 20, 0.25)]
    with np.errstate(over="ignore"):
        return np.concatenate([*parts, powers, -powers, special]).astype(dtype)


def scanned(op, x, *others, engines=("jit", "interp")):
    """The operator in a Scan, all elements of one item."""
    word = WORD[x.dtype.type]
    names = ["x", "z"][: 1 + len(others)]
    given = ", ".join(f"{word}[T,N] {name}" for name in names)
    taken = ", ".join(f"{word}[N] {name}r" for name in names)
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
    g ({given}) => ({word}[T,N] y) {{
      y = Scan <num_scan_inputs = {len(names)}, body = b ({taken}) => ({word}[N] c) {{
        c = {op} ({", ".join(f"{name}r" for name in names)})
      }}> ({", ".join(names)})
    }}"""
    session = InferenceSession(text, engines=engines)
    feed = dict(zip(names, (x[None], *(other[None] for other in others)), strict=True))
    return session.run(None, feed)[0][0]


def assert_within(bound, found, exact, what):
    """Finite numbers within the bound in ULP, all else exactly, zeros with their sign."""
    with np.errstate(all="ignore"):
        wanted = exact.astype(found.dtype)
        error = np.abs(found.astype(exact.dtype) - exact) / np.spacing(np.abs(wanted))
    usual = np.isfinite(wanted)
    assert (np.isfinite(found) == usual).all()
    assert np.array_equal(found[~usual], wanted[~usual], equal_nan=True)
    assert (np.signbit(found) == np.signbit(wanted))[wanted == 0].all()
    worst = np.argmax(np.where(usual, error, 0))
    assert error[worst] <= bound, f"{what(worst)} = {found[worst]!r}, not {exact[worst]!r}"


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("op", BOUNDS)
def test_inline_functions(op, dtype, rng):
    x = sweep(rng, dtype)
    is_wide = dtype is np.float64
    if is_wide and op in ("Sin", "Cos", "Tan"):
        x = x[np.abs(x) < 1e6]
    with np.errstate(all="ignore"):
        exact = EXACT[op](x.astype(WIDE[dtype]))
    bound = max(BOUNDS[op], FLOAT64) if is_wide else BOUNDS[op]
    assert_within(bound, scanned(op, x), exact, lambda worst: f"{op}({x[worst]!r})")


def test_sine_of_large_numbers(rng: np.random.Generator):
    near = (np.arange(1, 3000) ** 4 * math.pi / 2).astype(np.float32)
    bits = rng.integers(0, 2**31, 20_000).astype(np.uint32)
    x = np.concatenate([near, bits.view(np.float32)])
    for op in ("Sin", "Cos", "Tan"):
        with np.errstate(all="ignore"):
            exact = EXACT[op](x.astype(np.float64))
        assert_within(BOUNDS[op], scanned(op, x), exact, lambda worst: f"{x[worst]!r}")


@pytest.mark.parametrize("op", ["Sin", "Cos", "Tan"])
def test_the_sine_of_a_number_does_not_depend_on_its_neighbours(op, rng):
    bits = np.concatenate([np.arange(0, 2**31, 2**13 + 1), rng.integers(0, 2**31, 2**18)])
    near = (np.arange(1, 2**18) * (math.pi / 2)).astype(np.float32)
    x = np.concatenate([bits.astype(np.uint32).view(np.float32), near, -near])
    x = x[: x.size // 15 * 15]
    beside_a_large_one = np.insert(x.reshape(-1, 15), 0, np.float32(1e30), axis=1).reshape(-1)
    found = scanned(op, beside_a_large_one).reshape(-1, 16)[:, 1:].reshape(-1)
    np.testing.assert_array_equal(found, scanned(op, x))


@pytest.mark.parametrize("op", ["Sin", "Cos"])
def test_sines_of_float64_are_within_one_ulp(op, rng):
    near = np.arange(1, 2**17) * (math.pi / 2) * 5
    near = np.concatenate([near, np.nextafter(near, 0), rng.uniform(-4, 4, 2**16)])
    x = np.concatenate([near, -near, [0.0, -0.0, 2.0**20, np.nextafter(2.0**20, 0), 5e-324]])
    x = x[: x.size // 7 * 7]
    found = scanned(op, x)
    exact = EXACT[op](x.astype(np.longdouble))
    assert_within(1.0, found, exact, lambda worst: f"{op}({x[worst]!r})")
    beside_a_large_one = np.insert(x.reshape(-1, 7), 0, 1e30, axis=1).reshape(-1)
    same = scanned(op, beside_a_large_one).reshape(-1, 8)[:, 1:].reshape(-1)
    np.testing.assert_array_equal(found, same)


def test_erf():
    x = np.concatenate([np.linspace(-5, 5, 20_001), [0.0, -0.0, math.inf, -math.inf, math.nan]])
    x = x.astype(np.float32)
    exact = np.array([math.erf(each) for each in x.astype(np.float64)])
    assert_within(2.0, scanned("Erf", x), exact, lambda worst: f"erf({x[worst]!r})")


def test_powers(rng: np.random.Generator):
    special = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -3.0, math.inf, -math.inf, math.nan,
               1e-45, 1e38, 2.0**24 + 2, 2.0**25, 1.0000001]  # fmt: skip
    pairs = np.array([(x, y) for x in special for y in special])
    usual = np.stack([rng.uniform(0, 10, 20_000), rng.uniform(-20, 20, 20_000)], -1)
    x, y = np.concatenate([pairs, usual]).astype(np.float32).T
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    found = scanned("Pow", np.ascontiguousarray(x), np.ascontiguousarray(y))
    assert_within(0.6, found, exact, lambda worst: f"{x[worst]!r} ** {y[worst]!r}")


@pytest.mark.parametrize(
    "base", ["2.0", "10.0", "0.5", "0.9999", "1e-38", "3e38", "1.0", "0.0", "-2.0"]
)
def test_powers_of_a_constant(base, rng: np.random.Generator):
    special = [0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, 126.0, -149.0, math.inf, -math.inf, math.nan]
    numbers = [rng.uniform(-160, 140, 20_000), rng.uniform(-1, 1, 2_000), np.arange(-40, 40)]
    x = np.concatenate([special, *numbers]).astype(np.float32)
    text = f"""{HEAD}
    g (float[T,N] x) => (float[T,N] y) {{
      y = Scan <num_scan_inputs = 1, body = b (float[N] r) => (float[N] c) {{
        base = Constant <value = float {{{base}}}> ()
        c = Pow (base, r)
      }}> (x)
    }}"""
    session = InferenceSession(text, engines=("jit", "interp"))
    found = session.run(None, {"x": x[None]})[0][0]
    assert not escapes(session)
    with np.errstate(all="ignore"):
        exact = np.power(float(np.float32(base)), x.astype(np.float64))
    assert_within(0.6, found, exact, lambda worst: f"{base} ** {x[worst]!r}")


def test_a_long_chain_of_functions_of_a_few_elements_stays_small():
    names = ("Sin", "Exp", "Tanh", "Erf", "Sigmoid", "Cos")
    lines = "\n".join(f"a{k + 1} = {names[k % 6]} (a{k})" for k in range(48))
    text = f"""g (int64 n, float[16] x) => (float[16] y) {{
      y = Loop (n, "", x) <body = f (int64 i, bool go, float[16] a0)
        => (bool on, float[16] a48) {{
        on = Identity (go)
        {lines}
      }}>
    }}"""
    found = check(text, {"n": np.array(3), "x": np.linspace(-1, 1, 16, dtype=np.float32)})
    assert found[0].shape == (16,)
    session = InferenceSession(HEAD + text, engines=("jit", "interp"))
    session.run(None, {"n": np.array(3), "x": np.ones(16, np.float32)})
    (made,) = outcomes(session)
    assert made.machine.size < 50_000


GELU = """<ir_version: 10, opset_import: ["" : 20]>
g (float[T,N] x) => (float[T,N] y) {
  y = Scan <num_scan_inputs = 1, body = b (float[N] r) => (float[N] c) {
    root = Constant <value = float {1.4142135}> ()
    one = Constant <value = float {1.0}> ()
    half = Constant <value = float {0.5}> ()
    d = Div (r, root)
    e = Erf (d)
    f = Add (%s)
    g = Mul (r, f)
    c = Mul (g, half)
  }> (x)
}"""


def tails(rng, low, high):
    return rng.uniform(low, high, 20_000)


@pytest.mark.parametrize("operands", ["e, one", "one, e"])
def test_the_tail_of_gelu_written_with_erf(operands, rng):
    x = np.concatenate([tails(rng, -12.5, 8), tails(rng, -1, 1), [0.0, -0.0]]).astype(np.float32)
    session = InferenceSession(GELU % operands, engines=("jit", "interp"))
    (found,) = session.run(None, {"x": x[None]})
    assert not [why for why in outcomes(session) if isinstance(why, str)]
    quotient = (x / np.float32(1.4142135)).astype(np.float64)  # as the model rounds it
    exact = x * np.array([0.5 * math.erfc(-each) for each in quotient])
    assert_within(8.0, found[0], exact, lambda worst: f"gelu({x[worst]!r})")


@pytest.mark.parametrize("engines", [("jit", "interp"), ("interp",)])
@pytest.mark.parametrize("dtype", WIDE)
def test_mish(dtype, engines, rng):
    parts = [tails(rng, low, high) for low, high in ((-105, 0), (-5, 5), (-1, 1), (10, 30))]
    x = np.concatenate([*parts, [0.0, -0.0, math.inf, math.nan, 1e30]]).astype(dtype)
    with np.errstate(all="ignore"):
        power = np.exp(np.minimum(x.astype(WIDE[dtype]), 60))
        more = power * (power + 2)
        exact = x * (more / (more + 2))
    assert_within(9.0, scanned("Mish", x, engines=engines), exact, lambda worst: f"{x[worst]!r}")


@pytest.mark.parametrize("engines", [("jit", "interp"), ("interp",)])
def test_gelu_has_a_tail(engines, rng):
    x = np.concatenate([tails(rng, -6, 6), tails(rng, -12, -5)]).astype(np.float32)
    exact = x * np.array([0.5 * math.erfc(-each / math.sqrt(2)) for each in x.astype(float)])
    found = scanned("Gelu", x, engines=engines)
    assert_within(6.0, found, exact, lambda worst: f"gelu({x[worst]!r})")


def calls_the_c_library(function: str) -> bool:
    """Whether the code of a function of float64 calls the C library."""
    record = FUNCTIONS[function]
    (result, *_) = record.types((DType.FLOAT64,) * record.operand_count)
    names = ["%x", "%y"][: record.operand_count]
    inputs = [f"  {name}: float64[] = input {number}" for number, name in enumerate(names)]
    output = f"  %z: {result}[] = {function} {', '.join(names)}"
    text = "\n".join(["kernel", *inputs, output, "  return %z"])
    return 'call double @"' in re.sub(r'@"llvm\.', "", generate_code(kernel_of(text), ()).text)


def test_each_record_says_whether_float64_has_code_of_its_own():
    one_type = ("exp", "log", "tanh", "sigmoid", "softplus", "erf", "sin", "acosh", "expm1", "sqrt")
    functions = (*one_type, "pow", "div", "mod", "fmod", "add")
    found = {name: calls_the_c_library(name) for name in functions}
    assert found == {name: not FUNCTIONS[name].has_float64_code for name in functions}


LANES = """kernel
  %s0: T[32] = input 0
  %x: T[n0,32] = input 1
  %1 = loop length n0 extent n0 carries %s = %s0
    %s: T[32] = carried 0
    %item: T[32] = scan slice along 0 of %x
    %next: T[32] = FUNCTION %item
    yield %next
    stack %next along 0
  %last: T[32] = result 0 of %1
  %all: T[n0,32] = result 1 of %1
  return %last, %all"""
ALONE = """kernel
  %x: T[n0,32] = input 0
  %y: T[n0,32] = FUNCTION %x
  return %y"""


IN_VECTORS = [
    (name, dtype)
    for dtype in (DType.FLOAT32, DType.FLOAT64)
    for name, function in FUNCTIONS.items()
    if function.operand_count == 1 and function.has_vector_form((dtype,), dtype)
    if dtype in (function.types((dtype,)) or ()) and name not in ("cast", "bits")
]


@pytest.mark.parametrize(("name", "type_"), IN_VECTORS)
def test_vectors_have_the_bits_of_single_elements(name, type_, rng):
    dtype = type_.numpy
    lanes, alone = (
        text.replace("FUNCTION", name).replace("T[", f"{np.dtype(dtype)}[")
        for text in (LANES, ALONE)
    )
    schedule = schedule_kernel(kernel_of(lanes), host_target())
    (loop,) = schedule.loops.values()
    is_one_tile = 32 * np.dtype(dtype).itemsize <= 4 * host_target().vector_bytes
    assert isinstance(loop.strategy, RegisterTiling) or not is_one_tile
    x = sweep(rng, dtype)
    x = x[: x.size // 32 * 32].reshape(-1, 32)
    x[-1, :5] = [0.0, -0.0, np.inf, -np.inf, np.nan]
    x[-2, ::2] = np.linspace(-1.1, 1.1, 16)
    _, found = run_kernel(lanes, x[0], x)
    np.testing.assert_array_equal(found, *run_kernel(alone, x))


PREFIX = """kernel
  %v0: float32[] = input 0
  %e: float32[n0] = input 1
  %a: float32[] = constant 0.9
  %b: float32[] = constant 0.25
  %1 = loop length n0 extent n0 carries %v = %v0
    %v: float32[] = carried 0
    %item: float32[] = scan slice along 0 of %e
    %square: float32[] = mul %item, %item
    %part: float32[] = mul %square, %b
    %kept: float32[] = mul %v, %a
    %next: float32[] = add %kept, %part
    %cost: float32[] = FUNCTION %v
    yield %next
    stack %cost along 0
  %last: float32[] = result 0 of %1
  %all: float32[n0] = result 1 of %1
  return %last, %all"""


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "softplus"])
@pytest.mark.parametrize("count", [0, 1, 9, 1000])
def test_functions_of_linear_recurrences(name, count, rng):
    e, v = rng.random(count, np.float32), np.float32(1)
    last, found = run_kernel(PREFIX.replace("FUNCTION", name), v, e)
    values = []
    for item in e:
        values.append(v)
        v = np.float32(0.25) * (item * item) + np.float32(0.9) * v
    np.testing.assert_allclose(last, v, rtol=1e-5)
    wanted = EXACT[name.capitalize()](np.array(values, np.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


QUOTIENTS = """kernel
  %x: T[n0] = input 0
  %by: T[] = constant DIVISOR
  %q: T[n0] = div %x, %by
  %r: T[n0] = mod %x, %by
  return %q, %r"""


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("divisor", [1, 2, 4, 64, 3, 6, -2, -1, 0])
def test_divisions_by_constants(dtype, divisor, rng):
    limits = np.iinfo(dtype)
    if divisor < limits.min:
        pytest.skip("a negative number of an unsigned type")
    edges = [limits.min, limits.min + 1, limits.max, 0, 1, 2, 3, 5, 63, 64, 65]
    x = np.array(edges + ([-1, -2, -3, -63, -64, -65] if limits.min else []), dtype)
    x = np.concatenate([x, rng.integers(limits.min, limits.max, 99, dtype)])
    text = QUOTIENTS.replace("T[", f"{np.dtype(dtype)}[").replace("DIVISOR", str(divisor))
    quotients, rests = run_kernel(text, x)
    for number, quotient, rest in zip(x.tolist(), quotients, rests, strict=True):
        whole = 0 if not divisor else abs(number) // abs(divisor)
        signed = -whole if (number < 0) != (divisor < 0) else whole
        assert quotient == np.array(signed).astype(dtype)
        assert rest == (number % divisor if divisor else 0)


@pytest.mark.parametrize(("divisor", "is_shifted"), [(8, True), (10, False)])
def test_a_division_by_a_power_of_two_is_no_division(divisor, is_shifted):
    text = QUOTIENTS.replace("T[", "int32[").replace("DIVISOR", str(divisor))
    assert ("sdiv" not in generate_code(kernel_of(text), ()).text) == is_shifted


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_least_powers_of_e(dtype):
    """Exp is 0 exactly where it is rounded to 0, and not NaN for any lower number."""
    limit = dtype(-103.97208404541016 if dtype is np.float32 else -745.1332191019413)
    steps = np.arange(-300, 300, dtype=np.int64).astype(np.dtype(f"i{limit.itemsize}"))
    around = (limit.reshape(1).view(steps.dtype) + steps).view(dtype)
    low = np.array([-np.inf, np.finfo(dtype).min, -1e30, -1e9, -1e4, -800, -200, -110], dtype)
    x = np.concatenate([around, low])
    text = f"""kernel
  %x: {np.dtype(dtype).name}[{x.size}] = input 0
  %y: {np.dtype(dtype).name}[{x.size}] = exp %x
  return %y"""
    (found,) = run_kernel(text, x)
    with np.errstate(under="ignore"):
        wanted = np.exp(x.astype(np.longdouble)).astype(dtype)
    np.testing.assert_array_equal(found, wanted)
