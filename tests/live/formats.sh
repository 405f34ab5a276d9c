#!/bin/bash
# Traces of every version of the format stay readable: tests/data/formats has one of each,
# all of the same text.
. "$HERE/live/_lib.sh"
kept=$HERE/data/formats
newest=$(sed -n 's/^#define FORMAT_VERSION \([0-9]*\).*/\1/p' "$HERE/../src/trace/format.h")

for version in $(seq "$newest"); do
	[ -e "$kept/$version.argus" ] || fail "no trace of version $version is kept"
	cp "$kept/$version.argus" .
	[ "$(od -An -tu4 -j8 -N4 "$version.argus" | tr -d ' ')" = "$version" ] || fail "$version.argus is of another version"
	argus dump --text "$version.argus" >text || fail "version $version cannot be read"
	cmp text "$kept/trace.text" || fail "version $version reads differently"
	argus why "$version.argus" 2>&1 | says - 'worker (thread 11 of process' || fail "version $version is not understood"
done
