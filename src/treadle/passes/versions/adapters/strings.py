"""Adapters for operators on strings: the same by operators that compare strings."""

from __future__ import annotations

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.steps import first, two
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down


@down("Equal", 19)
def equal_strings(at: Rewriter, step: Leaf) -> Adapted:
    """Strings are equal if Unique gives them the same number."""
    x, y = two(step)
    if at.dtype(x) is not DType.STRING:
        return step
    flat = [at.reshape(value, -1) for value in (x, y)]
    words = at.concat(at.const(np.array([""], object), DType.STRING), *flat)
    numbers = at.ops("Unique", 4, words)[2]
    counts = [at.extent(value, 0) for value in flat]
    starts = [at.ints(1), at.op("Add", counts[0], at.ints(1))]
    found = []
    for value, start, count in zip((x, y), starts, counts, strict=True):
        own = at.op("Gather", numbers, at.op("Add", places(at, count), start), axis=0)
        found.append(at.op("Reshape", own, at.op("Shape", value)))
    return at.op("Equal", *found)


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
    is_kept = _differs(at, words, stop_words)
    none = at.op("Less", at.reduce("ReduceSum", at.cast(is_kept, DType.FLOAT32), [0]),
                 at.const(np.float32(0.5)))  # fmt: skip
    words = at.concat(words, at.const(np.array([""], object), DType.STRING))
    words = at.compress(words, at.concat(is_kept, none), 0)
    return words if rank == 1 else at.unsqueeze(words, 0)


def _differs(at: Rewriter, words: Value, others: list[str]) -> Value:
    """Whether each word, string[count], is none of the others."""
    if not others:
        return at.full_like(words, True, DType.BOOL)
    counts = at.op(
        "TfIdfVectorizer", at.unsqueeze(words, 1), mode="TF",
        min_gram_length=1, max_gram_length=1, max_skip_count=0,
        ngram_counts=[0], ngram_indexes=list(range(len(others))), pool_strings=others,
    )  # fmt: skip
    total = at.reduce("ReduceSum", counts, [1], keepdims=False)
    return at.op("Less", total, at.const(np.float32(0.5)))
