#!/bin/bash
# Stacks that are hard to walk: programs with .debug_frame alone, with nothing, one that is replaced
# while it runs, one below another root, deep recursion, and code that is met by samples
# only: the vDSO, the procedure linkage table, tail calls.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc readelf nm

cat >nap.c <<'END'
#include <stdlib.h>
#include <time.h>
__attribute__((noinline, noclone)) int nap(int n)
{
	struct timespec t = { 0, 2000000 };
	nanosleep(&t, 0);
	return n + 1;
}
__attribute__((noinline, noclone)) int deeper(int n) { return n ? deeper(n - 1) * 3 + n : nap(n); }
int main(int argc, char **argv)
{
	int n = 0;
	for (int i = 0, naps = argc > 1 ? atoi(argv[1]) : 100; i < naps; i++)
		n += deeper(argc > 2 ? atoi(argv[2]) : 2);
	return n == 1;
}
END
# record PROGRAM...; then of the threads named COMM: stacks COMM TYPE EXPRESSION, true of each stack `s` but one in a hundred;
# of switches those into sleep: on a loaded machine the processor is taken from it anywhere
record() { argus record --freq 999 -o out.trace -- "$@" 2>/dev/null || fail "$* failed"; }
stacks() {
	argus dump --json --stacks --comm "$1" -e "$2" out.trace >dump.json 2>/dev/null
	python3 - "$3" <<'END' || fail "$1: not $3"
import json, sys
stacks = [e["stack"] for e in json.load(open("dump.json"))["events"] if e.get("stack") and (e["type"] == "sample" or e.get("wait") == "sleep")]
names = lambda s: [f["function"] for f in s]
whole = lambda s: not s[-1].get("ends")
right = eval("lambda s: " + sys.argv[1])
wrong = [s for s in stacks if not right(s)]
if len(stacks) < 20 or len(wrong) > len(stacks) / 100:
    print(len(stacks), "stacks,", len(wrong), "wrong")
    for frame in (wrong or [[]])[0]:
        print("   ", frame["function"], frame["module"], hex(frame["address"]), frame.get("ends"))
    sys.exit(1)
END
}
chain='names(s)[-6:-3] == ["deeper", "deeper", "main"] and "nap" in names(s)'

gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables -o debugonly nap.c
! readelf -SW debugonly | matches '\.eh_frame .* 0*[1-9a-f]00[0-9a-f]* ' || fail "it has .eh_frame after all"
record ./debugonly
stacks debugonly switch "whole(s) and $chain"

# no call frame information at all: by the frame pointers, where there are any; else it is said that there is none
gcc -O2 -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables -o pointers nap.c
record ./pointers
stacks pointers switch "whole(s) and $chain"
gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables -o nothing nap.c
record ./nothing 500
stacks nothing switch '"nap" in names(s) and s[-1].get("ends") in ("no_table", "no_mapping")'

gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -o deep nap.c
record ./deep 300 110
stacks deep switch 'whole(s) and names(s).count("deeper") == 111 and "main" in names(s)'
record ./deep 300 300
stacks deep switch 'len(s) == 127 and s[-1].get("ends") == "too_deep" and names(s).count("deeper") >= 120'

# another build lies at its path while it runs: its own code is read, and the other's names are not taken
cp deep changing
sed 's/\* 3/* 5/' nap.c >other.c
gcc -O2 -o other other.c
record bash -c './changing 1500 & while [ "$(readlink /proc/$!/exe)" != "$PWD/changing" ]; do :; done; cp other new && mv new changing; wait'
stacks changing switch 'whole(s) and "deeper" not in names(s) and "main" not in names(s)'

# below a root of its own, on a mount that others do not see
if unshare -m true 2>/dev/null && gcc -O2 -fno-optimize-sibling-calls -static -o alone nap.c 2>/dev/null; then
	mkdir root
	# shellcheck disable=SC2016
	record unshare -m sh -c 'mount -t tmpfs none root && cp alone root/ && exec chroot root /alone 1000'
	stacks alone switch 'whole(s) and s[-1]["module"].endswith("/alone")'
fi

# no wait is ever there: samples. A thread is interrupted at any instruction
cat >busy.c <<'END'
#include <time.h>
int callee(int n);
int tail(int n);
static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
int main(void)
{
	double until = seconds(CLOCK_PROCESS_CPUTIME_ID) + 1.5;
	int n = 0;
	while (seconds(CLOCK_PROCESS_CPUTIME_ID) < until) {
		for (int i = 0; i < 3000; i++)
			n = tail(callee(n));
		for (int i = 0; i < 500; i++)
			n += (int)seconds(CLOCK_MONOTONIC);
	}
	return n == 1;
}
END
echo 'int callee(int n) { return n * 7 + 1; } int tail(int n) { return callee(n + 3); }' >callee.c
gcc -O2 -fomit-frame-pointer -fPIC -shared -Wl,-z,lazy -o libcallee.so callee.c
gcc -O2 -fomit-frame-pointer -fplt -Wl,-z,lazy -Wl,-rpath,"$PWD" -o busy busy.c ./libcallee.so
record ./busy
stacks busy sample 'whole(s) and "main" in names(s) and s[-1]["function"] == "_start"'
plt=$(readelf -SW busy libcallee.so | sed -n 's/.* \.plt[.a-z]* *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
python3 - "$plt" <<'END' || fail "no samples where they were to be"
import json, sys
words = [int(w, 16) for w in sys.argv[1].split()]
ranges = list(zip(words[::2], words[1::2]))
inner = [e["stack"][0] for e in json.load(open("dump.json"))["events"] if e.get("stack")]
plt = sum(any(a <= f["address"] < a + b for a, b in ranges) for f in inner if "callee" in f["module"] or "busy" in f["module"])
vdso = sum(f["module"] == "[vdso]" for f in inner)
print(len(inner), "samples,", plt, "in the procedure linkage table,", vdso, "in the vDSO")
sys.exit(plt < 3 or vdso < 3)
END
