"""Rules for the batch axis, operator by operator; an operator without a rule may mix rows.

Add (x[N,4], y[4])        N stays where it is, counted from the back
MatMul (x[T,N,4], w[4,8]) N stays; as the last axis of x it would be summed over
Transpose, Reshape ...    N goes with its axis
Softmax, ReduceSum ...    N stays, if it is none of their axes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from treadle.batching import extents, views
from treadle.batching.states import Axis, Extents, Mixed, Operator, State, depends, shape_of

Rule = Callable[[Operator], State]

_RANDOM = frozenset(
    {
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
        "RandomUniformLike",
    }
)  # fmt: skip


def result_states(given: Operator) -> list[State]:
    """The states of the results of a leaf; raises Mixed if a row may depend on other rows."""
    leaf, count = given.leaf, len(given.leaf.results)
    if leaf.op in _RANDOM:
        raise Mixed(f"{leaf.op} draws different numbers for different batches")
    if leaf.op in extents.RULES and not leaf.domain and _made_of_extents(given):
        return [extents.RULES[leaf.op](given)] * count
    if not any(map(depends, given.states)):
        return [None] * count
    several = None if leaf.domain else SEVERAL.get(leaf.op)
    if several is not None:
        return several(given)[:count]
    rule = None if leaf.domain else RULES.get(leaf.op)
    if rule is None:
        raise Mixed(f"there is no rule for {leaf.op}")
    return [rule(given)] * count


def _made_of_extents(given: Operator) -> bool:
    """Whether it computes on shapes: Shape and Size always, others if no operand has rows."""
    if given.leaf.op in ("Shape", "Size"):
        return True
    return any(isinstance(state, Extents) for state in given.states) and not any(
        isinstance(state, Axis) for state in given.states
    )


def broadcast(given: Operator, positions: range | None = None) -> State:
    """Elementwise: all rows on one axis counted from the back, no other elements along it."""
    chosen = range(len(given.states)) if positions is None else positions
    found: set[int] = set()
    for position in chosen:
        state = given.state(position)
        if isinstance(state, Axis):
            found.add(state.number - given.rank(position))
        elif depends(state):
            raise Mixed("it computes with the number of rows")
    if len(found) != 1:
        raise Mixed("its operands have their rows along different axes")
    (back,) = found
    ranks = [given.rank(k) for k in chosen if given.leaf.operands[k] is not None]
    for position in chosen:
        if not isinstance(given.state(position), Axis):
            _expect_shared(given, position, back)
    return Axis(max(ranks) + back)


def _expect_shared(given: Operator, position: int, back: int) -> None:
    """Raise Mixed if an operand without rows differs along their axis, counted from the back."""
    if not given.is_present(position) or -back > given.rank(position):
        return
    shape = shape_of(given.leaf.operands[position])
    if shape is None or shape[back] != 1:
        raise Mixed(f"operand {position} has elements of its own for each row")


def _matmul(given: Operator) -> State:
    """MatMul (..., m, k) x (..., k, n): neither operand may have its rows along k."""
    left, right = given.state(0), given.state(1)
    ranks = given.rank(0), given.rank(1)
    places = [
        state.number - rank if isinstance(state, Axis) else None
        for state, rank in zip((left, right), ranks, strict=True)
    ]
    if any(depends(s) and not isinstance(s, Axis) for s in (left, right)) or min(ranks) < 2:
        raise Mixed("it may sum over the rows")
    if places[0] == -1 or places[1] == -2:
        raise Mixed("it sums over the rows")
    found = {index for index in places if index is not None}
    if len(found) != 1:
        raise Mixed("it combines every row of one operand with every row of the other")
    (back,) = found
    other = 1 if places[0] is not None else 0
    if places[other] is None and back < -2:
        _expect_shared(given, other, back)
    if None not in places and back >= -2:
        raise Mixed("it combines every row of one operand with every row of the other")
    return Axis(max(ranks) + back)


def _gemm(given: Operator) -> State:
    given.only(0, 1, 2)
    left, right = given.state(0), given.state(1)
    if depends(left) == depends(right):
        raise Mixed("it combines every row of one operand with every row of the other")
    position = 0 if depends(left) else 1
    is_transposed = bool(given.attribute("transA" if position == 0 else "transB", 0))
    rows = given.axis(position)
    wanted = (1 if is_transposed else 0) if position == 0 else (0 if is_transposed else 1)
    if rows != wanted:
        raise Mixed("it sums over the rows")
    added = given.state(2)
    if isinstance(added, Axis):
        if added.number - given.rank(2) != position - 2:
            raise Mixed("the summand has its rows along another axis")
    else:
        _expect_shared(given, 2, position - 2)
    return Axis(position)


def _not_along(name: str, default: int) -> Rule:
    """Keep the axis if the operator does not work along it."""

    def rule(given: Operator) -> State:
        given.only(0)
        rows, axis = given.axis(), int(given.attribute(name, default))
        if axis + (given.rank(0) if axis < 0 else 0) == rows:
            raise Mixed("it works along the rows")
        return Axis(rows)

    return rule


def _softmax(given: Operator) -> State:
    """Softmax; before version 13 it normalises over all axes from `axis` on."""
    rows, axis = given.axis(), int(given.attribute("axis", -1))
    axis += given.rank(0) if axis < 0 else 0
    if rows == axis or (given.leaf.version < 13 and rows >= axis):
        raise Mixed("it normalises over the rows")
    return Axis(rows)


def _normalised_from(given: Operator) -> State:
    given.only(0)
    rows, axis = given.axis(), int(given.attribute("axis", -1))
    if rows >= axis + (given.rank(0) if axis < 0 else 0):
        raise Mixed("it normalises over the rows")
    return Axis(rows)


def _first_axis(given: Operator) -> State:
    """Operators whose first axis is the batch by the standard: Conv, pools, and others."""
    given.only(0)
    if given.axis() != 0:
        raise Mixed("its rows are not along the first axis")
    return Axis(0)


def _batch_normalised(given: Operator) -> State:
    is_training = given.attribute("training_mode", 0) or not given.attribute("is_test", 1)
    if is_training or any(given.leaf.results[1:]):
        raise Mixed("in training it normalises with the means of the batch")
    return _first_axis(given)


def _all_first_axes(given: Operator) -> State:
    if any(depends(s) and s != Axis(0) for s in given.states):
        raise Mixed("its rows are not along the first axis")
    for position, (state, operand) in enumerate(
        zip(given.states, given.leaf.operands, strict=True)
    ):
        shape = shape_of(operand) or ()
        if operand is not None and not depends(state) and position < 3 and shape[:1] != (1,):
            raise Mixed(f"operand {position} is shared by all rows")
    return Axis(0)


def _cumsum(given: Operator) -> State:
    given.only(0)
    axis = given.constant(1)
    if axis is None:
        raise Mixed("its axis is not constant")
    number = int(axis.reshape(-1)[0])
    if number + (given.rank(0) if number < 0 else 0) == given.axis():
        raise Mixed("it sums over the rows")
    return Axis(given.axis())


def _einsum(given: Operator) -> State:
    terms, _, result = str(given.attribute("equation", "")).replace(" ", "").partition("->")
    if "." in terms or not result:
        raise Mixed("its equation has an ellipsis or no result")
    letters = set()
    words = terms.split(",")
    for position, word in enumerate(words):
        if depends(given.state(position)):
            letters.add(word[given.axis(position)])
    if len(letters) != 1:
        raise Mixed("its operands name the rows by different letters")
    (letter,) = letters
    others = (w for k, w in enumerate(words) if not depends(given.state(k)))
    if letter not in result or any(letter in word for word in others):
        raise Mixed("it sums over the rows, or shares an operand between them")
    if any(word.count(letter) > 1 for word in words):
        raise Mixed("it takes a diagonal over the rows")
    return Axis(result.index(letter))


def _recurrent(given: Operator) -> list[State]:
    """Recurrent operators: X [time, batch, ...] and states; with layout 1 the batch comes first."""
    is_first = bool(given.attribute("layout", 0))
    given.only(0, 4, 5, 6)
    wanted = {0: 0, 4: 0, 5: 0, 6: 0} if is_first else {0: 1, 4: 0, 5: 1, 6: 1}
    for position, axis in wanted.items():
        state = given.state(position)
        if depends(state) and state != Axis(axis):
            raise Mixed("its rows are not along its batch axis")
        if position and not depends(state) and given.is_present(position):
            raise Mixed(f"operand {position} has elements of its own for each row")
    if not depends(given.state(0)):
        raise Mixed("its sequence is shared by all rows")
    states = Axis(0 if is_first else 1)
    return [Axis(0 if is_first else 2), states, states]


def _each(rule: Rule, count: int) -> Callable[[Operator], list[State]]:
    return lambda given: [rule(given)] * count


SEVERAL: Mapping[str, Callable[[Operator], list[State]]] = {
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
    "LayerNormalization": _each(_normalised_from, 3),
    "TopK": _each(_not_along("axis", -1), 2),
    "Split": lambda given: [_not_along("axis", 0)(given)] * len(given.leaf.results),
}

_ELEMENTWISE = (
    "Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "BitShift",
    "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike", "Ceil", "Celu",
    "Clip", "Cos", "Cosh", "Div", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater",
    "GreaterOrEqual", "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu",
    "Less", "LessOrEqual", "Log", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not",
    "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign",
    "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Swish", "Tan", "Tanh",
    "ThresholdedRelu", "Where", "Xor", "StringConcat",
)  # fmt: skip

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE, broadcast),
    **views.RULES,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "Hardmax": _softmax,
    "ArgMax": views.reduced_along("axis"),
    "ArgMin": views.reduced_along("axis"),
    "RMSNormalization": _normalised_from,
    "LpNormalization": _not_along("axis", -1),
    "CumSum": _cumsum,
    "Einsum": _einsum,
    **dict.fromkeys(
        ("AveragePool", "Conv", "ConvTranspose", "DepthToSpace",
         "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "InstanceNormalization", "LRN",
         "LpPool", "MaxPool", "SpaceToDepth", "GroupNormalization"),
        _first_axis,
    ),
    "BatchNormalization": _batch_normalised,
    "Attention": _all_first_axes,
}  # fmt: skip
