#!/bin/bash
# Programs that are slow for a known reason: the first line of `argus path` tells function, lock and holder.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc python3

# On a busy machine more of a path is told to wait for a processor; who and where stays.
python3 "$HERE/slow/score.py" --argus "$(command -v argus)" >score.txt || fail "$(cat score.txt)"
