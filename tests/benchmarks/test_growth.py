"""Growth of time and memory is measured in fresh processes, and unexpected growth is reported."""

from benchmarks.growth import Cost, faults, main


def test_time_that_grows_with_the_trip_count_is_reported():
    even = [Cost(10, 1e-6, 0.0, 100.0), Cost(100, 2e-6, 0.0, 100.0)]
    assert faults("a", even) == []
    (told,) = faults("a", [even[0], even[1]._replace(seconds=3e-6)])
    assert told == "a: a trip of 100 costs 3.0 times one of 10"


def test_memory_may_grow_with_results_only():
    first = Cost(10, 1e-6, 1.0, 100.0)
    assert faults("a", [first, Cost(100, 1e-6, 11.0, 130.0)]) == []
    (told,) = faults("a", [first, Cost(100, 1e-6, 1.0, 130.0)])
    assert told == "a: memory grew by 30 MB, results by 0.0 MB"


def test_a_model_is_measured(capsys):
    main(["savings", "--most", "1000"])
    assert "savings         1000 trips" in capsys.readouterr().out
