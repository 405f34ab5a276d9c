# Who has an interpreter's lock: threads of its program take turns with it, in C code that notes when it has it, and print each
# turn: thread, begin, end.
need_command gcc
cat >hold.c <<'END'
#include <time.h>

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Called with the lock held, which it keeps. */
void hold(long ns, long long *span)
{
	struct timespec t = { .tv_nsec = ns };
	span[0] = now();
	nanosleep(&t, 0);
	span[1] = now();
}
END
gcc -O1 -shared -fPIC -o hold.so hold.c
cat >compare.py <<'END'
import json

log = [tuple(map(int, line.split())) for line in open('log.txt')]
tids = {tid for tid, _, _ in log}
waits = [e for e in json.load(open('switches.json'))['events'] if e['tid'] in tids and e.get('wait') == 'futex']
words = {e['object'] for e in waits if e.get('hint_kind') == 'interpreter_lock'}
within = [(e, tid) for e in waits if e['object'] in words for tid, start, end in log if start < e['time_ns'] < end]
known_ns = min((e['time_ns'] for e in waits if e.get('hint')), default=0)  # before, the recorder had not yet found the interpreter
missed = [e for e, _ in within if not e.get('hint') and e['time_ns'] > known_ns]
wrong = [(e, tid) for e, tid in within if e.get('hint') not in (None, 0, tid)]
print(f'{len(log)} turns, {len(within)} waits within them, {len(missed)} without the holder, {len(wrong)} with another')
assert len(log) == 120 and len(within) > 60, 'few waits'
assert not wrong, wrong[:3]
# where the stack was lost, or the kernel moves the page just then, the holder is not read
assert len(missed) * 20 <= len(within), [(e['number'], e['time_ns'] - known_ns) for e in missed]
END

# same_holders COMMAND...: each wait for the lock within a turn names the thread whose it is
same_holders() {
	argus record -o turns.trace -- "$@" >log.txt 2>record.txt || fail "$(cat record.txt)"
	argus dump --json -e switch turns.trace >switches.json
	python3 compare.py >compare.txt 2>&1 || fail "$1: $(cat compare.txt)"
}
