#!/bin/bash
# gzip with the lowest priority shares its processor with three programs of the highest.
. "$(dirname "$0")/../lib.sh"

cpu=$(($(nproc) - 1))
head -c 12000000 /dev/urandom >"$W/in"
if buggy; then
	hogs=
	for _ in 1 2 3; do
		background taskset -c "$cpu" nice -n -20 sha256sum /dev/zero
		hogs="$hogs $LAST"
	done
	actor root_hogs "${hogs# }"
fi
timed "$W/victim" 7 taskset -c "$cpu" nice -n 19 gzip -c "$W/in" >/dev/null &
finish gzip
