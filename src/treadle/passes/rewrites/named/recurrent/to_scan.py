"""Replaces an RNN, GRU or LSTM by a Scan over time for each of its directions.

    Y, Y_h = GRU(X, W, R)     ->     h, y = Scan(h = 0, x of X): ... MatMul(x, W'), Sigmoid ...

Every attribute and operand of the operators is supported: layout, clip, peepholes, activations with
alpha and beta, lengths of sequences, directions, linear_before_reset, input_forget, initial states.
With sequence lengths, each sequence keeps its state once it has ended, and outputs zeros; in
reverse each begins at its own end. The element type is kept, except bfloat16, which is computed in
float32 and rounded at the end.

Declines activations outside the standard, and unknown hidden sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape

from treadle.infer import infer
from treadle.ir import (
    Block,
    DType,
    Leaf,
    Model,
    Sliced,
    Stacked,
    Step,
    Tensor,
    Value,
    walk_block,
)
from treadle.ops import attributes_of
from treadle.passes.report import Report
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.named.recurrent.cells import Cell, Weights
from treadle.passes.rewrites.named.recurrent.settings import GATES, STATES, Settings, settings_of
from treadle.passes.rewrites.open_form import Walk, map_open, rewrite_open
from treadle.passes.rewrites.paths import marked_path
from treadle.passes.rewrites.writer import Writer
from treadle.passes.simplify.captures import replaced
from treadle.passes.simplify.context import PassContext

NAME = "recurrent-to-scan"
_OLDEST = 9
_REVERSES_SEQUENCES = 10
_RANK = 3
_LENGTHS, _INITIALS, _PEEPHOLES = 4, 5, 7


def recurrent_to_scan(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Replace RNNs, GRUs and LSTMs by Scans."""
    return rewrite_open(model, NAME, options.paths, _is_recurrent, _changed)


def expand_cells(model: Model) -> Model:
    """Expand the operators in bodies that process one item to their steps."""
    if not any(_is_recurrent(visit.step) for visit in walk_block(model.main)):
        return model
    cells = [v.path for v in walk_block(infer(model).main) if _is_cell(v.step, v.path)]
    if not cells:
        return model
    paths = tuple(map(escape, cells))
    return rewrite_open(model, NAME, paths, _is_recurrent, partial(_changed, of_one=True))[0]


def _is_cell(step: Step, path: str) -> bool:
    if not isinstance(step, Leaf) or not _is_recurrent(step) or path.count("/") == 1:
        return False
    type_ = step.operands[0].type if step.operands[0] is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    given = attributes_of(step.attributes)
    is_plain = given.get("direction", "forward") != "bidirectional" and len(step.operands) > 0
    has_lengths = _operand(step, _LENGTHS) is not None
    return is_plain and not has_lengths and shape is not None and shape[given.get("layout", 0)] == 1


def _is_recurrent(step: Step) -> bool:
    return isinstance(step, Leaf) and not step.domain and step.op in GATES


def _changed(block: Block, walk: Walk, *, of_one: bool = False) -> Block:
    by: dict[Value, Value | None] = {}

    def change(inner: Block) -> Block:
        if not any(walk.means(step) for step in inner.steps):
            return inner
        writer = Writer(walk.at)
        for step in inner.steps:
            made = _scans(step, walk, writer, of_one=of_one) if isinstance(step, Leaf) else None
            if made is None:
                writer.steps.append(step)
                continue
            by.update((old, new) for old, new in zip(step.results, made, strict=False) if old)
        return writer.into(replace(inner, steps=tuple(writer.steps)))

    return replaced(map_open(block, change), by)


def _scans(step: Leaf, walk: Walk, writer: Writer, *, of_one: bool) -> Sequence[Value] | None:
    """The values that replace the step's results; None if the step is not rewritten."""
    if not walk.means(step):
        return None
    settings = settings_of(step.op, attributes_of(step.attributes))
    if isinstance(settings, str):
        walk.told.add(marked_path(step), settings)
        return None
    obstacle = _obstacle(step, settings, walk.at)
    if obstacle is not None:
        walk.told.add(marked_path(step), *obstacle)
        return None
    many = f"{len(settings.backwards)} Scans" if len(settings.backwards) > 1 else "a Scan"
    walk.done(step, f"{step.op} became {many}")
    dtype = _wide(walk.at.dtype(step.operands[0]))
    return _Expansion(step, settings, writer, dtype, of_one).results()


def _wide(dtype: DType | None) -> DType:
    assert dtype is not None, "looked at before"
    return DType.FLOAT32 if dtype is DType.BFLOAT16 else dtype


def _obstacle(step: Leaf, settings: Settings, at: PassContext) -> tuple[str, str] | None:
    if at.opset < _OLDEST:
        return "the opset is too old for a Scan without a batch axis", "convert it to opset 9"
    if at.dtype(step.operands[0]) is None:
        return "the element type of its input is not known", "declare the input's type"
    if _hidden(step, settings, at) is None:
        return "its hidden size is not known", "give it the attribute hidden_size"
    has_lengths = _operand(step, _LENGTHS) is not None
    if has_lengths and any(settings.backwards) and at.opset < _REVERSES_SEQUENCES:
        return "the opset has no ReverseSequence", "convert it to opset 10"
    return None


def _hidden(step: Leaf, settings: Settings, at: PassContext) -> int | None:
    """The hidden size from R, W or the attribute."""
    w, r = (at.shape(_operand(step, position)) for position in (1, 2))
    if r is not None and len(r) == _RANK and isinstance(r[2], int):
        return r[2]
    if w is not None and len(w) == _RANK and isinstance(w[1], int):
        return w[1] // GATES[step.op]
    return settings.hidden


def _operand(step: Leaf, position: int) -> Value | None:
    return step.operands[position] if position < len(step.operands) else None


@dataclass(slots=True)
class _Expansion:
    """One operator during its expansion, in `dtype`. `of_one`: over one item."""

    step: Leaf
    settings: Settings
    to: Writer
    dtype: DType
    of_one: bool

    def results(self) -> Sequence[Value]:
        """Y and the last states, over every direction and in the requested layout."""
        x = self._read(0)
        assert x is not None, "the schema has X"
        if self.settings.layout:
            x = self.to.leaf("Transpose", x, perm=[1, 0, 2])
        ys, lasts = [], []
        for number in range(len(self.settings.backwards)):
            y, *last = self._direction(number, x)
            ys.append(self.to.unsqueeze(y, 1))
            lasts.append([self.to.unsqueeze(state, 0) for state in last])
        made = [self._joined(ys, 1), *(self._joined(each, 0) for each in zip(*lasts, strict=True))]
        if self.settings.layout:
            orders = ([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])
            pairs = zip(made, orders, strict=False)
            made = [self.to.leaf("Transpose", value, perm=order) for value, order in pairs]
        narrow = self.to.at.dtype(self.step.operands[0])
        if narrow is None or narrow is self.dtype:
            return made
        return [self.to.cast(value, narrow) for value in made]

    def _joined(self, parts: Sequence[Value], axis: int) -> Value:
        return parts[0] if len(parts) == 1 else self.to.leaf("Concat", *parts, axis=axis)

    def _read(self, position: int) -> Value | None:
        value = _operand(self.step, position)
        if value is None or self.to.at.dtype(value) in (self.dtype, DType.INT32):
            return value
        return self.to.cast(value, self.dtype)

    def _of_direction(self, position: int, number: int) -> Value | None:
        value = self._read(position)
        if value is None:
            return None
        if len(self.settings.backwards) == 1:
            return self.to.squeeze(value, 0)
        return self.to.item(value, number, 0)

    def _direction(self, number: int, x: Value) -> Sequence[Value]:
        """Y [time, batch, hidden] and the last states [batch, hidden] of one direction."""
        to, backwards = self.to, self.settings.backwards[number]
        hidden = _hidden(self.step, self.settings, to.at)
        assert hidden is not None, "looked at before"
        weights = self._weights(number, hidden)
        states = [self._initial(which, number, x, hidden) for which in range(STATES[self.step.op])]
        lengths = self._read(_LENGTHS)
        turned = backwards and lengths is not None
        if turned:
            x = self._turned(x, lengths)
        inside = to if self.of_one else Writer(to.at)
        cell = Cell(
            inside, self.settings, self.settings.activations[number], self.dtype, hidden, weights
        )
        if self.of_one:
            made = cell.step(to.squeeze(x, 0), states)
            return [to.unsqueeze(made[0], 0), *made]
        body = _body(cell, lengths)
        if lengths is not None:
            states.append(to.number(0, DType.INT32))
        way = backwards and not turned
        slices = [(x, Sliced(0, way))]
        *last, y = to.scan(body, states, slices, [Stacked(0, way)])
        return [self._turned(y, lengths) if turned else y, *last[: STATES[self.step.op]]]

    def _turned(self, x: Value, lengths: Value | None) -> Value:
        """Reverse each sequence of [time, batch, ...] from its own end."""
        assert lengths is not None
        longs = self.to.cast(lengths, DType.INT64)
        return self.to.leaf("ReverseSequence", x, longs, batch_axis=1, time_axis=0)

    def _initial(self, which: int, number: int, x: Value, hidden: int) -> Value:
        given = _operand(self.step, _INITIALS + which)
        if given is not None:
            value = self._read(_INITIALS + which)
            assert value is not None
            # layout 1 has the batch first
            axis = 1 if self.settings.layout else 0
            if len(self.settings.backwards) == 1:
                return self.to.squeeze(value, axis)
            return self.to.item(value, number, axis)
        batch = self.to.slice(self.to.leaf("Shape", x), 1, 2, 0)
        shape = self.to.leaf("Concat", batch, self.to.ints(hidden), axis=0)
        return self.to.full(shape, 0, self.dtype)

    def _weights(self, number: int, hidden: int) -> Weights:
        to, op, gates = self.to, self.step.op, GATES[self.step.op]
        w, r = self._of_direction(1, number), self._of_direction(2, number)
        assert w is not None, "the schema has W"
        assert r is not None, "the schema has R"
        from_x = to.leaf("Transpose", w, perm=[1, 0])
        both = self._of_direction(3, number)
        biases = [] if both is None else [*to.split(both, 2, 0)]
        if op == "GRU":
            rows = [(0, 2 * hidden), (2 * hidden, 3 * hidden)]
            parts = [to.slice(r, *row, 0) for row in rows]
            from_h = [to.leaf("Transpose", part, perm=[1, 0]) for part in parts]
            of_h = [to.slice(biases[1], *row, 0) for row in rows] if biases else []
            return Weights(from_x, from_h, biases[0] if biases else None, of_h)
        bias = to.leaf("Add", *biases) if biases else None
        sees = self._of_direction(_PEEPHOLES, number) if gates == GATES["LSTM"] else None
        peepholes = () if sees is None else to.split(sees, 3, 0)
        return Weights(from_x, [to.leaf("Transpose", r, perm=[1, 0])], bias, (), peepholes)


def _body(cell: Cell, lengths: Value | None) -> Block:
    """The body of the Scan: the cell, and the handling of ended sequences."""
    to = cell.to
    x, states = Value("x"), [Value(name) for name in ("h", "c")[: STATES[cell.settings.op]]]
    made = list(cell.step(x, states))
    shown, carried = made[0], states
    if lengths is not None:
        time = Value("time")
        alive = to.unsqueeze(to.leaf("Less", time, lengths), 1)
        zero = to.number(0, cell.dtype)
        shown = to.leaf("Where", alive, made[0], zero)
        made = [to.leaf("Where", alive, new, old) for new, old in zip(made, states, strict=True)]
        carried = [*states, time]
        made.append(to.leaf("Add", time, to.number(1, DType.INT32)))
    return Block(
        params=(*carried, x),
        constants=tuple(to.constants),
        steps=tuple(to.steps),
        results=(None, *made, shown),
        name=f"{cell.settings.op.lower()}_step",
    )
