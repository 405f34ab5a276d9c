# shellcheck shell=bash disable=SC2034,SC2174
# What all cases share. A case's run.sh begins with
#     . "$(dirname "$0")/../lib.sh"
# and is called with `base` (all goes well) or `buggy` (the victim hangs). It starts
# real programs, and its last line of output is one JSON object: victim_pid,
# victim_comm, start_ns, end_ns (CLOCK_MONOTONIC), hang_ms, actors (role -> pid or tid).
# Everything lives in $W and ends with the script.
set -u
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=${HOME:-/root}
FOLDER=$(cd "$(dirname "$0")" && pwd)
CASES=$(dirname "$FOLDER")
MODE=${1:-}
case $MODE in
base | buggy) ;;
*) echo "usage: $0 base|buggy" >&2; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 2; }

W=$(mktemp -d /tmp/argus-case.XXXXXX)
chmod 755 "$W"
GROUPS_STARTED=()   # process groups to end
UNDO=()             # commands to run first at the end
ACTORS=

buggy() { [ "$MODE" = buggy ]; }

# background CMD...: in a process group of its own; its pid is in $LAST.
background() {
	setsid "$@" &
	LAST=$!
	GROUPS_STARTED+=("$LAST")
}

cleanup() {
	local item
	trap - EXIT INT TERM
	for item in "${UNDO[@]:-}"; do
		[ -n "$item" ] && eval "$item"
	done
	for item in "${GROUPS_STARTED[@]:-}"; do
		[ -n "$item" ] && { kill -CONT -- "-$item"; kill -TERM -- "-$item"; }
	done
	sleep 0.3
	for item in "${GROUPS_STARTED[@]:-}"; do
		[ -n "$item" ] && kill -KILL -- "-$item"
	done
	# What left its group (services that the private D-Bus started) still has $W in its environment.
	for item in $(timeout 3 grep -laF "$W" /proc/[0-9]*/environ | cut -d/ -f3); do
		[ "$item" != $$ ] && kill -KILL "$item"
	done
	awk -v w="$W/" 'index($2, w) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n1 umount -l
	wait
	cd /
	rm -rf --one-file-system "$W"
}
trap 'cleanup >/dev/null 2>&1' EXIT
trap 'exit 1' INT TERM

# timed OUT SECONDS CMD...: runs the victim, at most so long; OUT becomes "pid start_ns
# end_ns status" at its end, OUT.pid its pid at once.
timed() { perl "$CASES/timed.pl" "$@"; }

# actor ROLE PID: names someone for the truth; pids may be several, parted by spaces.
actor() { ACTORS="$ACTORS${ACTORS:+, }\"$1\": \"$2\""; }

# report PID COMM START_NS END_NS
report() {
	printf '{"case":"%s","mode":"%s","victim_pid":%s,"victim_comm":"%s","start_ns":%s,"end_ns":%s,"hang_ms":%d,"actors":{%s}}\n' \
		"${FOLDER##*/}" "$MODE" "$1" "$2" "$3" "$4" $((($4 - $3) / 1000000)) "$ACTORS"
}

# report_file FILE COMM: of a file as `timed` writes it.
report_file() {
	local pid start end status
	read -r pid start end status <"$1"
	report "$pid" "$2" "$start" "$end"
}

# build_c NAME SOURCE OPTION...: builds the case's own program and prints its path: in $ARGUS_CASE_PROGRAMS,
# where it is kept for the next run, or with the rest of the run.
build_c() {
	local program=${ARGUS_CASE_PROGRAMS:-$W}/$1 compiler=cc
	[ "${2%.cc}" = "$2" ] || compiler=c++
	[ -x "$program" ] || "$compiler" "${@:3}" -o "$program.part" "$2" && [ -x "$program" ] || mv "$program.part" "$program"
	echo "$program"
}

# wait_for TENTHS CONDITION: until the shell text succeeds.
wait_for() {
	local i
	for ((i = 0; i < $1; i++)); do
		eval "$2" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	echo "$0: never came true: $2" >&2
	return 1
}

# finish COMM: waits for the victim of `timed $W/victim` and reports it.
finish() {
	wait_for 390 "[ -e $W/victim ]" && report_file "$W/victim" "$1"
}

# display_start: an X server of our own, and a home that nobody else uses.
display_start() {
	export DISPLAY=:$((100 + RANDOM % 800))
	unset WAYLAND_DISPLAY XAUTHORITY DBUS_SESSION_BUS_ADDRESS
	background Xvfb "$DISPLAY" -screen 0 1100x800x24 -nolisten tcp >/dev/null 2>&1
	wait_for 100 xdpyinfo
	export HOME=$W/home XDG_RUNTIME_DIR=$W/run XDG_CONFIG_HOME=$W/home/.config XDG_CACHE_HOME=$W/home/.cache
	export NO_AT_BRIDGE=1 GIO_USE_VFS=local GSETTINGS_BACKEND=memory QT_QPA_PLATFORM=xcb
	mkdir -p -m 700 "$HOME" "$XDG_RUNTIME_DIR" "$XDG_CONFIG_HOME"
}

# bus_start: a private session bus; its daemon's pid is in $BUS.
bus_start() {
	dbus-daemon --session --nofork --address=unix:path="$W/bus" --nosyslog --nopidfile >/dev/null 2>"$W/bus.err" &
	BUS=$!
	UNDO+=("kill $BUS")
	wait_for 50 "[ -S $W/bus ]"
	export DBUS_SESSION_BUS_ADDRESS=unix:path=$W/bus
}

# ping_start PID OUT SECONDS: asks the program's window, every 50 ms, whether it
# answers (_NET_WM_PING); returns when it first did. $WINDOW is the window, $PINGER the
# asker. ping_end OUT ends that; OUT becomes "pid start_ns end_ns count" of the worst.
ping_start() {
	background /usr/bin/python3 "$CASES/window_ping.py" "$1" "$2" "$3"
	PINGER=$LAST
	wait_for 300 "[ -e $2.ready ]"
	WINDOW=$(cat "$2.ready")
}
ping_end() {
	kill -TERM "$PINGER"
	wait_for "${2:-50}" "[ -s $1 ]"
}

# long_line FILE: ten megabytes of words; one line where it is to hang, short lines else.
long_line() {
	/usr/bin/python3 - "$1" "$MODE" <<-'PY'
		import sys
		words = 'lorem ipsum dolor sit amet consectetur adipiscing elit '
		joint = '' if sys.argv[2] == 'buggy' else '\n'
		open(sys.argv[1], 'w').write(joint.join([words] * (10000000 // len(words))) + '\n')
	PY
}
