#!/usr/bin/env python3
"""What a hit of each kind of probe costs the thread that comes there: nanoseconds more a call, by a program that
times its own calls, with and without the probe, medians of several runs.

Usage: probes.py [--argus build/argus] [--runs N] [--calls N]. Needs root and gcc. A line for each kind, and the load."""
import argparse
import os
import statistics
import subprocess
import tempfile

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
struct job { long id; struct job *next; char name[24]; };
#define PLACE(name, first) __asm__(".globl " #name "\n.type " #name ", @function\n" #name ":\n" first "\nmov $1, %eax\nret\n.size " #name ", .-" #name "\n"); \
	extern long name(struct job *job);
PLACE(at_nop, "nop")
PLACE(at_long_nop, "nopl 0(%rax,%rax,1)")
PLACE(at_push, "push %rbp\npop %rbp")
PLACE(at_mov, "mov %rdi, %rcx")
__attribute__((noinline, noclone)) long typed(struct job *job) { __asm__ volatile("" : : "r"(job) : "memory"); return 3; }
static struct job jobs[2] = { { 1, &jobs[1], "first" }, { 2, &jobs[0], "second one of two" } };
int main(int count, char **words)
{
	long calls = count > 1 ? atol(words[1]) : 1000, sum = 0;
	long (*functions[])(struct job *) = { at_nop, at_push, at_mov, typed, at_long_nop };
	for (int kind = 0; kind < 5; kind++) {
		struct timespec a, b;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (long i = 0; i < calls; i++) {
			long (*volatile call)(struct job *) = functions[kind];
			sum += call(&jobs[i & 1]);
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		printf("%.1f ", ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)calls);
	}
	printf("%ld\n", sum);
	return 0;
}
"""
# what is said, the program's function, the probe behind it, options
KINDS = [
    ("a function, at a nop", 0, "at_nop", []),
    ("a function, at a nop of several bytes", 4, "at_long_nop", []),
    ("a function, at a push", 1, "at_push", []),
    ("a function, at another instruction", 2, "at_mov", []),
    ("a function's return", 1, "at_push%return", []),
    ("a function left, at its ret", 1, "at_push%leave", []),
    ("... with its stack", 1, "at_push", ["--stacks", "probes"]),
    ("a register and what lies behind it", 1, "at_push(rdi, rdi->0)", []),
    ("by debug information: a parameter's field", 3, "typed(job->id)", []),
    ("... three of them, seven reads of memory", 3, "typed(job->next->id, job->next->next->id, job->id)", []),
    ("... with a text", 3, "typed(job->id, job->name:string)", []),
]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--argus", default="build/argus")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--calls", type=int, default=100000)
    given = options.parse_args()
    argus = os.path.abspath(given.argus)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "places")
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-O2", "-g", "-fno-omit-frame-pointer", "-o", path, path + ".c"], check=True)

        def run(words):
            out = subprocess.run(words + [path, str(given.calls)], cwd=work, capture_output=True, text=True, check=False)
            if out.returncode:
                raise SystemExit(f"probes: {' '.join(words)}: {out.stderr}")
            return [float(word) for word in out.stdout.split()[:5]]

        bare = [statistics.median(column) for column in zip(*(run([]) for _ in range(given.runs)))]
        without = [statistics.median(column) for column in zip(*(run([argus, "record", "-o", "a.trace", "--"]) for _ in range(given.runs)))]
        print(f"load {os.getloadavg()[0]:.1f}; a call {bare[1]:.1f} ns, while it is recorded without a probe {without[1]:.1f}")
        for words, place, probe, more in KINDS:
            runs = [run([argus, "record", "-o", "a.trace", "--probe", f"p={path}:{probe}"] + more + ["--"])[place] for _ in range(given.runs)]
            size = os.path.getsize(os.path.join(work, "a.trace"))
            print(f"{words}: {statistics.median(runs) - without[place]:.0f} ns ({min(runs) - without[place]:.0f} to "
                  f"{max(runs) - without[place]:.0f}), {size / given.calls:.1f} bytes of file")


main()
