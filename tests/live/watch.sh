#!/bin/bash
# Hardware watchpoints: every write of a storm is there, of a thread made meanwhile, too; reads
# are told from writes, the kernel's writing is seen; ways of pointers; limits; refusals.
. "$HERE/live/_lib.sh"
need_bpf
watched=$BUILD/tests/watched
"$BUILD"/tests/watch_allowed || skip "this machine has no hardware watchpoints"

# ---- a storm, from the program's first instruction on
# Some virtual machines kill a program by the trap of a watchpoint now and then (133), whoever set it.
storm() {
	local status=133
	for _ in 1 2 3; do
		[ $status = 133 ] || break
		status=0
		argus record -o storm.trace --limit 0 --watch "$watched:counter" --watch twin -- "$watched" at-once 100000 >out 2>record.txt || status=$?
	done
	return $status
}
storm || fail "recording, status $?: $(cat record.txt out)"
[ "$(tail -1 out)" = "100000 100000 0" ] || fail "the program said $(cat out)"
argus info --json storm.trace >info.json
[ "$(json info.json "d['lost']['events'] if isinstance(d['lost'], dict) else d['lost']")" = 0 ] || fail "lost: $(json info.json "d['lost']")"
argus dump --json --type flag_write storm.trace >writes.json
[ "$(json writes.json "[int(e.get('value', 0)) for e in d['events'] if e['watch'] == 1] == list(range(1, 100001))")" = True ] ||
	fail "the counter's writes are not all there"
[ "$(json writes.json "[int(e.get('old', 0)) for e in d['events'] if e['watch'] == 2] == list(range(100000))")" = True ] ||
	fail "the twin's writes are not all there"
[ "$(json writes.json "len({e['tid'] for e in d['events']})")" = 2 ] || fail "not two threads"
argus watch --show storm.trace >shown
grep -q 'write_counter' shown || fail "no stack: $(head -20 shown)"
grep -q 'write_twin' shown || fail "no stack of the thread: $(head -20 shown)"

# ---- the limit disarms
argus record -o limit.trace --limit 100 --watch counter -- "$watched" at-once 100000 >out 2>record.txt || fail "recording: $(cat record.txt)"
[ "$(tail -1 out)" = "100000 100000 0" ] || fail "the program said $(cat out)"
argus dump --json --type flag_write,watch_off limit.trace >limit.json
[ "$(json limit.json "len([e for e in d['events'] if e['type'] == 'flag_write'])")" = 100 ] || fail "the limit: $(head -c 400 limit.json)"
[ "$(json limit.json "[e['hits'] for e in d['events'] if e['type'] == 'watch_off']")" = "[100]" ] || fail "no word of the limit"

# ---- where registers tell the place: a fifth makes room for itself; a command's child
argus record -o each.trace --watch "six=$watched:look@rdi%4" -- sh -c "$watched each; true" >out 2>record.txt || fail "recording: $(cat record.txt)"
argus watch --show --json each.trace >each.json
[ "$(json each.json "len({w['address'] for w in d['watches'] if w['name'] == 'six'})")" = 6 ] || fail "not all six: $(cat each.json)"
[ "$(json each.json "all(v['value'] and v['count'] == 1 for w in d['watches'] for v in w['visitors'])")" = True ] || fail "writes: $(cat each.json)"

# ---- a command's child that is there later, found by its file
argus record -o child.trace --limit 0 --watch "$watched:counter" -- sh -c "(sleep 1; echo) | $watched writes 1000; true" >out 2>record.txt ||
	fail "recording: $(cat record.txt)"
argus watch --show --json child.trace >child.json
[ "$(json child.json "[w['hits'] for w in d['watches']]")" = "[1000]" ] || fail "the child's writes: $(cat child.json out)"

# ---- kinds of access, in a process that runs
mkfifo go
"$watched" kinds <go >out &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
exec 3>go
is_ready() { grep -q ready out; }
wait_until 10 is_ready
argus watch $pid --json "f=watched:flag%access" "watched:queue->first->done%access" "id=$watched:queue->16->0%4" >kinds.json 2>notes &
watcher=$!
is_armed() { grep -q '^watching' notes; }
wait_until 20 is_armed
echo >&3
exec 3>&-
wait $pid
wait $watcher || fail "watch: $(cat notes)"
trap - EXIT
[ "$(json kinds.json "[(v['access'], v['count'], v['kernel']) for v in sorted(d['watches'][0]['visitors'], key=lambda v: v['first_event']) if v['access'] != 'flag_read']")" = \
  "[('flag_write', 1, False), ('flag_write', 1, False), ('flag_write', 1, False), ('flag_write', 4, True)]" ] ||
	[ "$(json kinds.json "[v['access'] for v in d['watches'][0]['visitors']].count('flag_write') >= 3")" = True ] ||
	fail "writes: $(cat kinds.json)"
[ "$(json kinds.json "sum(v['count'] for v in d['watches'][0]['visitors'] if v['access'] == 'flag_read')")" = 4 ] || fail "reads: $(cat kinds.json)"
[ "$(json kinds.json "sum(v['count'] for v in d['watches'][0]['visitors'] if v['access'] == 'flag_access')")" = 0 ] || fail "undecided: $(cat kinds.json)"
[ "$(json kinds.json "[(v['access'], v['value']) for v in d['watches'][1]['visitors']]")" = "[('flag_write', 1)]" ] ||
	fail "the way to the field: $(cat kinds.json)"
[ "$(json kinds.json "d['watches'][1]['address'] - d['watches'][2]['address']")" = 4 ] || fail "the way by numbers: $(cat kinds.json)"

# ---- what cannot be: a sentence each
sleep 100 &
pid=$!
trap 'kill $pid' EXIT
refused() { # WORDS PLACE...
	local words=$1 status=0
	shift
	argus watch --duration 100ms "$@" >out 2>&1 || status=$?
	{ [ $status = 1 ] || [ $status = 2 ]; } || fail "status $status: $*: $(cat out)"
	grep -q -- "$words" out || fail "words about $*: $(cat out)"
}
status=0
argus record -o none.trace --duration 100ms --watch "$watched:no_such_variable_here" >out 2>&1 || status=$?
{ [ $status != 0 ] && grep -q 'no variable' out; } || fail "a name that is nowhere: $status $(cat out)"
refused "no process" 4194304 0x1000
refused "has no memory" $pid 0x1000
refused "has not mapped" $pid nofile:x
refused "is a function" $pid libc:fopen
refused "optimised out\|stripped\|but '" $pid libc:no_such_variable_here
refused "at most 8" $pid libc:_IO_2_1_stdout_
refused "four watchpoints" $pid libc:stdout libc:stdin libc:stderr libc:environ libc:optind
refused "no debug information\\|no field" $pid 'libc:stdout->no_such_field'
argus watch $pid --duration 100ms 'libc:stdout->0' libc:optind >out 2>&1 || fail "not taken: $(cat out)"
