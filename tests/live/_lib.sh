# shellcheck shell=bash disable=SC2034,SC2174
# For live tests: `. "$HERE/live/_lib.sh"` first. A test runs in a fresh folder
# ($WORK), with argus in PATH; it fails by `fail`, or by any command that fails.
set -euo pipefail

# The recorder in the background, if there is one, is the test's own.
export ARGUS_RUNTIME_DIR=${WORK:-$PWD}/run

fail() { echo "FAILED: $*" >&2; exit 1; }
skip() { echo "$*"; exit 77; }

# Recording needs root, BTF, a build with BPF, and a kernel that loads BPF
# programs. Never asked of argus itself: a broken recorder must fail, not skip.
need_bpf() {
	[ "${ARGUS_HAVE_BPF:-}" = 1 ] || skip "argus was built without BPF"
	[ "$(id -u)" = 0 ] || skip "recording needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
	PATH=$PATH:/usr/sbin bpftool prog list >/dev/null 2>&1 || skip "the kernel refuses the bpf system call"
}

need_command() {
	local name
	for name; do
		command -v "$name" >/dev/null || PATH=/usr/sbin:/sbin command -v "$name" >/dev/null || skip "$name is not installed"
	done
}

# ... | matches PATTERN: as grep -q, but to the end of what comes, so that the command
# before it does not fail for a reader that has gone.
matches() { grep "$@" >/dev/null; }

# says FILE PATTERN: an answer does, wherever its lines happen to break ("-": what comes).
says() { cat -- "$1" | tr -s '\n ' ' ' | matches -e "$2"; }

# wait_until SECONDS CONDITION...: until the command succeeds; fails when it never does.
wait_until() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || fail "never came true: $*"
		sleep 0.02
	done
}

# json FILE EXPRESSION: value of a Python expression over the document `d`.
json() { python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }

# record_pack PACK ARGUMENTS...: records with it; the test is skipped where the library is of a build that the pack does not know.
record_pack() {
	local status=0
	argus record --pack "$@" 2>record.txt || status=$?
	if grep -q 'does not know this build' record.txt; then
		skip "$(grep 'does not know' record.txt)"
	fi
	[ $status = 0 ] || fail "$(cat record.txt)"
}
