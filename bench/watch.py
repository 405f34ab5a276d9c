#!/usr/bin/env python3
"""What a hit of a watchpoint costs the thread that writes, with its value and stack recorded, beside the same watchpoint of
perf_event_open alone, which is the machine's floor; whether every write is there with its value and a stack; what the same
program takes meanwhile that nobody watches.

Usage: watch.py [--argus build/argus] [--writes N] [--runs N]. Needs root and gcc. A line for each run, bare and recorded in turns; the
last two lines are medians of these pairs."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

BESIDE = 100000000   # writes that are not watched
PROGRAM = r"""
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
volatile int flag;
__attribute__((noinline)) void write_all(int writes)
{
	for (int i = 1; i <= writes; i++)
		flag = i;
}
int main(int count, char **words)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .bp_type = HW_BREAKPOINT_W, .bp_len = 4, .sample_period = 1 };
	struct timespec a, b;
	attr.bp_addr = (uintptr_t)&flag;
	if (count > 2 && syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0)
		return 1;
	getchar();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	write_all(atoi(words[1]));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	printf("%.6f\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e3 / atoi(words[1]));
	return 0;
}
"""


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--argus", default="build/argus")
    options.add_argument("--writes", type=int, default=100000)
    options.add_argument("--runs", type=int, default=3)
    given = options.parse_args()
    argus = os.path.abspath(given.argus)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "writes")
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-O2", "-o", path, path + ".c"], check=True)

        def beside():
            """Nanoseconds a write of a process of its own, which is not watched."""
            with subprocess.Popen([path, str(BESIDE)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as other:
                return float(other.stdout.read() or "nan") * 1e3

        def run(more, watched):
            with subprocess.Popen([path, str(given.writes)] + more, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
                neighbour = None
                if watched:
                    with subprocess.Popen([argus, "watch", str(program.pid), "flag", "--limit", "0", "-o", "a.trace"], cwd=work,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tool:
                        while line := tool.stderr.readline():
                            if line.startswith("watching"):
                                program.stdin.write("\n")
                                program.stdin.close()
                                neighbour = beside()
                else:
                    program.stdin.close()
                return float(program.stdout.read() or "nan"), neighbour

        pairs, neighbours = [], []
        for _ in range(given.runs):
            bare, alone = run(["bare"], False)[0], beside()
            full, watched = run([], True)
            info = json.loads(subprocess.run([argus, "info", "--json", "a.trace"], cwd=work, capture_output=True, check=True).stdout)
            with subprocess.Popen([argus, "dump", "--text", "--type", "flag_write", "a.trace"], cwd=work, stdout=subprocess.PIPE, text=True) as dump:
                lines = [line for line in dump.stdout if " flag_write " in line]
            values = {word[6:] for line in lines for word in line.split() if word.startswith("value=")}
            stacks = sum("stack=" in line for line in lines)
            pairs.append((full, bare))
            neighbours.append((watched, alone))
            print(f"load {os.getloadavg()[0]:.1f}: {full:.2f} us a hit, bare {bare:.2f}; of {given.writes} writes {len(lines)} are there, "
                  f"{len(values)} values, {stacks} with a stack, {info['lost']} lost", flush=True)

        def medians(rows):
            return [statistics.median(column) for column in zip(*rows)] + [statistics.median(a / b for a, b in rows)]

        print("{:.2f} us a hit, the machine's floor (bare watchpoint) {:.2f}: {:.2f} times that".format(*medians(pairs)))
        print("a write that nobody watches takes {:.2f} ns meanwhile, {:.2f} otherwise: {:.2f} times that".format(*medians(neighbours)))


main()
