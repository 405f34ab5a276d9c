#!/bin/bash
# The full level records one of each: timers, queues, io_uring, splice, descriptors, terminals, watches.
. "$HERE/live/_lib.sh"
need_bpf
argus record --level full --stacks none -o kinds.trace -- "$BUILD/tests/full_kinds" >kinds.out 2>record.txt ||
	fail "recording: $(cat record.txt kinds.out)"
argus dump --state kinds.trace >all.txt
grep ' full_kinds ' all.txt >kinds.txt || fail "nothing of the program"

has() { grep -Eq -- "$1" kinds.txt || fail "no line '$1'"; }
anywhere() { grep -Eq -- "$1" all.txt || fail "no line '$1' of anybody"; }
times() { local n; n=$(grep -Ec -- "$2" kinds.txt) || true; [ "$n" = "$1" ] || fail "$n lines, not $1, of '$2'"; }

has ' timer_arm .*object=timerfd:.* kind=timerfd'
has ' timer_arm .* kind=posix'
has ' timer_arm .* kind=itimer'
has ' timer_cancel '
anywhere ' timer_fire .*object=timerfd:.* kind=timerfd'
anywhere ' timer_fire .* kind=posix'
anywhere ' timer_fire .* kind=itimer'
# a timer's signal is the interrupt's doing, not that of the thread it interrupted
anywhere ' signal .*number=SIG.* code=-2 .*context=hardirq'
# the watches of a closed inotify group are taken down by delayed work
anywhere ' timer_arm .* kind=wheel'
has ' message .*bytes=8 .*kind=timerfd flags=receive'
has ' queue_message object=queue:.*bytes=24 .*number=msgsnd'
has ' queue_message object=queue:.*bytes=24 .*number=msgrcv flags=receive'
has ' queue_message object=semaphore:.*number=sem'
has ' queue_message object=queue:.*bytes=5 .*number=mq_timedsend'
has ' queue_message object=queue:.*bytes=5 .*number=mq_timedreceive flags=receive'
if grep -q uring kinds.out; then
	has ' uring_submit .*user_data=0x1234'
	has ' uring_complete .*user_data=0x1234'
fi
has ' message .*bytes=100 .*number=vmsplice kind=pipe'
has ' message .*bytes=100 .*number=tee kind=pipe flags=receive\|peek\|part'
times 2 ' message .*bytes=100 .*number=splice kind=pipe'
has ' message .*bytes=300 .*number=sendfile kind=pipe'
times 1 ' message .*bytes=21 .*number=write kind=packet'
times 1 ' message .*bytes=22 .*number=write kind=pipe'
has ' message .*number=sendmsg kind=unix_stream flags=descriptors'
has ' message .*number=recvmsg kind=unix_stream flags=receive\|descriptors'
times 3 ' message .*bytes=1 .*number=sendmmsg kind=unix_dgram'
times 3 ' message .*bytes=1 .*number=recvmmsg kind=unix_dgram'
has ' message .*bytes=3 .*number=write kind=tty'
has ' message .*bytes=3 .*number=read kind=tty flags=receive'
has ' file_event .*mask=0x100 "watched.tmp"'
has ' file_event .*mask=0x2 "watched.tmp"'
has ' file_event .*mask=0x40 "watched.tmp"'
has ' file_event .*mask=0x80 "renamed.tmp"'
has ' file_event .*mask=0x200 "renamed.tmp"'
has ' message .*kind=inotify flags=receive'
if grep -q fanotify kinds.out; then
	has ' file_event .*watcher=inotify:.* mask=0x2$'
	times 4 ' message .*kind=inotify flags=receive'
fi
has ' syscall object=pidfd:.* number=pidfd_open'
# the first descriptor of the poll is the pidfd
has ' switch .*detail=0x11[0-9a-f]+ .*syscall=poll .*wait=poll'
has ' signal .*number=SIGTERM '
has ' exit code=15 '
argus graph --search "thread=full_kinds" --json kinds.trace >segments
[ "$(json segments 'sum(e["kind"] == "signal" and "signal-that-ends" in e["rule"] for s in d["segments"] for e in s["into"])')" = 1 ] ||
	fail "the signal that ended the child is not joined with its end"
has ' deliver .*number=SIGUSR2'
