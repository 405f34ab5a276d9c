#!/bin/bash
# argus now on machines where all is well: nothing is claimed. (tests/standing/healthy.py has more of them.)
# alone: a machine where nothing is stuck
. "$HERE/live/_lib.sh"
need_bpf
need_command python3

python3 "$HERE/standing/healthy.py" --argus "$(command -v argus)" --looks 1 pipelines daemons terminals python clients >said.txt ||
	fail "$(cat said.txt)"
