#!/bin/bash
# Work functions of the kernel are shown by their names, from what the trace
# itself has: another machine, or this one after a boot, has other addresses.
. "$HERE/live/_lib.sh"
need_bpf
[ "$(cat /proc/sys/kernel/kptr_restrict)" -lt 2 ] && grep -q ' _text$' /proc/kallsyms || skip "the kernel hides its functions"

argus record --level full -o t.trace -- sh -c 'for i in 1 2 3; do sync -f .; sleep 0.1; done' 2>/dev/null
[ "$(argus info --json t.trace | python3 -c 'import json,sys; print(json.load(sys.stdin)["types"].get("work_start", 0))')" -gt 0 ] ||
	skip "no kernel worker has had work to do"
argus info --json t.trace >info
text=$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms)
[ "$(json info 'd["machine"]["kernel_text"]')" = "$text" ] || fail "the trace does not tell where the kernel lies"

argus dump --type work_queue,work_start t.trace >works
! grep -v ' # ' works || fail "functions without names"
# each is the one that the kernel says stands there
sed 's/.* function=0x\([0-9a-f]*\).* # \([^ ]*\).*/\1 \2/' works | sort -u >seen
while read -r address name; do
	grep -qi "^$address [a-z] $name\b" /proc/kallsyms || fail "$address is not $name"
done <seen
[ -s seen ] || fail "no functions"

# the names are the trace's own: they stay when it goes through the text form
argus dump --text t.trace >t.text
argus import --text t.text -o again.trace 2>/dev/null
argus dump --type work_queue,work_start again.trace | cmp - works || fail "other names after the way through the text"
