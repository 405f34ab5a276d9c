#!/bin/bash
# bash: ${x//pattern/...} with an extended pattern on a long string tries every (start, end) pair.
. "$(dirname "$0")/../lib.sh"

cat >"$W/script.sh" <<'SCRIPT'
x=$(head -c $1 /dev/zero | tr '\0' a); y=${x//+(a)b/Z}; echo ${#y}
SCRIPT
buggy && length=1900 || length=100
timed "$W/victim" 39 bash -O extglob "$W/script.sh" $length >/dev/null &
finish bash
