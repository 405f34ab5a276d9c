#!/bin/bash
# What the recorder takes stays within bounds while processes come and go, each
# of a program that was not there before: its own memory and that of its maps.
. "$HERE/live/_lib.sh"
need_bpf

argus record -o t.trace 2>/dev/null &
recorder=$!
trap 'kill $recorder; wait $recorder || :' EXIT

# KiB: of its own, and of maps, each once
own() { awk '/^RssAnon/ { print $2 }' "/proc/$recorder/status"; }
maps() {
	for file in "/proc/$recorder"/fdinfo/*; do
		awk '/^memlock/ { bytes = $2 } /^map_id/ { id = $2 } END { if (id) print id, bytes }' "$file" 2>/dev/null
	done | sort -u | awk '{ bytes += $2 } END { printf "%d\n", bytes / 1024 }'
}
programs() {
	python3 - "$1" <<'END'
import os, shutil, sys
for number in range(int(sys.argv[1])):
    shutil.copy('/bin/true', f'program{number}')
    os.waitpid(os.posix_spawn(f'./program{number}', ['program'], {}), 0)
    os.unlink(f'program{number}')
END
}
started() { [ -s t.trace ]; }

wait_until 60 started
programs 300
before=$(own)
programs 1200
# what has ended is kept for seconds: first that it is given back, then how much is left
few() { [ "$(own)" -lt $((before + 6000)) ]; }
wait_until 60 few || fail "it grows: $before KiB after 300 programs, $(own) after 1500"
total=$(($(own) + $(maps)))
[ "$total" -lt 100000 ] || fail "its memory and maps take $total KiB"
echo "$before KiB after 300 programs, $(own) after 1500; maps $(maps) KiB"
