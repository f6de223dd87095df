"""Online autotuning of parallelism while a kernel runs; LLVM IR text for pool_ir.

    nest     -, time, cost, calls, work, period, serial time, parallel time, was parallel, age

Each run measures whether workers pay off. It first runs single-threaded for `patience` nanoseconds,
then in parallel, and compares the least time between two calls of a nest, per nanosecond of
estimated cost, of both modes. The first nest that is called often enough decides for all. If
parallel calls are not faster, or a worker was preempted inside its chunk, everything runs
single-threaded for a while, longer each time; otherwise the single-threaded time is measured again
occasionally. A nest whose cost exceeds eight times the patience runs in parallel at once.

    record_time   record the time of the previous call
    choose_mode   end of a measuring period: choose the next mode
    back_off      run single-threaded for a while
"""

from __future__ import annotations

TEXT = """
define internal void @record_time(ptr %pool, ptr %nest, i64 %now) noinline {
entry:
  %time_at = getelementptr i64, ptr %nest, i64 1
  %cost_at = getelementptr i64, ptr %nest, i64 2
  %was_parallel_at = getelementptr i64, ptr %nest, i64 8
  %mode_at = getelementptr i64, ptr %pool, i64 3
  %mode = load i64, ptr %mode_at
  %time = load i64, ptr %time_at
  %cost = load i64, ptr %cost_at
  %was_parallel = load i64, ptr %was_parallel_at
  %is_same = icmp eq i64 %mode, %was_parallel
  br i1 %is_same, label %update, label %out
update:
  %best_index = add i64 %mode, 6
  %best_at = getelementptr i64, ptr %nest, i64 %best_index
  %best = load i64, ptr %best_at
  %elapsed = sub i64 %now, %time
  %scaled_elapsed = mul i64 %elapsed, 1024
  %nonzero_cost = or i64 %cost, 1
  %time_per_cost = udiv i64 %scaled_elapsed, %nonzero_cost
  %is_better = icmp ult i64 %time_per_cost, %best
  %least = select i1 %is_better, i64 %time_per_cost, i64 %best
  store i64 %least, ptr %best_at
  br label %out
out:
  ret void
}

define internal void @back_off(ptr %pool) noinline {
entry:
  %patience_at = getelementptr i64, ptr %pool, i64 1
  %mode_at = getelementptr i64, ptr %pool, i64 3
  %decider_at = getelementptr i64, ptr %pool, i64 4
  %stalled_at = getelementptr i64, ptr %pool, i64 6
  %backoff_at = getelementptr i64, ptr %pool, i64 7
  %pause_left_at = getelementptr i64, ptr %pool, i64 8
  %patience = load i64, ptr %patience_at
  %backoff = load i64, ptr %backoff_at
  %is_first = icmp ult i64 %backoff, 32
  %current_backoff = select i1 %is_first, i64 32, i64 %backoff
  %pause = mul i64 %patience, %current_backoff
  %longer_backoff = mul i64 %current_backoff, 4
  %exceeds_most = icmp ugt i64 %longer_backoff, 4096
  %next_backoff = select i1 %exceeds_most, i64 4096, i64 %longer_backoff
  store i64 %next_backoff, ptr %backoff_at
  store i64 %pause, ptr %pause_left_at
  store i64 0, ptr %mode_at
  store i64 0, ptr %stalled_at
  %decider = load ptr, ptr %decider_at
  store ptr null, ptr %decider_at
  %is_undecided = icmp eq ptr %decider, null
  br i1 %is_undecided, label %out, label %reset_decider
reset_decider:
  %time_at = getelementptr i64, ptr %decider, i64 1
  store i64 0, ptr %time_at
  br label %out
out:
  ret void
}

define internal void @choose_mode(ptr %pool, ptr %nest) noinline {
entry:
  %patience_at = getelementptr i64, ptr %pool, i64 1
  %calls_at = getelementptr i64, ptr %nest, i64 3
  %work_at = getelementptr i64, ptr %nest, i64 4
  %period_at = getelementptr i64, ptr %nest, i64 5
  %serial_time_at = getelementptr i64, ptr %nest, i64 6
  %parallel_time_at = getelementptr i64, ptr %nest, i64 7
  %age_at = getelementptr i64, ptr %nest, i64 9
  %backoff_at = getelementptr i64, ptr %pool, i64 7
  %mode_at = getelementptr i64, ptr %pool, i64 3
  %mode = load i64, ptr %mode_at
  %patience = load i64, ptr %patience_at
  %serial_time = load i64, ptr %serial_time_at
  %parallel_time = load i64, ptr %parallel_time_at
  store i64 0, ptr %calls_at
  store i64 0, ptr %work_at
  store i64 -1, ptr %parallel_time_at
  %is_serial = icmp eq i64 %mode, 0
  br i1 %is_serial, label %start_parallel, label %compare
start_parallel:
  store i64 1, ptr %mode_at
  %longer_period = mul i64 %patience, 4
  store i64 %longer_period, ptr %period_at
  call void @wake_all(ptr %pool)
  ret void
compare:
  %is_measured = icmp ne i64 %parallel_time, -1
  %scaled_parallel = mul i64 %parallel_time, 16
  %scaled_serial = mul i64 %serial_time, 15
  %is_slow = icmp ugt i64 %scaled_parallel, %scaled_serial
  %is_no_gain = and i1 %is_measured, %is_slow
  br i1 %is_no_gain, label %no_gain, label %keep_parallel
no_gain:
  call void @back_off(ptr %pool)
  ret void
keep_parallel:
  %age = load i64, ptr %age_at
  %next_age = add i64 %age, 1
  store i64 %next_age, ptr %age_at
  call void @wake_all(ptr %pool)
  %has_paid = icmp eq i64 %next_age, 8
  br i1 %has_paid, label %shorten_backoff, label %check_age
shorten_backoff:
  %backoff = load i64, ptr %backoff_at
  %shorter = lshr i64 %backoff, 2
  store i64 %shorter, ptr %backoff_at
  br label %check_age
check_age:
  %is_old = icmp ugt i64 %next_age, 100
  br i1 %is_old, label %measure_serial, label %out
measure_serial:
  store i64 %patience, ptr %period_at
  store i64 0, ptr %mode_at
  store i64 -1, ptr %serial_time_at
  store i64 0, ptr %age_at
  br label %out
out:
  ret void
}
"""
"""The functions."""
