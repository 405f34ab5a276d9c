#!/bin/bash
# Programs that stood still before Argus came: `argus now` names who they wait for. (tests/standing/score.py
# has those that take processors, too.)
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc python3

python3 "$HERE/standing/score.py" --argus "$(command -v argus)" mutex_circle missing_signal full_pipes socket_peer file_lock \
	stopped_child fuse fuse_two block_device frozen_files inherited_lock dead_owner semaphore listen_queue pidfd epoll_nobody trace frozen kernel_lock locks >score.txt ||
	fail "$(cat score.txt)"
