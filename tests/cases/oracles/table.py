"""The rows of the Loop operator's table of (trip count, condition)."""

from __future__ import annotations

from tests.cases.oracles import f32, stacked


def _count(s, limit, trips=None, go=True, stops=True):
    """Adds one to s while the row's two tests hold; the body's condition is s < limit."""
    values, i = [], 0
    while go and (trips is None or i < trips):
        s = f32(s + 1)
        values.append(s)
        go = s < limit if stops else True
        i += 1
    return s, stacked(values)


def neither(s, limit):
    return _count(s, limit)


def only_condition(go, s, limit):
    return _count(s, limit, go=go)


def condition_one(s, limit):
    return _count(s, limit)


def only_trip_count(trips, s, limit):
    return _count(s, limit, trips)


def only_trip_count_read_literally(trips, s, limit):
    return _count(s, limit, trips, stops=False)


def both(trips, go, s, limit):
    return _count(s, limit, trips, go)
