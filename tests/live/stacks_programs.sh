#!/bin/bash
# Stacks of programs that are hard to find: code made at run time, static and
# static-pie programs, deleted files, other mount namespaces, plugins, forks.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

cat >nap.c <<'END'
#include <time.h>
__attribute__((noinline)) int nap_inner(int n)
{
	struct timespec t = { 0, 2000000 };
	nanosleep(&t, 0);
	return n + 1;
}
__attribute__((noinline)) int nap_outer(int n) { return nap_inner(n) * 2; }
END
cat >main.c <<'END'
#include <stdlib.h>
int nap_outer(int);
int main(int argc, char **argv)
{
	int n = 0;
	for (int i = 0, naps = argc > 1 ? atoi(argv[1]) : 300; i < naps; i++)
		n += nap_outer(i);
	return n == 1;
}
END
# record PROGRAM...: its stacks at waits are in out.txt
record() {
	argus record -o out.trace -- "$@" 2>/dev/null || fail "$* failed"
	argus dump --stacks -e switch out.trace >out.txt 2>/dev/null
}
has() { grep -q -- "$1" out.txt || fail "no $1 in: $(head -n 40 out.txt)"; }
# whole COMM: no stack of it was cut short
whole() { argus dump --stacks --comm "$1" -e switch out.trace 2>/dev/null >own.txt; grep -q '^  ' own.txt || fail "$1 has no stacks"
	! grep -q '\.\.\. ' own.txt || fail "$1: $(grep -B 9 '\.\.\. ' own.txt | head -n 20)"; }
outermost() { grep -q -- "$1" own.txt || fail "no $1 in: $(head -n 20 own.txt)"; }

gcc -O2 -fomit-frame-pointer -o dynamic nap.c main.c
record ./dynamic
whole dynamic
has 'nap_inner (dynamic)'

if gcc -O2 -static-pie -o spie nap.c main.c 2>/dev/null; then
	record ./spie
	whole spie
	has 'nap_inner (spie)'
	outermost '_start (spie)'
fi
if gcc -O2 -static -o static nap.c main.c 2>/dev/null; then
	strip static
	record ./static
	whole static
	has 'static+0x'
fi

# deleted while it runs, ended before the recorder has time for it: at its start it makes and lays tables
# for all that runs, here of large programs that it has met nowhere before
objcopy --remove-section .note.gnu.build-id "$(gcc -print-prog-name=cc1)" large
mkfifo never
exec 3<>never
larges=
for n in 1 2 3; do
	cp large "large$n"
	"./large$n" -quiet <&3 >/dev/null 2>&1 &
	larges+=" $!"
done
cp dynamic gone
record bash -c './gone 200 & while [ ! -e /proc/$!/exe ] || [ "$(readlink /proc/$!/exe)" != "$PWD/gone" ]; do :; done; rm gone; wait'
# shellcheck disable=SC2086
kill $larges
# on a busy machine some may be dropped meanwhile, but none may lack the program's table
argus dump --stacks --comm gone -e switch out.trace >own.txt 2>/dev/null
! grep -q 'no unwind table' own.txt || fail "gone: $(grep -B 9 'no unwind table' own.txt | head -n 20)"
outermost '__libc_start_main'

# visible in another mount namespace only
if unshare -m true 2>/dev/null; then
	mkdir inside
	record unshare -m sh -c 'mount -t tmpfs none inside && cp dynamic inside/hidden && ./inside/hidden 1500'
	whole hidden
	outermost '__libc_start_main'
fi

# a plugin that comes later
cat >load.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	void *plugin = dlopen("./plugin.so", RTLD_NOW);
	int (*f)(int) = plugin ? (int (*)(int))dlsym(plugin, "nap_outer") : 0;
	if (!f)
		return 1;
	for (int i = 0; i < 60; i++)
		f(i);
	return 0;
}
END
gcc -O2 -shared -fPIC -o plugin.so nap.c
gcc -O2 -o load load.c -ldl
record ./load
whole load
has 'nap_inner (plugin.so)'

# code made at run time, named by a map that is gone in the end
cat >jit.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int nap_outer(int);
static void nap(void) { nap_outer(1); }
int main(void)
{
	/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
	static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
	char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), path[64];
	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx %zx made_at_run_time\n", (unsigned long)at, sizeof(code));
	fclose(map);
	for (int i = 0; i < 400; i++)
		((void (*)(void (*)(void)))(void *)at)(nap);
	unlink(path);
}
END
gcc -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o jit nap.c jit.c
record ./jit
has 'made_at_run_time'
has 'main (jit)'

# the same, named by a jitdump that the program maps
sed -e 's/#include <unistd.h>/&\n#include <fcntl.h>\n#include <stdint.h>/' -e '/snprintf/,/fclose/d' -e 's/unlink(path);/(void)path;/' \
	-e '/mprotect/r /dev/stdin' jit.c >dumped.c <<'END'
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
	struct { uint32_t magic, version, bytes, machine, reserved, pid; uint64_t time, flags; } head =
		{ 0x4a695444, 1, 40, 62, 0, (uint32_t)getpid(), 0, 0 };
	struct { uint32_t kind, bytes; uint64_t time; uint32_t pid, tid; uint64_t vma, address, size, index; char name[16], code[8]; } load =
		{ 0, sizeof(load), 0, head.pid, head.pid, (uintptr_t)at, (uintptr_t)at, sizeof(code), 1, "dumped_at_run..", "" };
	if (write(fd, &head, sizeof(head)) < 0 || write(fd, &load, sizeof(load)) < 0 ||
	    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return 1;
END
gcc -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o dumped nap.c dumped.c
record ./dumped
has 'dumped_at_run'
has 'main (dumped)'

# a child that is forked and never runs another program
cat >forks.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
int nap_outer(int);
int main(void)
{
	for (int i = 0; i < 5; i++)
		if (!fork()) {
			for (int k = 0; k < 20; k++)
				nap_outer(k);
			_exit(0);
		}
	while (wait(0) > 0)
		;
}
END
gcc -O2 -fomit-frame-pointer -o forks nap.c forks.c
record ./forks
whole forks
has 'nap_inner (forks)'
