#!/bin/bash
# A 32-bit program: its system calls have other numbers. They are told as not
# known, never as another call, nor as a fault; its stacks are not walked, and say so.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc
cat >small.c <<'END'
#include <time.h>
#include <unistd.h>
int main(void)
{
	struct timespec t = { 0, 2000000 };
	int ends[2];
	char c;

	if (pipe(ends))
		return 1;
	for (int i = 0; i < 50; i++) {
		nanosleep(&t, 0);
		if (write(ends[1], "x", 1) < 0 || read(ends[0], &c, 1) < 0)
			return 1;
	}
	return 0;
}
END
gcc -m32 -O2 -o small small.c 2>/dev/null || skip "gcc cannot make 32-bit programs (gcc-multilib)"
./small || skip "the kernel runs no 32-bit programs"
for level in lean full; do
	argus record --level $level -o $level.trace -- ./small 2>/dev/null || fail "recording at the $level level"
	argus dump --comm small --type switch $level.trace >switches
	[ "$(grep -c ' state=sleeping wait=other' switches)" -ge 50 ] || fail "$level: naps are missing: $(tail -3 switches)"
	! grep 'state=sleeping wait=fault' switches || fail "$level: naps are taken for faults"
	argus dump --stacks --comm small --type switch $level.trace >stacks
	[ "$(grep -c '^  *\.\.\. a 32-bit program, whose stacks are not walked' stacks)" -ge 50 ] || fail "$level: no word of its stacks: $(head stacks)"
	! grep ' state=sleeping .*syscall=' switches || fail "$level: a call of another number"
done
argus dump --comm small --type syscall full.trace >calls
sed '1,/ exec /d' calls >after
! grep 'syscall number=\(nanosleep\|[a-z_]*stat\|write\|read\)' after || fail "a call of another number"
[ "$(grep -c ' syscall ' calls)" -ge 150 ] || fail "calls are missing"
