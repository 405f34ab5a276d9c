#!/usr/bin/env python3
"""How fast a stepped function goes, and what its file takes: instructions a second of the thread's own time and of the
clock, bytes an instruction, by a program whose instructions are known; that what it computes is the same.

Usage: steps.py [--argus build/argus] [--instructions N] [--runs N]. Needs root and gcc. One line, and the load."""
import argparse
import os
import statistics
import subprocess
import tempfile

PER_TURN = 30   # instructions of a turn, with those of the function that it calls; a branch in every six, a call and return
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__asm__(".type mix, @function\nmix:\n.cfi_startproc\n mov %rdi, %rax\n shl $13, %rax\n xor %rdi, %rax\n mov %rax, %rdx\n shr $7, %rdx\n xor %rdx, %rax\n"
	" mov %rax, %rdx\n shl $17, %rdx\n xor %rdx, %rax\n ret\n.cfi_endproc\n.size mix, .-mix\n"
	".globl work\n.type work, @function\nwork:\n.cfi_startproc\n push %rbx\n.cfi_def_cfa_offset 16\n mov %rdi, %rbx\n mov $88172645463325252, %rdi\n"
	"1: call mix\n mov %rax, %rdi\n mov %rax, %rcx\n and $7, %ecx\n test $1, %al\n jz 2f\n add $3, %rdi\n jmp 3f\n2: sub $5, %rdi\n nop\n"
	"3: mov %rdi, %rsi\n shr $3, %rsi\n cmp $9, %ecx\n ja 4f\n xor %rsi, %rdi\n lea 1(%rdi), %rdi\n mov %rdi, %r8\n and $15, %r8d\n cmp $99, %r8d\n"
	" ja 4f\n or $1, %rdi\n4: dec %rbx\n jnz 1b\n mov %rdi, %rax\n pop %rbx\n.cfi_def_cfa_offset 8\n ret\n.cfi_endproc\n.size work, .-work\n");
extern unsigned long work(unsigned long turns);
int main(int count, char **words)
{
	unsigned long turns = strtoul(words[count - 1], 0, 10), result;
	struct timespec a, b, c, d;
	getchar();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	clock_gettime(CLOCK_MONOTONIC, &c);
	result = work(turns);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	clock_gettime(CLOCK_MONOTONIC, &d);
	printf("%lu %.6f %.6f\n", result, (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
	       (double)(d.tv_sec - c.tv_sec) + (double)(d.tv_nsec - c.tv_nsec) / 1e9);
	return 0;
}
"""


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--argus", default="build/argus")
    options.add_argument("--instructions", type=int, default=10000000)
    options.add_argument("--runs", type=int, default=1)
    given = options.parse_args()
    argus = os.path.abspath(given.argus)
    turns = given.instructions // PER_TURN
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "steps")
        with open(path + ".c", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["gcc", "-O2", "-o", path, path + ".c"], check=True)

        def run(stepped):
            with subprocess.Popen([path, str(turns)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
                said = ""
                if stepped:
                    with subprocess.Popen([argus, "step", str(program.pid), "steps:work", "--most", str(given.instructions), "-o", "a.step"],
                                          cwd=work, stderr=subprocess.PIPE, text=True) as tool:
                        while line := tool.stderr.readline():
                            said = line.strip()
                            if said.startswith("stepping"):
                                program.stdin.write("\n")
                                program.stdin.close()
                    if tool.returncode:
                        raise SystemExit(f"steps: {said}")
                else:
                    program.stdin.close()
                return program.stdout.read().split(), said

        bare, _ = run(False)
        runs = []
        for _ in range(given.runs):
            out, said = run(True)
            if out[0] != bare[0]:
                raise SystemExit(f"steps: it computed {out[0]}, without stepping {bare[0]}")
            runs.append([given.instructions / float(out[1]), given.instructions / float(out[2]), os.path.getsize(os.path.join(work, "a.step"))])
        columns = list(zip(*runs))
        count = subprocess.run([argus, "dump", "--type", "step", "a.step"], cwd=work, capture_output=True, text=True, check=True).stdout.count("\n")
        print(f"load {os.getloadavg()[0]:.1f}; {given.instructions} instructions, {count} places: {statistics.median(columns[0]):.0f} a second of the "
              f"thread's time, {statistics.median(columns[1]):.0f} by the clock, a file of {statistics.median(columns[2]) / 1e6:.1f} MB; {said}")


main()
