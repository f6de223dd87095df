"""Several arrays that are changed in part, chosen, exchanged and stacked by one loop."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tools.edge_programs.lines import COMPARISONS, Lines, numbers

_SHAPES = (
    (300,), (257,), (1024,), (17, 16), (20, 40), (40, 7), (3, 5, 40), (270, 1), (64, 64),
    (63,), (100,), (30, 12), (20, 15), (9, 31), (7, 45), (2, 3, 100),
)  # fmt: skip
_TRIPS = (0, 1, 2, 3, 5, 9, 20, 45)


@dataclass
class _Arrays:
    """The arrays that a body may read, all of one shape."""

    shape: tuple[int, ...]
    names: list[str] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """Their type, as text."""
        return f"float[{','.join(map(str, self.shape))}]"

    def and_(self, name: str) -> _Arrays:
        """These, and one more."""
        return _Arrays(self.shape, [*self.names, name])


def arrays(lines: Lines) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """One to three carried arrays; each next value is that of up to three changes."""
    chance, body = lines.chance, lines.inner()
    known = _Arrays(chance.choice(_SHAPES))
    states = [f"s{number}" for number in range(chance.choice((1, 1, 2, 3)))]
    known.names += states
    feeds = {f"x{number}": numbers(chance, *known.shape) for number, _ in enumerate(states)}
    feeds |= {
        "n": np.array(chance.choice(_TRIPS), np.int64),
        "k": np.array(chance.choice((-1, 0, 1, 2, 5, 16, 100)), np.int64),
        "m": numbers(chance, *known.shape),
    }
    _write_positions(lines, known.shape)
    rows = lines.add(f"Constant <value = int64 {{{known.shape[0]}}}> ()")
    body.written += ["on = Identity (go)", f"row = Mod (i, {rows})"]
    following = []
    for state in states:
        value = state
        for _ in range(chance.choice((1, 1, 2, 3))):
            value = _changed(body, known, value)
        following.append(value)
        if chance.random() < 0.5:
            known.names.append(value)
    if len(states) > 1 and chance.random() < 0.3:
        following.reverse()
    following = [body.add(f"Identity ({value})") for value in following]
    stacks = [
        _stacked(body, known.and_(chance.choice(following)))
        for _ in range(chance.choice((0, 1, 1, 2)))
    ]
    given = ", ".join(["int64 i", "bool go", *(f"{known.kind} {state}" for state in states)])
    left = ["bool on", *(f"{known.kind} {value}" for value in following)]
    left += [f"{kind} {value}" for kind, value, _ in stacks]
    results = {f"o{number}": len(known.shape) for number, _ in enumerate(states)}
    results |= {f"y{number}": 1 + rank for number, (_, _, rank) in enumerate(stacks)}
    first = ", ".join(f"x{number}" for number, _ in enumerate(states))
    lines.written.append(
        f'{", ".join(results)} = Loop (n, "", {first}) <body = f ({given}) => ({", ".join(left)})'
        f" {{\n  {body}\n  }}>"
    )
    return feeds, results


def _write_positions(lines: Lines, shape: tuple[int, ...]) -> None:
    """The positions along each axis, in the array's rank."""
    for axis, extent in enumerate(shape):
        first = lines.chance.choice((0, 0, 0, 1, -3))
        row = ",".join(map(str, range(first, first + extent)))
        extents = ",".join(str(extent if each == axis else 1) for each, _ in enumerate(shape))
        lines.written.append(f"at{axis} = Constant <value = int64[{extents}] {{{row}}}> ()")


def _changed(body: Lines, known: _Arrays, value: str, depth: int = 0) -> str:
    """The array with other elements: where a condition holds, in a row, or in a branch or loop."""
    forms = ["where", "where", "where", "row", "row", "branch", "loop"]
    form = body.chance.choice([*forms, *["column"] * (len(known.shape) > 1)])
    if form == "column":
        return _in_columns(body, known, value)
    if form == "row":
        row = body.add(f"Gather <axis = 0> ({body.chance.choice(known.names)}, row)")
        if body.chance.random() < 0.5:
            row = body.bounded(body.add(f"Sub ({row}, {body.chance.choice(('half', 'high'))})"))
        place = body.add(f"Unsqueeze ({body.add('Unsqueeze (row, zero)')}, zero)")
        return body.add(f"ScatterND ({value}, {place}, {body.add(f'Unsqueeze ({row}, zero)')})")
    if form == "branch" and depth < 2:
        return _in_branch(body, known, value, depth)
    if form == "loop" and depth < 2:
        return _in_loop(body, known, value, depth)
    condition, other = _condition(body, known), _other(body, known, value)
    if body.chance.random() < 0.2:
        last = body.chance.choice((value, _other(body, known, value)))
        other = body.add(f"Where ({_condition(body, known)}, {other}, {last})")
    sides = (other, value) if body.chance.random() < 0.65 else (value, other)
    return body.add(f"Where ({condition}, {', '.join(sides)})")


def _in_columns(body: Lines, known: _Arrays, value: str) -> str:
    """The array with another row of its transpose, or with two that may be the same one."""
    chance, turned = body.chance, body.add(f"Transpose ({value})")
    extent = body.add(f"Constant <value = int64[1] {{{known.shape[-1]}}}> ()")
    places = [body.add(f"Mod ({body.add('Unsqueeze (i, zero)')}, {extent})")]
    if chance.random() < 0.5:
        further = body.add(f"Add ({places[0]}, {chance.choice(('zero', 'one', 'two'))})")
        places.append(body.add(f"Mod ({further}, {extent})"))
    rows = [body.add(f"Gather <axis = 0> ({turned}, {place})") for place in places]
    rows = [body.bounded(body.add(f"Sub ({row}, {chance.choice(rows)})")) for row in rows]
    rows[0] = body.add(f"Neg ({rows[0]})")
    place = body.add(f"Concat <axis = 0> ({', '.join(places)})")
    place = body.add(f"Unsqueeze ({place}, one)")
    row = body.add(f"Concat <axis = 0> ({', '.join(rows)})")
    made = body.add(f"ScatterND ({turned}, {place}, {row})")
    return body.add(f"Transpose ({made})")


def _other(body: Lines, known: _Arrays, value: str) -> str:
    """A value of every element, which may read a row or a maximum of an array."""
    chance, one = body.chance, body.chance.choice([*known.names, "m"])
    form = chance.choice(("Neg", "pair", "pair", "number", "row", "most"))
    if form == "Neg":
        return body.add(f"Neg ({value})")
    if form == "row":
        one = body.add(f"Gather <axis = 0> ({one}, {chance.choice(('row', 'number1'))})")
    elif form == "most":
        axis = chance.choice(("zero", "minus1"))
        one = body.add(f"Reduce{chance.choice(('Max', 'Min', 'Sum'))} ({one}, {axis})")
    elif form == "number":
        one = "high"
    return body.bounded(body.add(f"{chance.choice(('Add', 'Sub', 'Max', 'Min'))} ({value}, {one})"))


def _condition(body: Lines, known: _Arrays, depth: int = 0) -> str:
    """A comparison of positions, of elements or of numbers, or several of them."""
    chance = body.chance
    form = chance.choice(("both", "number", "first", "elements", "at", "at", "at", "at"))
    if form == "both" and depth < 2:
        pair = [_condition(body, known, depth + 1) for _ in range(2)]
        found = body.add(f"{chance.choice(('And', 'And', 'Or', 'Xor'))} ({', '.join(pair)})")
        return body.add(f"Not ({found})") if chance.random() < 0.3 else found
    word = chance.choice(COMPARISONS)
    if form == "number":
        return body.add(f"{word} ({_number(body, known)}, k)")
    if form == "first":
        flat = body.add(f"Reshape ({chance.choice(known.names)}, minus1)")
        return body.add(f"{word} ({body.add(f'Gather ({flat}, number2)')}, half)")
    if form == "elements":
        return body.add(f"{word} ({chance.choice([*known.names, 'm'])}, half)")
    pair = [f"at{chance.randrange(len(known.shape))}", _number(body, known)]
    chance.shuffle(pair)
    return body.add(f"{word} ({', '.join(pair)})")


def _number(body: Lines, known: _Arrays) -> str:
    """A whole number of the iteration, or the place of an array's maximum."""
    form = body.chance.choice(("i", "i", "i", "k", "Sub (k, i)", "Mul (i, k)", "place"))
    if form == "place":
        flat = body.add(f"Reshape ({body.chance.choice(known.names)}, minus1)")
        form = f"{body.chance.choice(('ArgMax', 'ArgMin'))} <axis = 0, keepdims = 0> ({flat})"
    return form if len(form) == 1 else body.add(form)


def _in_branch(body: Lines, known: _Arrays, value: str, depth: int) -> str:
    """The array changed in one side of an If, or in both."""
    then, other = body.inner(), body.inner()
    changed = then.add(f"Identity ({_changed(then, known, value, depth + 1)})")
    kept = _changed(other, known, value, depth + 1) if body.chance.random() < 0.5 else value
    kept = other.add(f"Identity ({kept})")
    condition = body.add(f"{body.chance.choice(COMPARISONS)} (i, k)")
    return body.add(
        f"If ({condition}) <then_branch = t{changed} () => ({known.kind} {changed}) {{\n  {then}"
        f"\n  }}, else_branch = e{kept} () => ({known.kind} {kept}) {{\n  {other}\n  }}>"
    )


def _in_loop(body: Lines, known: _Arrays, value: str, depth: int) -> str:
    """The array changed by up to three iterations of an inner loop."""
    inner = body.inner()
    state = inner.add(f"Identity ({value})").replace("v", "state")
    inner.written.clear()
    changed = inner.add(f"Identity ({_changed(inner, known.and_(state), state, depth + 1)})")
    trips = body.add(f"Constant <value = int64 {{{body.chance.choice((0, 1, 3))}}}> ()")
    go = f"go{state}"
    return body.add(
        f'Loop ({trips}, "", {value}) <body = l{state} (int64 j{state}, bool {go}, {known.kind}'
        f" {state}) => (bool on{state}, {known.kind} {changed}) {{\n  on{state} = Identity ({go})"
        f"\n  {inner}\n  }}>"
    )


def _stacked(body: Lines, known: _Arrays) -> tuple[str, str, int]:
    """A stacked output of an array or of its maximum along an axis: type, name and rank."""
    value = body.chance.choice(known.names)
    if body.chance.random() < 0.5:
        return known.kind, body.add(f"Identity ({value})"), len(known.shape)
    most = body.add(f"ReduceMax <keepdims = 0> ({value}, minus1)")
    extents = ",".join(map(str, known.shape[:-1]))
    return f"float[{extents}]" if extents else "float", most, len(known.shape) - 1
