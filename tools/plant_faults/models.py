"""Models with nested loops and branches, for planted faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
RECURRENT = (
    HEAD
    + """
g (float[3, 4, 5] x, float[5] s) => (float[5] last, float[3, 4, 5] all)
<float[5] w = {0.5, -0.25, 0.75, 1.0, -0.5}, float[5] v = {0.125, 0.25, -0.5, 0.5, 1.5},
 int64 rows = {3}, int64 steps = {4}, int64 two = {2}, int64 none = {0}, float low = {-0.5}>
{
    last, c0, all = Loop (rows, , s, w) <
        body = outer (int64 i, bool go, float[5] h, float[5] c)
            => (bool on, float[5] h2, float[5] c2, float[4, 5] seen) {
        on = Identity (go)
        row = Gather <axis = 0> (x, i)
        h1, c1, seen = Loop (steps, , h, c) <
            body = inner (int64 j, bool g, float[5] k, float[5] m)
                => (bool o, float[5] k2, float[5] m2, float[5] out) {
            o = Identity (g)
            item = Gather <axis = 0> (row, j)
            a = Mul (item, w)
            b = Add (a, k)
            t = Tanh (b)
            e = LeakyRelu <alpha = 0.2> (t)
            rest = Mod (j, two)
            is_even = Equal (rest, none)
            f = If (is_even) <
                then_branch = then () => (float[5] p) { p = Mul (e, v) },
                else_branch = other () => (float[5] q) { q0 = Sub (e, v) q = Neg (q0) }
            >
            k2 = Add (f, low)
            m2 = Sub (m, f)
            out = Softmax <axis = 0> (k2)
        }>
        h2 = Clip (h1, low)
        c2 = Mul (c1, v)
    }>
}"""
)
SEARCH = (
    HEAD
    + """
g (float[6] x, int64[4] places) => (float[6] y, float total)
<int64 four = {4}, int64 three = {3}, int64 first = {0}, float half = {0.5}, float one = {1.0},
 float[6] scale = {1.0, 2.0, -1.0, 0.5, 3.0, -2.0}>
{
    y, total = Loop (four, , x, half) <
        body = outer (int64 i, bool go, float[6] h, float sum)
            => (bool on, float[6] h2, float sum2) {
        on = Identity (go)
        place = Gather <axis = 0> (places, i)
        picked = Gather <axis = 0> (h, place)
        lead = Gather <axis = 0> (h, first)
        is_more = Greater (picked, lead)
        step = If (is_more) <
            then_branch = up () => (float u) { u0 = Sub (picked, lead) u = Mul (u0, half) },
            else_branch = down () => (float d) { d0 = Add (picked, lead) d = Sin (d0) }
        >
        near = Loop (three, , step) <
            body = inner (int64 j, bool g, float k) => (bool o, float k2) {
            o = Identity (g)
            e = Mul (k, half)
            k2 = Add (e, one)
        }>
        moved = Mul (h, scale)
        wide = HardSigmoid <alpha = 0.3, beta = 0.4> (moved)
        h2 = Add (wide, near)
        sum1 = ReduceSum <keepdims = 0> (h2)
        sum2 = Add (sum, sum1)
    }>
}"""
)
_DATA = np.random.default_rng(7)
MODELS: list[tuple[str, str, Mapping[str, Any]]] = [
    (
        "recurrent",
        RECURRENT,
        {
            "x": _DATA.normal(size=(3, 4, 5)).astype(np.float32),
            "s": _DATA.normal(size=5).astype(np.float32),
        },
    ),
    (
        "search",
        SEARCH,
        {
            "x": _DATA.normal(size=6).astype(np.float32),
            "places": np.array([3, 1, 5, 2]),
        },
    ),
]
