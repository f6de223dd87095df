"""What helpers and those they help do, in LLVM: `treadle_serve` and `treadle_share` of jit/team.

line     word, function, data, asleep, end of its pipe to read, to write, number, spent, parts
team     helpers, patience, waits; then the lines, 128 bytes each
"""

from __future__ import annotations

_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}
"""What a processor is told that waits for another."""

_TEXT = """
declare i64 @read(i32, ptr, i64)
declare i64 @write(i32, ptr, i64)
declare i32 @sched_yield()

define internal void @wait(i64 %turns) {
  %is_short = icmp ult i64 %turns, 300
  br i1 %is_short, label %out, label %pause
pause:
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

define void @treadle_share(ptr %team, ptr %function, ptr %data, i64 %cost) {
entry:
  %helpers = load i64, ptr %team
  %parts = add i64 %helpers, 1
  %cost_each = udiv i64 %cost, %parts
  %patience_at = getelementptr i64, ptr %team, i64 1
  %patience = load i64, ptr %patience_at
  %waits_at = getelementptr i64, ptr %team, i64 2
  %waits_word = load i64, ptr %waits_at
  %waits = icmp ne i64 %waits_word, 0
  br label %offer
offer:
  %k = phi i64 [1, %entry], [%k_next, %offer]
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
  %spent_at = getelementptr i64, ptr %mate, i64 7
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
  %sleeping = load atomic i64, ptr %asleep_at monotonic, align 8
  %sleeps = icmp ne i64 %sleeping, 0
  br i1 %sleeps, label %count, label %collected
count:
  %before = load i64, ptr %spent_at
  %spent = add i64 %before, %cost_each
  store i64 %spent, ptr %spent_at
  %is_enough = icmp ugt i64 %spent, %patience
  br i1 %is_enough, label %rouse_late, label %collected
rouse_late:
  store i64 0, ptr %spent_at
  call void @wake(ptr %mate)
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
    declared, pause = _PAUSES.get(processor, ("", ""))
    return declared + _TEXT.replace("PAUSE", pause)
