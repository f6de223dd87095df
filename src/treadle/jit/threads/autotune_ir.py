"""Online autotuning of parallelism while a kernel runs; LLVM IR text for pool_ir.

    nest     -, time, cost, calls, spent, length, alone, shared, was helped, age

Each run measures whether workers pay off. It first runs single-threaded for `patience` nanoseconds,
then in parallel, and compares the least time between two calls of a nest, per nanosecond of
estimated cost, of both modes. The first nest that is called often enough decides for all. If
parallel calls are not faster, or a worker was preempted inside its part, everything runs
single-threaded for a while, longer each time; otherwise the single-threaded time is measured again
occasionally. A nest whose cost exceeds eight times the patience runs in parallel at once.

    note      record the time of the previous call
    turn      end of a measuring period: choose the next mode
    part      run single-threaded for a while
"""

from __future__ import annotations

TEXT = """
define internal void @note(ptr %team, ptr %nest, i64 %now) noinline {
entry:
  %time_at = getelementptr i64, ptr %nest, i64 1
  %cost_at = getelementptr i64, ptr %nest, i64 2
  %helped_at = getelementptr i64, ptr %nest, i64 8
  %mode_at = getelementptr i64, ptr %team, i64 3
  %mode = load i64, ptr %mode_at
  %time = load i64, ptr %time_at
  %cost = load i64, ptr %cost_at
  %helped = load i64, ptr %helped_at
  %is_same = icmp eq i64 %mode, %helped
  br i1 %is_same, label %take, label %out
take:
  %best_number = add i64 %mode, 6
  %best_at = getelementptr i64, ptr %nest, i64 %best_number
  %best = load i64, ptr %best_at
  %elapsed = sub i64 %now, %time
  %fine = mul i64 %elapsed, 1024
  %some = or i64 %cost, 1
  %pace = udiv i64 %fine, %some
  %is_better = icmp ult i64 %pace, %best
  %least = select i1 %is_better, i64 %pace, i64 %best
  store i64 %least, ptr %best_at
  br label %out
out:
  ret void
}

define internal void @part(ptr %team) noinline {
entry:
  %patience_at = getelementptr i64, ptr %team, i64 1
  %mode_at = getelementptr i64, ptr %team, i64 3
  %judge_at = getelementptr i64, ptr %team, i64 4
  %stalled_at = getelementptr i64, ptr %team, i64 6
  %penalty_at = getelementptr i64, ptr %team, i64 7
  %left_at = getelementptr i64, ptr %team, i64 8
  %patience = load i64, ptr %patience_at
  %penalty = load i64, ptr %penalty_at
  %is_first = icmp ult i64 %penalty, 32
  %least = select i1 %is_first, i64 32, i64 %penalty
  %pause = mul i64 %patience, %least
  %longer = mul i64 %least, 4
  %is_most = icmp ugt i64 %longer, 4096
  %more = select i1 %is_most, i64 4096, i64 %longer
  store i64 %more, ptr %penalty_at
  store i64 %pause, ptr %left_at
  store i64 0, ptr %mode_at
  store i64 0, ptr %stalled_at
  %judge = load ptr, ptr %judge_at
  store ptr null, ptr %judge_at
  %is_open = icmp eq ptr %judge, null
  br i1 %is_open, label %out, label %forget
forget:
  %time_at = getelementptr i64, ptr %judge, i64 1
  store i64 0, ptr %time_at
  br label %out
out:
  ret void
}

define internal void @turn(ptr %team, ptr %nest) noinline {
entry:
  %patience_at = getelementptr i64, ptr %team, i64 1
  %calls_at = getelementptr i64, ptr %nest, i64 3
  %spent_at = getelementptr i64, ptr %nest, i64 4
  %length_at = getelementptr i64, ptr %nest, i64 5
  %alone_at = getelementptr i64, ptr %nest, i64 6
  %shared_at = getelementptr i64, ptr %nest, i64 7
  %age_at = getelementptr i64, ptr %nest, i64 9
  %penalty_at = getelementptr i64, ptr %team, i64 7
  %mode_at = getelementptr i64, ptr %team, i64 3
  %mode = load i64, ptr %mode_at
  %patience = load i64, ptr %patience_at
  %alone = load i64, ptr %alone_at
  %shared = load i64, ptr %shared_at
  store i64 0, ptr %calls_at
  store i64 0, ptr %spent_at
  store i64 -1, ptr %shared_at
  %is_alone = icmp eq i64 %mode, 0
  br i1 %is_alone, label %begin, label %judge
begin:
  store i64 1, ptr %mode_at
  %long = mul i64 %patience, 4
  store i64 %long, ptr %length_at
  call void @rouse(ptr %team)
  ret void
judge:
  %is_told = icmp ne i64 %shared, -1
  %mine = mul i64 %shared, 16
  %theirs = mul i64 %alone, 15
  %is_slow = icmp ugt i64 %mine, %theirs
  %is_bad = and i1 %is_told, %is_slow
  br i1 %is_bad, label %part, label %stay
part:
  call void @part(ptr %team)
  ret void
stay:
  %age = load i64, ptr %age_at
  %older = add i64 %age, 1
  store i64 %older, ptr %age_at
  call void @rouse(ptr %team)
  %is_good = icmp eq i64 %older, 8
  br i1 %is_good, label %forgive, label %grow
forgive:
  %penalty = load i64, ptr %penalty_at
  %less = lshr i64 %penalty, 2
  store i64 %less, ptr %penalty_at
  br label %grow
grow:
  %is_old = icmp ugt i64 %older, 100
  br i1 %is_old, label %again, label %out
again:
  store i64 %patience, ptr %length_at
  store i64 0, ptr %mode_at
  store i64 -1, ptr %alone_at
  store i64 0, ptr %age_at
  br label %out
out:
  ret void
}
"""
"""The functions."""
