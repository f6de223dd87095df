"""Adapters for operators on strings: the same by operators that compare strings."""

from __future__ import annotations

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.steps import first, two
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down

_FAR = 2**31


@down("Equal", 19)
def equal_strings(at: Rewriter, step: Leaf) -> Adapted:
    """Equal strings have the same number: from Unique, or their place in a constant."""
    x, y = two(step)
    if at.dtype(x) is not DType.STRING:
        return step
    for one, other in ((x, y), (y, x)):
        array = at.array(other)
        if array is not None and array.size:
            words = [str(word) for word in array.reshape(-1)]
            pool = list(dict.fromkeys(words))
            known = np.array([pool.index(word) for word in words]).reshape(array.shape)
            return at.op("Equal", _places(at, one, pool), at.const(known))
    return at.op("Equal", *_numbers(at, x, y))


def _numbers(at: Rewriter, *operands: Value) -> list[Value]:
    """The strings as numbers, the same for equal ones."""
    flat = [at.reshape(value, -1) for value in operands]
    numbers = at.ops("Unique", 4, at.concat(_empty_word(at), *flat))[2]
    start, found = at.ints(1), []
    for value, words in zip(operands, flat, strict=True):
        count = at.extent(words, 0)
        own = at.op("Gather", numbers, at.op("Add", places(at, count), start), axis=0)
        found.append(at.op("Reshape", own, at.op("Shape", value)))
        start = at.op("Add", start, count)
    return found


def _places(at: Rewriter, x: Value, pool: list[str]) -> Value:
    """The place of each string in the pool, -1 for any other."""
    words = at.concat(_empty_word(at), at.reshape(x, -1))
    counts = _counts(at, words, pool)
    place = at.op("ArgMax", counts, axis=1, keepdims=0)
    is_known = at.op("Greater", at.reduce("ReduceMax", counts, [1], keepdims=False),
                     at.const(np.float32(0.5)))  # fmt: skip
    place = at.op("Where", is_known, place, at.const(np.int64(-1)))
    return at.op("Reshape", at.slice(place, 1, _FAR, 0), at.op("Shape", x))


def _empty_word(at: Rewriter) -> Value:
    """A string to begin with, as the operators on strings take no empty tensor."""
    return at.const(np.array([""], object), DType.STRING)


@down("StringNormalizer", 10)
def without_stop_words(at: Rewriter, step: Leaf) -> Adapted:
    """Words that TfIdfVectorizer does not count as stop words; one empty word if none is left."""
    x, given = first(step), at.attributes(step)
    stop_words = list(dict.fromkeys(given.get("stopwords") or ()))
    changes = given["case_change_action"] != "NONE"
    if changes or (stop_words and not given["is_case_sensitive"]):
        raise NoForm("no older operator changes the case of letters")
    rank = at.rank(x)
    if rank not in (1, 2):
        raise NoForm("its operand has neither one axis nor two")
    words = x if rank == 1 else at.squeeze(x, 0)
    is_kept = at.slice(_differs(at, at.concat(_empty_word(at), words), stop_words), 1, _FAR, 0)
    none = at.op("Less", at.reduce("ReduceSum", at.cast(is_kept, DType.FLOAT32), [0]),
                 at.const(np.float32(0.5)))  # fmt: skip
    words = at.concat(words, _empty_word(at))
    words = at.compress(words, at.concat(is_kept, none), 0)
    return words if rank == 1 else at.unsqueeze(words, 0)


def _differs(at: Rewriter, words: Value, others: list[str]) -> Value:
    """Whether each word, string[count], is none of the others."""
    if not others:
        return at.full_like(words, True, DType.BOOL)
    total = at.reduce("ReduceSum", _counts(at, words, others), [1], keepdims=False)
    return at.op("Less", total, at.const(np.float32(0.5)))


def _counts(at: Rewriter, words: Value, pool: list[str]) -> Value:
    """For each word whether it is each one of the pool, float32[words, pool]."""
    return at.op(
        "TfIdfVectorizer", at.unsqueeze(words, 1), mode="TF",
        min_gram_length=1, max_gram_length=1, max_skip_count=0,
        ngram_counts=[0], ngram_indexes=list(range(len(pool))), pool_strings=pool,
    )  # fmt: skip
