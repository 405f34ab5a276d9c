#!/bin/bash
# Stacks of real programs: as other walkers see them, and with the names they must have.
. "$HERE/live/_lib.sh"
need_bpf
need_command eu-stack gcc

# frame by frame beside gdb and elfutils: tail calls, alloca, large and realigned frames, signals, recursion
python3 "$HERE/truth/truth.py" --argus "$(command -v argus)" --stops 2 fixture-c static-pie bash >truth.txt || fail "$(cat truth.txt)"
! grep -q skipped truth.txt || fail "$(cat truth.txt)"

# a stripped program: no neighbour's name for its static functions
cat >program.c <<'END'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static int hidden(int n)
{
	struct timespec t = { 0, 3000000 };
	nanosleep(&t, 0);
	return n + 1;
}
__attribute__((noinline)) int shown(int n) { return hidden(n) * 2; }
int main(void)
{
	int n = 0;
	for (int i = 0; i < 30; i++)
		n += shown(i);
	return n == 1;
}
END
gcc -O2 -g -rdynamic -fno-ipa-sra -fno-ipa-cp -o program program.c
gcc -O2 -rdynamic -s -fno-ipa-sra -fno-ipa-cp -Wl,--build-id=sha1 -o stripped program.c
argus record -o whole.trace -- ./program 2>/dev/null
argus dump --stacks --lines --comm program -e switch whole.trace >whole.txt
grep -q 'hidden (program) .*program.c:6' whole.txt || fail "no line for hidden: $(head -n 20 whole.txt)"
grep -q 'shown (program) .*program.c:9' whole.txt || fail "no line for shown"
argus record -o stripped.trace -- ./stripped 2>/dev/null
argus dump --stacks --comm stripped -e switch stripped.trace >stripped.txt
grep -q 'shown (stripped)' stripped.txt || fail "no name for shown: $(head -n 20 stripped.txt)"
grep -q 'stripped+0x' stripped.txt || fail "hidden was given a name: $(head -n 20 stripped.txt)"
! grep -q 'hidden' stripped.txt || fail "hidden has a name"

# names written into the trace stay when the program is gone; another build is refused
argus symbolize -o named.trace whole.trace 2>/dev/null
mv program gone
argus dump --stacks --lines --comm program -e switch named.trace | matches 'hidden (program) .*program.c:6' || fail "the names are not in the trace"
! argus dump --stacks --comm program -e switch whole.trace 2>/dev/null | matches 'hidden' || fail "names came from nowhere"
mkdir -p symfs
cp gone symfs/program
argus dump --stacks --symfs symfs --comm program -e switch whole.trace 2>/dev/null | matches 'hidden (program)' || fail "--symfs was not used"
cp stripped program
argus dump --stacks --comm program -e switch whole.trace >other.txt 2>complaint.txt
! grep -q 'shown' other.txt || fail "another build's names were used"
grep -q 'build-id' complaint.txt || fail "nothing was said about the other build"

# names that were kept from an earlier run are the same; debug information that comes later is noticed
mkdir -m 700 kept
cp gone program
objcopy --only-keep-debug program program.debug && strip -o bare program && cp bare program
objcopy --add-gnu-debuglink=program.debug program && mv program.debug later.debug
ARGUS_CACHE_DIR=$PWD/kept argus symbolize whole.trace >kept1.txt 2>/dev/null
ARGUS_CACHE_DIR=$PWD/kept argus symbolize whole.trace >kept2.txt 2>/dev/null
cmp kept1.txt kept2.txt || fail "names that were kept differ"
ls kept/*.names >/dev/null || fail "no names were kept"
! grep -q hidden kept2.txt || fail "hidden has a name without symbols"
mv later.debug program.debug
ARGUS_CACHE_DIR=$PWD/kept argus symbolize whole.trace >kept3.txt 2>/dev/null
grep -q 'hidden .*program.c:6' kept3.txt || fail "the debug file was not noticed: $(grep -a '^program+' kept3.txt)"
mv gone program

# folded stacks: one line each, a count at its end
argus export --folded --by wait-time named.trace >folded.txt 2>/dev/null
grep -q '^program;.*;main;shown;hidden;.* [0-9]*$' folded.txt || fail "no folded line: $(head -n 5 folded.txt)"
! grep -v -q '^[^ ]* [0-9]*$' folded.txt || fail "a folded line has another form"
# what the whole machine does meanwhile is others' matter; the program's own stacks are all whole
! grep -q '\.\.\.' whole.txt || fail "a stack of the program is not whole: $(grep -B 12 '\.\.\.' whole.txt | head -n 30)"
argus info whole.trace | matches 'walked to its end' || fail "info does not tell how whole the stacks are"
