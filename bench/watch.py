#!/usr/bin/env python3
"""What a hit of a watchpoint costs the thread that writes, with its value and stack recorded, beside the same watchpoint of
perf_event_open alone; whether every write is there with its value and a stack.

Usage: watch.py [--argus build/argus] [--writes N] [--runs N]. Needs root and gcc. A line for each run, bare and recorded in turns."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

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
	printf("%.3f\n", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / 1e3 / atoi(words[1]));
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

        def run(more, watched):
            with subprocess.Popen([path, str(given.writes)] + more, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
                if watched:
                    with subprocess.Popen([argus, "watch", str(program.pid), "flag", "--limit", "0", "-o", "a.trace"], cwd=work,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tool:
                        while line := tool.stderr.readline():
                            if line.startswith("watching"):
                                program.stdin.write("\n")
                                program.stdin.close()
                else:
                    program.stdin.close()
                return float(program.stdout.read() or "nan")

        ratios = []
        for _ in range(given.runs):
            bare, full = run(["bare"], False), run([], True)
            info = json.loads(subprocess.run([argus, "info", "--json", "a.trace"], cwd=work, capture_output=True, check=True).stdout)
            with subprocess.Popen([argus, "dump", "--text", "--type", "flag_write", "a.trace"], cwd=work, stdout=subprocess.PIPE, text=True) as dump:
                lines = [line for line in dump.stdout if " flag_write " in line]
            values = {word[6:] for line in lines for word in line.split() if word.startswith("value=")}
            stacks = sum("stack=" in line for line in lines)
            ratios.append(full / bare)
            print(f"load {os.getloadavg()[0]:.1f}: {full:.2f} us a hit, bare {bare:.2f}; of {given.writes} writes {len(lines)} are there, "
                  f"{len(values)} values, {stacks} with a stack, {info['lost']} lost", flush=True)
        print(f"{statistics.median(ratios):.2f} times the bare watchpoint in the median")


main()
