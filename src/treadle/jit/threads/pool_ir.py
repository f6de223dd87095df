"""The workers' loop and fork and join in LLVM IR: `treadle_serve` and `treadle_share`.

One worker is used for every 2 microseconds of estimated work. Whether workers pay at all is
measured by the code of `autotune_ir`.

    worker   state, function, data, asleep, chunks, index, semaphore
    pool     workers, patience, waits, mode, decider, other work, has stalled, backoff, pause left;
             then the workers, 128 bytes each
"""

from __future__ import annotations

from treadle.jit.threads.autotune_ir import TEXT as AUTOTUNE

_PROCESSORS = {
    "x86_64": ("llvm.x86.sse2.pause()", "llvm.readcyclecounter()"),
    "aarch64": ("llvm.aarch64.hint(i32 1)", "llvm.readsteadycounter()"),
}
"""The instructions for a pause in a spin loop, and for reading a clock, by processor."""

_TEXT = """
declare i32 @sem_wait(ptr)
declare i32 @sem_post(ptr)
declare i32 @sched_yield()
define internal void @spin_wait(i64 %spins) {
  PAUSE
  %is_long = icmp ugt i64 %spins, 4000
  br i1 %is_long, label %yield_processor, label %out
yield_processor:
  %ignored = call i32 @sched_yield()
  br label %out
out:
  ret void
}

define internal void @wake(ptr %worker) noinline {
  %asleep = getelementptr i64, ptr %worker, i64 3
  store atomic i64 0, ptr %asleep seq_cst, align 8
  %semaphore = getelementptr i64, ptr %worker, i64 6
  %ignored = call i32 @sem_post(ptr %semaphore)
  ret void
}

define void @treadle_serve(ptr %worker) {
entry:
  %function_at = getelementptr i64, ptr %worker, i64 1
  %data_at = getelementptr i64, ptr %worker, i64 2
  %asleep = getelementptr i64, ptr %worker, i64 3
  %chunks_at = getelementptr i64, ptr %worker, i64 4
  %index_at = getelementptr i64, ptr %worker, i64 5
  %semaphore = getelementptr i64, ptr %worker, i64 6
  %index = load i64, ptr %index_at
  br label %sleep
sleep:
  store atomic i64 1, ptr %asleep seq_cst, align 8
  %ignored = call i32 @sem_wait(ptr %semaphore)
  store atomic i64 0, ptr %asleep seq_cst, align 8
  br label %poll
poll:
  %spins = phi i64 [0, %sleep], [%next_spins, %spin], [0, %work], [%spins, %offered]
  %state = load atomic i64, ptr %worker acquire, align 8
  switch i64 %state, label %spin [i64 1, label %offered
                                 i64 4, label %sleep]
spin:
  call void @spin_wait(i64 %spins)
  %next_spins = add i64 %spins, 1
  %spun_long = icmp ugt i64 %next_spins, 6000
  br i1 %spun_long, label %sleep, label %poll
offered:
  %pair = cmpxchg ptr %worker, i64 1, i64 2 acq_rel monotonic
  %is_taken = extractvalue {i64, i1} %pair, 1
  br i1 %is_taken, label %work, label %poll
work:
  %function = load ptr, ptr %function_at
  %data = load ptr, ptr %data_at
  %chunks = load i64, ptr %chunks_at
  call void %function(ptr %data, i64 %index, i64 %chunks)
  store atomic i64 3, ptr %worker release, align 8
  br label %poll
}

define internal void @wake_all(ptr %pool) noinline {
entry:
  %workers = load i64, ptr %pool
  br label %next
next:
  %number = phi i64 [1, %entry], [%next_number, %done]
  %worker = getelementptr [16 x i64], ptr %pool, i64 %number
  store atomic i64 3, ptr %worker release, align 8
  %asleep_at = getelementptr i64, ptr %worker, i64 3
  %asleep = load atomic i64, ptr %asleep_at seq_cst, align 8
  %is_asleep = icmp ne i64 %asleep, 0
  br i1 %is_asleep, label %call, label %done
call:
  call void @wake(ptr %worker)
  br label %done
done:
  %next_number = add i64 %number, 1
  %is_last = icmp uge i64 %number, %workers
  br i1 %is_last, label %out, label %next
out:
  ret void
}

define void @treadle_share(ptr %pool, ptr %function, ptr %data, i64 %cost, ptr %nest) {
entry:
  %all_workers = load i64, ptr %pool
  %waits_at = getelementptr i64, ptr %pool, i64 2
  %time_at = getelementptr i64, ptr %nest, i64 1
  %cost_at = getelementptr i64, ptr %nest, i64 2
  %calls_at = getelementptr i64, ptr %nest, i64 3
  %work_at = getelementptr i64, ptr %nest, i64 4
  %period_at = getelementptr i64, ptr %nest, i64 5
  %was_parallel_at = getelementptr i64, ptr %nest, i64 8
  %patience_at = getelementptr i64, ptr %pool, i64 1
  %mode_at = getelementptr i64, ptr %pool, i64 3
  %decider_at = getelementptr i64, ptr %pool, i64 4
  %other_work_at = getelementptr i64, ptr %pool, i64 5
  %stalled_at = getelementptr i64, ptr %pool, i64 6
  %waits_flag = load i64, ptr %waits_at
  %waits = icmp ne i64 %waits_flag, 0
  %paid_workers = udiv i64 %cost, 2000
  %useful_workers = add i64 %paid_workers, 1
  %is_fewer = icmp ult i64 %useful_workers, %all_workers
  %wanted = select i1 %is_fewer, i64 %useful_workers, i64 %all_workers
  %workers = select i1 %waits, i64 %all_workers, i64 %wanted
  %chunks = add i64 %workers, 1
  br i1 %waits, label %parallel, label %check_pause
check_pause:
  %pause_left_at = getelementptr i64, ptr %pool, i64 8
  %pause_left = load i64, ptr %pause_left_at
  %is_paused = icmp sgt i64 %pause_left, 0
  br i1 %is_paused, label %paused, label %check_cost
paused:
  %pause_left_now = sub i64 %pause_left, %cost
  store i64 %pause_left_now, ptr %pause_left_at
  br label %serial
check_cost:
  %patience = load i64, ptr %patience_at
  %large = mul i64 %patience, 8
  %is_large = icmp ugt i64 %cost, %large
  br i1 %is_large, label %wake_at_once, label %find_decider
wake_at_once:
  call void @wake_all(ptr %pool)
  br label %parallel
find_decider:
  %decider = load ptr, ptr %decider_at
  %is_decider = icmp eq ptr %decider, %nest
  %is_undecided = icmp eq ptr %decider, null
  %decides = or i1 %is_decider, %is_undecided
  br i1 %decides, label %measure, label %not_decider
not_decider:
  %other_work = load i64, ptr %other_work_at
  %other_work_now = add i64 %other_work, %cost
  store i64 %other_work_now, ptr %other_work_at
  %most_other_work = mul i64 %patience, 1000
  %is_abandoned = icmp ugt i64 %other_work_now, %most_other_work
  br i1 %is_abandoned, label %abandon, label %by_mode
abandon:
  store ptr null, ptr %decider_at
  store i64 0, ptr %mode_at
  store i64 0, ptr %time_at
  br label %by_mode
measure:
  store i64 0, ptr %other_work_at
  %now = CLOCK
  %before = load i64, ptr %time_at
  %is_first = icmp eq i64 %before, 0
  br i1 %is_first, label %start_period, label %continue_period
start_period:
  %serial_time_at = getelementptr i64, ptr %nest, i64 6
  store i64 -1, ptr %serial_time_at
  store i64 %patience, ptr %period_at
  store i64 0, ptr %calls_at
  store i64 0, ptr %work_at
  br label %count_call
continue_period:
  call void @record_time(ptr %pool, ptr %nest, i64 %now)
  %work = load i64, ptr %work_at
  %period = load i64, ptr %period_at
  %calls = load i64, ptr %calls_at
  %is_long = icmp ugt i64 %work, %period
  %is_often = icmp ugt i64 %calls, 2
  %is_over = and i1 %is_long, %is_often
  br i1 %is_over, label %end_period, label %count_call
end_period:
  store ptr %nest, ptr %decider_at
  call void @choose_mode(ptr %pool, ptr %nest)
  br label %count_call
count_call:
  %calls_before = load i64, ptr %calls_at
  %calls_now = add i64 %calls_before, 1
  store i64 %calls_now, ptr %calls_at
  %work_before = load i64, ptr %work_at
  %work_now = add i64 %work_before, %cost
  store i64 %work_now, ptr %work_at
  store i64 %now, ptr %time_at
  store i64 %cost, ptr %cost_at
  %mode_here = load i64, ptr %mode_at
  store i64 %mode_here, ptr %was_parallel_at
  br label %by_mode
by_mode:
  %mode = load i64, ptr %mode_at
  %is_serial = icmp eq i64 %mode, 0
  br i1 %is_serial, label %serial, label %parallel
serial:
  call void %function(ptr %data, i64 0, i64 1)
  ret void
parallel:
  br label %offer
offer:
  %helper = phi i64 [1, %parallel], [%next_helper, %offer]
  %worker = getelementptr [16 x i64], ptr %pool, i64 %helper
  %function_at = getelementptr i64, ptr %worker, i64 1
  %data_at = getelementptr i64, ptr %worker, i64 2
  %chunks_at = getelementptr i64, ptr %worker, i64 4
  store ptr %function, ptr %function_at
  store ptr %data, ptr %data_at
  store i64 %chunks, ptr %chunks_at
  store atomic i64 1, ptr %worker release, align 8
  %next_helper = add i64 %helper, 1
  %is_last = icmp uge i64 %helper, %workers
  br i1 %is_last, label %first_chunk, label %offer
first_chunk:
  call void %function(ptr %data, i64 0, i64 %chunks)
  br label %collect
collect:
  %helper_index = phi i64 [1, %first_chunk], [%next_helper_index, %collected]
  %awaited = getelementptr [16 x i64], ptr %pool, i64 %helper_index
  %asleep_at = getelementptr i64, ptr %awaited, i64 3
  br label %poll
poll:
  %spins = phi i64 [0, %collect], [%next_spins, %spin], [%next_spins, %stall], [%spins, %steal]
  %state = load atomic i64, ptr %awaited acquire, align 8
  switch i64 %state, label %spin [i64 1, label %not_started
                                  i64 3, label %collected]
not_started:
  br i1 %waits, label %check_sleep, label %steal
check_sleep:
  %asleep = load atomic i64, ptr %asleep_at seq_cst, align 8
  %is_asleep = icmp ne i64 %asleep, 0
  br i1 %is_asleep, label %wake_worker, label %spin
wake_worker:
  call void @wake(ptr %awaited)
  br label %spin
spin:
  call void @spin_wait(i64 %spins)
  %next_spins = add i64 %spins, 1
  %is_stall = icmp eq i64 %spins, 4300
  br i1 %is_stall, label %stall, label %poll
stall:
  store i64 1, ptr %stalled_at
  br label %poll
steal:
  %pair = cmpxchg ptr %awaited, i64 1, i64 3 acq_rel monotonic
  %is_stolen = extractvalue {i64, i1} %pair, 1
  br i1 %is_stolen, label %stolen, label %poll
stolen:
  call void %function(ptr %data, i64 %helper_index, i64 %chunks)
  store i64 2, ptr %was_parallel_at
  br label %collected
collected:
  %next_helper_index = add i64 %helper_index, 1
  %is_done = icmp uge i64 %helper_index, %workers
  br i1 %is_done, label %done, label %collect
done:
  %stalled = load i64, ptr %stalled_at
  %is_stalled = icmp ne i64 %stalled, 0
  br i1 %is_stalled, label %stop, label %out
stop:
  call void @back_off(ptr %pool)
  br label %out
out:
  ret void
}
"""


def text(processor: str) -> str:
    """The module for a processor, by the first word of its triple."""
    if processor not in _PROCESSORS:
        return (_TEXT + AUTOTUNE).replace("PAUSE", "").replace("CLOCK", "add i64 0, 0")
    pause, clock = _PROCESSORS[processor]
    declared = f"declare void @{pause.replace(' 1', '')}\ndeclare i64 @{clock}\n"
    written = (_TEXT + AUTOTUNE).replace("PAUSE", f"call void @{pause}")
    return declared + written.replace("CLOCK", f"call i64 @{clock}")
