"""What helpers and the run they help do, in LLVM: `treadle_serve` and `treadle_share` of jit/team.

    line     word, function, data, asleep, end of its pipe to read, to write, number, -, parts
    team     helpers, patience, waits, mode, start, cost, pace, begun, length, stolen, penalty, age;
             then the lines, 128 bytes each

A run tries whether help pays. It shares nothing for as long as `patience` says, and takes its pace:
time for each nanosecond of the costs that it could have shared. Then it shares. Where that is not
faster, by the same measure, it lets the helpers sleep for a while, a longer one each time; where
it is, it goes on, and takes its own pace again now and then.
"""

from __future__ import annotations

_PROCESSORS = {
    "x86_64": ("llvm.x86.sse2.pause()", "llvm.readcyclecounter()"),
    "aarch64": ("llvm.aarch64.hint(i32 1)", "llvm.readsteadycounter()"),
}
"""What a processor is told that waits for another, and what tells time."""

_TEXT = """
declare i64 @read(i32, ptr, i64)
declare i64 @write(i32, ptr, i64)
declare i32 @sched_yield()

define internal void @wait(i64 %turns) {
  PAUSE
  %is_long = icmp ugt i64 %turns, 4000
  br i1 %is_long, label %others, label %out
others:
  %ignored = call i32 @sched_yield()
  br label %out
out:
  ret void
}

define internal void @wake(ptr %line) noinline {
  %asleep = getelementptr i64, ptr %line, i64 3
  store atomic i64 0, ptr %asleep seq_cst, align 8
  %end_at = getelementptr i64, ptr %line, i64 5
  %wide = load i64, ptr %end_at
  %end = trunc i64 %wide to i32
  %byte = alloca i8
  store i8 1, ptr %byte
  %ignored = call i64 @write(i32 %end, ptr %byte, i64 1)
  ret void
}

define i64 @treadle_serve(ptr %line) {
entry:
  %byte = alloca i8
  %function_at = getelementptr i64, ptr %line, i64 1
  %data_at = getelementptr i64, ptr %line, i64 2
  %asleep = getelementptr i64, ptr %line, i64 3
  %end_at = getelementptr i64, ptr %line, i64 4
  %number_at = getelementptr i64, ptr %line, i64 6
  %parts_at = getelementptr i64, ptr %line, i64 8
  %wide = load i64, ptr %end_at
  %end = trunc i64 %wide to i32
  %number = load i64, ptr %number_at
  br label %sleep
sleep:
  store atomic i64 1, ptr %asleep seq_cst, align 8
  %got = call i64 @read(i32 %end, ptr %byte, i64 1)
  store atomic i64 0, ptr %asleep seq_cst, align 8
  %is_closed = icmp eq i64 %got, 0
  br i1 %is_closed, label %out, label %look
look:
  %turns = phi i64 [0, %sleep], [%more, %idle], [0, %work], [%turns, %offered]
  %word = load atomic i64, ptr %line acquire, align 8
  switch i64 %word, label %idle [i64 1, label %offered
                                 i64 4, label %sleep]
idle:
  call void @wait(i64 %turns)
  %more = add i64 %turns, 1
  %is_tired = icmp ugt i64 %more, 12000
  br i1 %is_tired, label %sleep, label %look
offered:
  %pair = cmpxchg ptr %line, i64 1, i64 2 acq_rel monotonic
  %is_mine = extractvalue {i64, i1} %pair, 1
  br i1 %is_mine, label %work, label %look
work:
  %function = load ptr, ptr %function_at
  %data = load ptr, ptr %data_at
  %parts = load i64, ptr %parts_at
  call void %function(ptr %data, i64 %number, i64 %parts)
  store atomic i64 3, ptr %line release, align 8
  br label %look
out:
  ret i64 0
}

define internal void @settle(ptr %team, i64 %word, i1 %wakes) noinline {
entry:
  %helpers = load i64, ptr %team
  br label %next
next:
  %k = phi i64 [1, %entry], [%following, %done]
  %line = getelementptr [16 x i64], ptr %team, i64 %k
  store atomic i64 %word, ptr %line release, align 8
  %asleep_at = getelementptr i64, ptr %line, i64 3
  %asleep = load atomic i64, ptr %asleep_at seq_cst, align 8
  %is_asleep = icmp ne i64 %asleep, 0
  %is_wanted = and i1 %is_asleep, %wakes
  br i1 %is_wanted, label %rouse, label %done
rouse:
  call void @wake(ptr %line)
  br label %done
done:
  %following = add i64 %k, 1
  %is_last = icmp uge i64 %k, %helpers
  br i1 %is_last, label %out, label %next
out:
  ret void
}

define internal void @turn(ptr %team, i64 %now) noinline {
entry:
  %patience_at = getelementptr i64, ptr %team, i64 1
  %mode_at = getelementptr i64, ptr %team, i64 3
  %start_at = getelementptr i64, ptr %team, i64 4
  %cost_at = getelementptr i64, ptr %team, i64 5
  %pace_at = getelementptr i64, ptr %team, i64 6
  %begun_at = getelementptr i64, ptr %team, i64 7
  %length_at = getelementptr i64, ptr %team, i64 8
  %stolen_at = getelementptr i64, ptr %team, i64 9
  %penalty_at = getelementptr i64, ptr %team, i64 10
  %age_at = getelementptr i64, ptr %team, i64 11
  %patience = load i64, ptr %patience_at
  %mode = load i64, ptr %mode_at
  %start = load i64, ptr %start_at
  %cost = load i64, ptr %cost_at
  %pace = load i64, ptr %pace_at
  %begun = load i64, ptr %begun_at
  %stolen = load i64, ptr %stolen_at
  %penalty = load i64, ptr %penalty_at
  %age = load i64, ptr %age_at
  %elapsed = sub i64 %now, %start
  %fine = mul i64 %elapsed, 1024
  %found = udiv i64 %fine, %cost
  store i64 %now, ptr %start_at
  store i64 0, ptr %cost_at
  store i64 0, ptr %begun_at
  store i64 0, ptr %stolen_at
  %is_alone = icmp eq i64 %mode, 0
  br i1 %is_alone, label %begin, label %judge
begin:
  store i64 %found, ptr %pace_at
  store i64 1, ptr %mode_at
  store i64 0, ptr %age_at
  %long = mul i64 %patience, 2
  store i64 %long, ptr %length_at
  call void @settle(ptr %team, i64 3, i1 true)
  ret void
judge:
  %stolen_much = mul i64 %stolen, 4
  %is_helped = icmp ult i64 %stolen_much, %begun
  %mine = mul i64 %found, 16
  %theirs = mul i64 %pace, 15
  %is_slow = icmp ugt i64 %mine, %theirs
  %is_settled = icmp ne i64 %age, 0
  %is_told = and i1 %is_helped, %is_settled
  %is_bad = and i1 %is_told, %is_slow
  br i1 %is_bad, label %part, label %stay
part:
  store i64 0, ptr %mode_at
  %pause = mul i64 %patience, %penalty
  store i64 %pause, ptr %length_at
  %longer = mul i64 %penalty, 4
  %is_most = icmp ugt i64 %longer, 1024
  %more = select i1 %is_most, i64 1024, i64 %longer
  store i64 %more, ptr %penalty_at
  call void @settle(ptr %team, i64 4, i1 false)
  ret void
stay:
  %older = add i64 %age, 1
  store i64 %older, ptr %age_at
  call void @settle(ptr %team, i64 3, i1 true)
  %is_old = icmp ugt i64 %older, 256
  br i1 %is_old, label %anew, label %out
anew:
  store i64 0, ptr %mode_at
  store i64 %patience, ptr %length_at
  br label %out
out:
  ret void
}

define void @treadle_share(ptr %team, ptr %function, ptr %data, i64 %cost) {
entry:
  %helpers = load i64, ptr %team
  %parts = add i64 %helpers, 1
  %waits_at = getelementptr i64, ptr %team, i64 2
  %mode_at = getelementptr i64, ptr %team, i64 3
  %start_at = getelementptr i64, ptr %team, i64 4
  %cost_at = getelementptr i64, ptr %team, i64 5
  %begun_at = getelementptr i64, ptr %team, i64 7
  %length_at = getelementptr i64, ptr %team, i64 8
  %stolen_at = getelementptr i64, ptr %team, i64 9
  %waits_word = load i64, ptr %waits_at
  %waits = icmp ne i64 %waits_word, 0
  br i1 %waits, label %together, label %time
time:
  %now = CLOCK
  %before = load i64, ptr %cost_at
  %is_first = icmp eq i64 %before, 0
  br i1 %is_first, label %begin, label %check
begin:
  store i64 %now, ptr %start_at
  br label %count
check:
  %length = load i64, ptr %length_at
  %is_over = icmp ugt i64 %before, %length
  br i1 %is_over, label %over, label %count
over:
  call void @turn(ptr %team, i64 %now)
  br label %count
count:
  %so_far = load i64, ptr %cost_at
  %after = add i64 %so_far, %cost
  store i64 %after, ptr %cost_at
  %mode = load i64, ptr %mode_at
  %is_alone = icmp eq i64 %mode, 0
  br i1 %is_alone, label %alone, label %together
alone:
  call void %function(ptr %data, i64 0, i64 1)
  ret void
together:
  %begun = load i64, ptr %begun_at
  %begun_now = add i64 %begun, %helpers
  store i64 %begun_now, ptr %begun_at
  br label %offer
offer:
  %k = phi i64 [1, %together], [%k_next, %offer]
  %line = getelementptr [16 x i64], ptr %team, i64 %k
  %function_at = getelementptr i64, ptr %line, i64 1
  %data_at = getelementptr i64, ptr %line, i64 2
  %parts_at = getelementptr i64, ptr %line, i64 8
  store ptr %function, ptr %function_at
  store ptr %data, ptr %data_at
  store i64 %parts, ptr %parts_at
  store atomic i64 1, ptr %line release, align 8
  %k_next = add i64 %k, 1
  %is_last = icmp uge i64 %k, %helpers
  br i1 %is_last, label %own, label %offer
own:
  call void %function(ptr %data, i64 0, i64 %parts)
  br label %collect
collect:
  %t = phi i64 [1, %own], [%t_next, %collected]
  %mate = getelementptr [16 x i64], ptr %team, i64 %t
  %asleep_at = getelementptr i64, ptr %mate, i64 3
  br label %look
look:
  %turns = phi i64 [0, %collect], [%more, %again], [%turns, %steal]
  %word = load atomic i64, ptr %mate acquire, align 8
  switch i64 %word, label %again [i64 1, label %unbegun
                                  i64 3, label %collected]
unbegun:
  br i1 %waits, label %call, label %steal
call:
  %asleep = load atomic i64, ptr %asleep_at seq_cst, align 8
  %is_asleep = icmp ne i64 %asleep, 0
  br i1 %is_asleep, label %rouse, label %again
rouse:
  call void @wake(ptr %mate)
  br label %again
again:
  call void @wait(i64 %turns)
  %more = add i64 %turns, 1
  br label %look
steal:
  %pair = cmpxchg ptr %mate, i64 1, i64 3 acq_rel monotonic
  %is_mine = extractvalue {i64, i1} %pair, 1
  br i1 %is_mine, label %stolen, label %look
stolen:
  call void %function(ptr %data, i64 %t, i64 %parts)
  %stolen_before = load i64, ptr %stolen_at
  %stolen_now = add i64 %stolen_before, 1
  store i64 %stolen_now, ptr %stolen_at
  br label %collected
collected:
  %t_next = add i64 %t, 1
  %is_done = icmp uge i64 %t, %helpers
  br i1 %is_done, label %out, label %collect
out:
  ret void
}
"""


def text(processor: str) -> str:
    """The module for a processor, by the first word of its triple."""
    if processor not in _PROCESSORS:
        return _TEXT.replace("PAUSE", "").replace("CLOCK", "add i64 0, 0")
    pause, clock = _PROCESSORS[processor]
    declared = f"declare void @{pause.replace(' 1', '')}\ndeclare i64 @{clock}\n"
    return declared + _TEXT.replace("PAUSE", f"call void @{pause}").replace(
        "CLOCK", f"call i64 @{clock}"
    )
