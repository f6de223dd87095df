"""The workers' loop and fork and join in LLVM IR: `treadle_serve` and `treadle_share`.

One worker is used for every 2 microseconds of estimated work. Whether workers pay at all is
measured by the code of `autotune_ir`.

    line     word, function, data, asleep, parts, number, semaphore
    team     helpers, patience, waits, is shared, judge, cost without it, has stalled, penalty,
             rest; then the lines, 128 bytes each
"""

from __future__ import annotations

from treadle.jit.threads.autotune_ir import TEXT as TRYING

_PROCESSORS = {
    "x86_64": ("llvm.x86.sse2.pause()", "llvm.readcyclecounter()"),
    "aarch64": ("llvm.aarch64.hint(i32 1)", "llvm.readsteadycounter()"),
}
"""The instructions for a pause in a spin loop, and for reading a clock, by processor."""

_TEXT = """
declare i32 @sem_wait(ptr)
declare i32 @sem_post(ptr)
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
  %semaphore = getelementptr i64, ptr %line, i64 6
  %ignored = call i32 @sem_post(ptr %semaphore)
  ret void
}

define void @treadle_serve(ptr %line) {
entry:
  %function_at = getelementptr i64, ptr %line, i64 1
  %data_at = getelementptr i64, ptr %line, i64 2
  %asleep = getelementptr i64, ptr %line, i64 3
  %parts_at = getelementptr i64, ptr %line, i64 4
  %number_at = getelementptr i64, ptr %line, i64 5
  %semaphore = getelementptr i64, ptr %line, i64 6
  %number = load i64, ptr %number_at
  br label %sleep
sleep:
  store atomic i64 1, ptr %asleep seq_cst, align 8
  %ignored = call i32 @sem_wait(ptr %semaphore)
  store atomic i64 0, ptr %asleep seq_cst, align 8
  br label %look
look:
  %turns = phi i64 [0, %sleep], [%more, %idle], [0, %work], [%turns, %offered]
  %word = load atomic i64, ptr %line acquire, align 8
  switch i64 %word, label %idle [i64 1, label %offered
                                 i64 4, label %sleep]
idle:
  call void @wait(i64 %turns)
  %more = add i64 %turns, 1
  %is_tired = icmp ugt i64 %more, 6000
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
}

define internal void @rouse(ptr %team) noinline {
entry:
  %helpers = load i64, ptr %team
  br label %next
next:
  %k = phi i64 [1, %entry], [%following, %done]
  %line = getelementptr [16 x i64], ptr %team, i64 %k
  store atomic i64 3, ptr %line release, align 8
  %asleep_at = getelementptr i64, ptr %line, i64 3
  %asleep = load atomic i64, ptr %asleep_at seq_cst, align 8
  %is_asleep = icmp ne i64 %asleep, 0
  br i1 %is_asleep, label %call, label %done
call:
  call void @wake(ptr %line)
  br label %done
done:
  %following = add i64 %k, 1
  %is_last = icmp uge i64 %k, %helpers
  br i1 %is_last, label %out, label %next
out:
  ret void
}

define void @treadle_share(ptr %team, ptr %function, ptr %data, i64 %cost, ptr %nest) {
entry:
  %all = load i64, ptr %team
  %waits_at = getelementptr i64, ptr %team, i64 2
  %time_at = getelementptr i64, ptr %nest, i64 1
  %cost_at = getelementptr i64, ptr %nest, i64 2
  %calls_at = getelementptr i64, ptr %nest, i64 3
  %spent_at = getelementptr i64, ptr %nest, i64 4
  %length_at = getelementptr i64, ptr %nest, i64 5
  %helped_at = getelementptr i64, ptr %nest, i64 8
  %patience_at = getelementptr i64, ptr %team, i64 1
  %mode_at = getelementptr i64, ptr %team, i64 3
  %judge_at = getelementptr i64, ptr %team, i64 4
  %others_at = getelementptr i64, ptr %team, i64 5
  %stalled_at = getelementptr i64, ptr %team, i64 6
  %waits_word = load i64, ptr %waits_at
  %waits = icmp ne i64 %waits_word, 0
  %worth = udiv i64 %cost, 2000
  %few = add i64 %worth, 1
  %are_few = icmp ult i64 %few, %all
  %wanted = select i1 %are_few, i64 %few, i64 %all
  %helpers = select i1 %waits, i64 %all, i64 %wanted
  %parts = add i64 %helpers, 1
  br i1 %waits, label %together, label %rest
rest:
  %left_at = getelementptr i64, ptr %team, i64 8
  %left = load i64, ptr %left_at
  %rests = icmp sgt i64 %left, 0
  br i1 %rests, label %resting, label %weigh
resting:
  %left_now = sub i64 %left, %cost
  store i64 %left_now, ptr %left_at
  br label %alone
weigh:
  %patience = load i64, ptr %patience_at
  %much = mul i64 %patience, 8
  %is_much = icmp ugt i64 %cost, %much
  br i1 %is_much, label %gather, label %find
gather:
  call void @rouse(ptr %team)
  br label %together
find:
  %judge = load ptr, ptr %judge_at
  %is_judge = icmp eq ptr %judge, %nest
  %is_open = icmp eq ptr %judge, null
  %is_mine = or i1 %is_judge, %is_open
  br i1 %is_mine, label %time, label %other
other:
  %others = load i64, ptr %others_at
  %others_now = add i64 %others, %cost
  store i64 %others_now, ptr %others_at
  %very_much = mul i64 %patience, 1000
  %is_left = icmp ugt i64 %others_now, %very_much
  br i1 %is_left, label %leave, label %follow
leave:
  store ptr null, ptr %judge_at
  store i64 0, ptr %mode_at
  store i64 0, ptr %time_at
  br label %follow
time:
  store i64 0, ptr %others_at
  %now = CLOCK
  %before = load i64, ptr %time_at
  %is_first = icmp eq i64 %before, 0
  br i1 %is_first, label %first, label %later
first:
  %alone_at = getelementptr i64, ptr %nest, i64 6
  store i64 -1, ptr %alone_at
  store i64 %patience, ptr %length_at
  store i64 0, ptr %calls_at
  store i64 0, ptr %spent_at
  br label %count
later:
  call void @note(ptr %team, ptr %nest, i64 %now)
  %spent = load i64, ptr %spent_at
  %length = load i64, ptr %length_at
  %calls = load i64, ptr %calls_at
  %is_long = icmp ugt i64 %spent, %length
  %is_often = icmp ugt i64 %calls, 2
  %is_over = and i1 %is_long, %is_often
  br i1 %is_over, label %over, label %count
over:
  store ptr %nest, ptr %judge_at
  call void @turn(ptr %team, ptr %nest)
  br label %count
count:
  %calls_before = load i64, ptr %calls_at
  %calls_now = add i64 %calls_before, 1
  store i64 %calls_now, ptr %calls_at
  %spent_before = load i64, ptr %spent_at
  %spent_now = add i64 %spent_before, %cost
  store i64 %spent_now, ptr %spent_at
  store i64 %now, ptr %time_at
  store i64 %cost, ptr %cost_at
  %mode_here = load i64, ptr %mode_at
  store i64 %mode_here, ptr %helped_at
  br label %follow
follow:
  %mode = load i64, ptr %mode_at
  %is_alone = icmp eq i64 %mode, 0
  br i1 %is_alone, label %alone, label %together
alone:
  call void %function(ptr %data, i64 0, i64 1)
  ret void
together:
  br label %offer
offer:
  %k = phi i64 [1, %together], [%k_next, %offer]
  %line = getelementptr [16 x i64], ptr %team, i64 %k
  %function_at = getelementptr i64, ptr %line, i64 1
  %data_at = getelementptr i64, ptr %line, i64 2
  %parts_at = getelementptr i64, ptr %line, i64 4
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
  %turns = phi i64 [0, %collect], [%more, %again], [%more, %stall], [%turns, %steal]
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
  %is_stall = icmp eq i64 %turns, 4300
  br i1 %is_stall, label %stall, label %look
stall:
  store i64 1, ptr %stalled_at
  br label %look
steal:
  %pair = cmpxchg ptr %mate, i64 1, i64 3 acq_rel monotonic
  %is_stolen = extractvalue {i64, i1} %pair, 1
  br i1 %is_stolen, label %stolen, label %look
stolen:
  call void %function(ptr %data, i64 %t, i64 %parts)
  store i64 2, ptr %helped_at
  br label %collected
collected:
  %t_next = add i64 %t, 1
  %is_done = icmp uge i64 %t, %helpers
  br i1 %is_done, label %done, label %collect
done:
  %stalled = load i64, ptr %stalled_at
  %is_stalled = icmp ne i64 %stalled, 0
  br i1 %is_stalled, label %stop, label %out
stop:
  call void @part(ptr %team)
  br label %out
out:
  ret void
}
"""


def text(processor: str) -> str:
    """The module for a processor, by the first word of its triple."""
    if processor not in _PROCESSORS:
        return (_TEXT + TRYING).replace("PAUSE", "").replace("CLOCK", "add i64 0, 0")
    pause, clock = _PROCESSORS[processor]
    declared = f"declare void @{pause.replace(' 1', '')}\ndeclare i64 @{clock}\n"
    written = (_TEXT + TRYING).replace("PAUSE", f"call void @{pause}")
    return declared + written.replace("CLOCK", f"call i64 @{clock}")
