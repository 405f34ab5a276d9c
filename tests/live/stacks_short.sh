#!/bin/bash
# alone: stacks of the whole machine count, also those of the code that others make at run time
# Stacks of programs that live for a moment: their mappings are told when most
# of their life is over, so what was recorded before is unwound afterwards.
. "$HERE/live/_lib.sh"
need_bpf
need_command make sh

for i in $(seq 150); do echo "int f$i(int x) { return x * $i; }" >"f$i.c"; done
cat >Makefile <<'END'
all: $(patsubst %.c,%.o,$(wildcard *.c))
%.o: %.c
	@sh -c 'sed s/x/y/g $< | sort | cat > $@ && ls $@ > /dev/null'
END
argus record -o short.trace -- make -j4 all >/dev/null 2>&1
argus info --json short.trace >info.json
[ "$(json info.json 'd["stacks"]["user"] > 1000')" = True ] || fail "hardly any stacks: $(argus info short.trace)"
# what the whole machine does meanwhile counts too: a little less than what is reached
[ "$(json info.json 'd["stacks"]["whole"] > 0.98 * d["stacks"]["user"]')" = True ] || fail "not whole: $(argus info short.trace)"
# execve takes a program's memory away: no stack is walked there
argus dump --json --stacks -e switch,wake,block_issue short.trace >dump.json
[ "$(json dump.json 'sum(e.get("syscall") == "execve" and e["stack"][-1].get("ends") == "no_page" for e in d["events"] if e.get("stack"))')" = 0 ] ||
	fail "stacks that are gone"
