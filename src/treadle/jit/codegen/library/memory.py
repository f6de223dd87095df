"""`realloc` and `free` for a WebAssembly module without a C library.

The size of a block is a power of two bytes, at least 16, after a header of 16 bytes with the power.
Freed blocks are kept in lists by power. Memory begins at `__heap_base`, after the data.
"""

MEMORY = """
@lists = internal global [32 x ptr] zeroinitializer
@top = internal global i32 0
@__heap_base = external global i8
declare i32 @llvm.wasm.memory.size.i32(i32)
declare i32 @llvm.wasm.memory.grow.i32(i32, i32)
declare i32 @llvm.ctlz.i32(i32, i1)

define internal ptr @fresh(i32 %power)
{
  %old = load i32, ptr @top
  %is_first = icmp eq i32 %old, 0
  %base = ptrtoint ptr @__heap_base to i32
  %from = select i1 %is_first, i32 %base, i32 %old
  %next = add i32 %from, 15
  %begin = and i32 %next, -16
  %room = shl i32 1, %power
  %whole = add i32 %room, 16
  %end = add i32 %begin, %whole
  %wraps = icmp ult i32 %end, %begin
  br i1 %wraps, label %none, label %look
look:
  %pages = call i32 @llvm.wasm.memory.size.i32(i32 0)
  %there = shl i32 %pages, 16
  %fits = icmp ule i32 %end, %there
  br i1 %fits, label %take, label %ask
ask:
  %missing = sub i32 %end, %there
  %more = add i32 %missing, 65535
  %count = lshr i32 %more, 16
  %got = call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %count)
  %fails = icmp eq i32 %got, -1
  br i1 %fails, label %none, label %take
take:
  store i32 %end, ptr @top
  %head = inttoptr i32 %begin to ptr
  store i32 %power, ptr %head
  %place = getelementptr i8, ptr %head, i32 16
  ret ptr %place
none:
  ret ptr null
}

define internal ptr @given(i32 %size)
{
  %is_large = icmp ugt i32 %size, 1073741824
  br i1 %is_large, label %none, label %small
small:
  %least = call i32 @llvm.umax.i32(i32 %size, i32 16)
  %last = sub i32 %least, 1
  %zeros = call i32 @llvm.ctlz.i32(i32 %last, i1 false)
  %power = sub i32 32, %zeros
  %list = getelementptr [32 x ptr], ptr @lists, i32 0, i32 %power
  %kept = load ptr, ptr %list
  %has_none = icmp eq ptr %kept, null
  br i1 %has_none, label %make, label %reuse
reuse:
  %after = load ptr, ptr %kept
  store ptr %after, ptr %list
  ret ptr %kept
make:
  %made = call ptr @fresh(i32 %power)
  ret ptr %made
none:
  ret ptr null
}
declare i32 @llvm.umax.i32(i32, i32)

define void @free(ptr %place)
{
  %is_none = icmp eq ptr %place, null
  br i1 %is_none, label %out, label %keep
keep:
  %head = getelementptr i8, ptr %place, i32 -16
  %power = load i32, ptr %head
  %list = getelementptr [32 x ptr], ptr @lists, i32 0, i32 %power
  %before = load ptr, ptr %list
  store ptr %before, ptr %place
  store ptr %place, ptr %list
  br label %out
out:
  ret void
}

define ptr @realloc(ptr %place, i32 %size)
{
  %is_none = icmp eq ptr %place, null
  br i1 %is_none, label %new, label %old
new:
  %first = call ptr @given(i32 %size)
  ret ptr %first
old:
  %head = getelementptr i8, ptr %place, i32 -16
  %power = load i32, ptr %head
  %room = shl i32 1, %power
  %fits = icmp ule i32 %size, %room
  br i1 %fits, label %same, label %move
same:
  ret ptr %place
move:
  %made = call ptr @given(i32 %size)
  %fails = icmp eq ptr %made, null
  br i1 %fails, label %none, label %copy
none:
  ret ptr null
copy:
  %at = phi i32 [0, %move], [%next, %copy]
  %from = getelementptr i8, ptr %place, i32 %at
  %to = getelementptr i8, ptr %made, i32 %at
  %word = load i64, ptr %from
  store i64 %word, ptr %to
  %next = add i32 %at, 8
  %is_done = icmp eq i32 %next, %room
  br i1 %is_done, label %done, label %copy
done:
  call void @free(ptr %place)
  ret ptr %made
}
"""
