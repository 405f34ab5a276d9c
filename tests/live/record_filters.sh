#!/bin/bash
# A filter spares others what costs (samples), and keeps who wakes and who waits.
. "$HERE/live/_lib.sh"
need_bpf

spin() { exec sh -c 'while :; do :; done'; }
spin &
other=$!
trap 'kill $other' EXIT

# the command's own tree, without being asked
argus record -o t.trace -- sh -c '(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); sleep 0.1' 2>/dev/null
argus dump --text t.trace >text
grep -E "\] $other sample" text >/dev/null && fail "the other process was sampled"
grep ' sample ' text >/dev/null || fail "the command's child was not sampled"
grep -E "\] $other switch .*unfiltered" text >/dev/null || fail "the other's switches are missing or not marked"

argus record -p $other --duration 500ms -o p.trace 2>/dev/null
argus dump --text p.trace >text
[ "$(awk '$4 == "sample" { print $3 }' text | sort -u)" = $other ] || fail "not the filtered process alone was sampled"

argus record -u "$(id -u)" -C 0 --duration 500ms -o c.trace 2>/dev/null
# none at all when the other process kept to another processor
argus dump --text c.trace | awk '$4 == "sample" { print $2 }' | sort -u >cpus
[ "$(cat cpus)" = '[0]' ] || [ ! -s cpus ] || fail "samples of other processors: $(cat cpus)"

for bad in '-p 0' '-p 1,' '-C 3-1' '-C 0-4095' '-u nobody-of-this-name' '-G /no/such/group' '-p 4194305'; do
	status=0
	# shellcheck disable=SC2086
	argus record $bad -o bad.trace -- true >out 2>&1 || status=$?
	[ $status != 0 ] || fail "not refused: $bad"
	[ -s out ] || fail "no word about $bad"
done
