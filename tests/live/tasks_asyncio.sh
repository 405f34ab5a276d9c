#!/bin/bash
# asyncio's tasks: those of a program whose loop waits, and of one whose loop a task keeps from them, beside what the program
# itself says of each: its name, whether and for which task it waits, and its functions; of each version that is here. And memory that is no task.
. "$HERE/live/_lib.sh"
need_bpf
. "$HERE/live/_python.sh"
mapfile -t pythons < <(known_pythons)
[ ${#pythons[@]} -gt 0 ] || skip "no Python of a version that is known"

asleep() { cut -d' ' -f1 "/proc/$1/syscall" | matches -x "$2"; }
end() { kill "$pid"; wait "$pid" 2>/dev/null || true; }
trap '[ -z "${pid-}" ] || kill $pid 2>/dev/null || true' EXIT

seed=1
for python in "${pythons[@]}"; do
	for way in waits blocks; do
		rm -f own.json
		"$python" "$HERE/live/tasks_asyncio.py" $((seed++)) 40 own.json $way & pid=$!
		wait_until 30 test -s own.json
		# epoll_wait; clock_nanosleep or, of older versions, pselect6
		wait_until 30 asleep $pid "$([ $way = waits ] && echo 232 || echo '230\|270')"
		equal() {
			argus record -a --freq 0 -o tasks.trace -- sleep 0.2 2>/dev/null
			argus dump --state --json -p $pid -e async_task,async_frame tasks.trace >state.json
			python3 "$HERE/live/tasks_asyncio_compare.py" state.json own.json $way >compare.txt 2>&1
		}
		try=0
		until equal; do [ $((++try)) -lt 5 ] || fail "$python $way: $(tail -n 20 compare.txt)"; done
		end
	done
done

# as a person asks: with BPF and without
python=/usr/bin/python3.11
[ -x $python ] || exit 0
cat >circle.py <<'END'
import asyncio

async def one():
    await tasks[1]

async def two():
    await tasks[0]

async def main():
    global tasks
    tasks = [asyncio.create_task(one(), name='first'), asyncio.create_task(two(), name='second')]
    await asyncio.gather(*tasks)

asyncio.run(main())
END
$python circle.py & pid=$!
wait_until 30 asleep $pid 232
told() {
	"$@" >now.txt 2>/dev/null || [ $? = 1 ] || return 1
	says now.txt 'first waits for second, in one (circle.py:4)' && says now.txt 'Task-1 waits for first and 1 more, in main (circle.py:12)' &&
		says now.txt 'They wait for each other in a circle: first -> second -> first'
}
wait_until 30 told argus now $pid
# whoever may not use BPF
wait_until 30 told setpriv --bounding-set=-bpf,-perfmon,-sys_admin --inh-caps=-bpf,-perfmon,-sys_admin argus now $pid
end

# A coroutine that awaits itself, memory that is not there or no object, a set without an end: what is read is bounded.
cat >hostile.py <<'END'
import asyncio
import ctypes
import gc
import sys

gc.disable() # it would meet the damage

def word(address):
    return ctypes.c_uint64.from_address(address)

async def victim():
    await asyncio.get_running_loop().create_future()

def damage(task):
    coroutine, way = id(task.get_coro()), sys.argv[1]
    awaited = word(coroutine + 80 + 72)
    if way == 'endless':
        awaited.value = coroutine
    elif way == 'gone':
        awaited.value = 0x123456789000
    elif way == 'torn':
        awaited.value = coroutine + 1
    elif way == 'name':
        word(id(task.get_name()) + 16).value = 1 << 60
    elif way == 'set':
        word(id(asyncio.tasks._all_tasks.data) + 32).value = (1 << 60) - 1
    print('ready', flush=True)

async def main():
    task = asyncio.create_task(victim(), name='the victim')
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0.1, damage, task)
    await task

asyncio.run(main())
END
for way in endless gone torn name set; do
	$python hostile.py $way >hostile.txt & pid=$!
	wait_until 30 grep -q ready hostile.txt
	wait_until 30 asleep $pid 232
	# it is read within the time for all, and reported: it is not given up
	survived() {
		argus record -a --freq 0 -o hostile.trace -- sleep 0.2 2>/dev/null || fail "$way: the recording failed"
		argus dump --state -p $pid -e async_task,async_frame hostile.trace >hostile.dump
		grep -q '"Task-1"' hostile.dump
	}
	wait_until 30 survived
	[ $way = name ] || [ $way = set ] || grep -q 'cut=1.*"the victim"' hostile.dump || fail "$way: not said to be cut: $(cat hostile.dump)"
	# it goes down by itself for what was done to it
	kill -KILL $pid
	wait $pid 2>/dev/null || true
done
