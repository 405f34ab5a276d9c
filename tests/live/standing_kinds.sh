#!/bin/bash
# Twenty kinds of hangs that stood before Argus came: all are told right as root, most of them by the processes' own
# user, and without their memory as many as the kernel tells of.
# alone: one of the kinds is that a processor is short
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc python3 setpriv
getent passwd nobody >/dev/null || skip "there is no user called nobody"

# where everybody can start it, too
cp "$(command -v argus)" .
chmod a+rx . argus
kinds() { # LEAST OPTION...
	local got=0
	python3 "$HERE/standing/score.py" --argus "$PWD/argus" --least "$@" kinds >score.txt 2>&1 || got=$?
	! grep -q skipped: score.txt || skip "$(grep skipped: score.txt)"
	[ $got = 0 ] || fail "$(cat score.txt)"
}
kinds 20
kinds 14 --user nobody
# eight, one of which is that a processor is short: other work may change that
kinds 7 --user nobody --unreadable
