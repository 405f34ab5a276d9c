#!/bin/bash
# At a terminal: how far it is, on a line that goes before the answer comes; a pager, which
# an interrupt does not leave alone with the terminal; one that is not there.
. "$HERE/live/_lib.sh"
cat >at_terminal.py <<'END'
"""at_terminal.py KEYS COMMAND...: runs it at a pseudo-terminal, types KEYS when something
has come; prints what came and the status."""
import os, pty, signal, sys
keys = sys.argv[1].encode().decode('unicode_escape').encode()
pid, fd = pty.fork()
if not pid:
    signal.signal(signal.SIGINT, signal.SIG_DFL)    # what runs in the background is started with it ignored
    os.execvp(sys.argv[2], sys.argv[2:])
came = b''
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    came += data
    if keys and b'READY' in came:
        os.write(fd, keys)
        keys = b''
status = os.waitpid(pid, 0)[1]
sys.stdout.write(came.decode(errors='replace').replace('\r\n', '\n'))
print(f'[{os.waitstatus_to_exitcode(status)}]')
END
at_terminal() { python3 at_terminal.py "$@"; }

awk 'BEGIN { print "1 [0] 10 task pid=10 flags=leader \"a\""
	for (i = 0; i < 600000; i++)
		printf "%.6f [0] %d switch next=%d state=sleeping wait=poll\n", 1 + i * 1e-5, 10 + i % 2 * 10, 10 + (i + 1) % 2 * 10 }' >text
argus import --text text -o t.trace

export PAGER=cat TERM=xterm
ARGUS_PROGRESS_MS=1 at_terminal '' argus hangs t.trace >came
matches 'reading the trace: [0-9]* % of 0.6 M events' <came || fail "nothing told how far it was: $(head -c 300 came)"
# the line is cleared last, and the answer stands alone
tail -n 2 came | head -n 1 | matches $'\033\[Kno hang found$' || fail "the answer does not stand alone: $(tail -n 2 came | tail -c 300)"
rm -f t.trace.*
at_terminal '' argus hangs t.trace >came
[ "$(cat came)" = $'no hang found\n[0]' ] || fail "what is soon done tells how far it is: $(head -c 300 came)"
argus hangs t.trace 2>said >/dev/null || fail "hangs"
[ ! -s said ] || fail "without a terminal it tells how far it is"

PAGER='sed s/no/PAGED/' at_terminal '' argus hangs t.trace | matches 'PAGED hang found' || fail "no pager"
PAGER=/no/such/pager at_terminal '' argus hangs t.trace >came
matches 'cannot be run; PAGER=cat' <came && tail -n 1 came | matches '\[1\]' || fail "a pager that is not there: $(cat came)"
# an interrupt: argus waits for a pager that goes on
cat >pager <<-'END'
	#!/bin/sh
	trap 'sleep 0.3; echo STILL HERE; exit' INT
	echo READY
	cat >/dev/null
	while :; do sleep 0.05; done
END
chmod +x pager
PAGER=./pager at_terminal '\x03' argus hangs t.trace >came
matches 'STILL HERE' <came && tail -n 1 came | matches '\[130\]\|\[0\]' || fail "an interrupt leaves the pager alone: $(cat came)"

# colours where they are welcome, and nowhere else
coloured() { tr -d '\n' | matches $'\033\[[0-9;]*m'; }
env -u NO_COLOR python3 at_terminal.py '' argus doctor --all | coloured || fail "no colours at a terminal"
! NO_COLOR=1 at_terminal '' argus doctor --all | coloured || fail "colours in spite of NO_COLOR"
! env -u NO_COLOR TERM=dumb python3 at_terminal.py '' argus doctor --all | coloured || fail "colours at a dumb terminal"
! argus doctor --all | coloured || fail "colours in a pipe"

# interrupted while it writes: what was there stays, and nothing half is left
begun() { [ ! -d "/proc/$1/fd" ] || find "/proc/$1/fd" -lname '*t.trace' -o -lname '*/text' -o -lname '*deleted*' 2>/dev/null | matches .; }
for words in "export --perfetto -o" "export --speedscope -o" "symbolize -o" "report -o" "import --text text -o"; do
	rm -rf out
	mkdir out
	case $words in
	symbolize*|import*) cp t.trace out/file; kept=t.trace ;;
	*) echo before >before; cp before out/file; kept=before ;;
	esac
	trace=t.trace
	[ "${words#import}" = "$words" ] || trace=
	# shellcheck disable=SC2086
	env --default-signal=INT argus $words out/file $trace >said 2>&1 &
	pid=$!
	wait_until 30 begun $pid
	kill -INT $pid 2>/dev/null || : # it may be through by now
	status=0
	wait $pid || status=$?
	[ $status = 130 ] || [ $status = 0 ] || fail "$words: status $status: $(cat said)"
	# or it was through but for its own end
	# shellcheck disable=SC2086
	[ $status = 0 ] || cmp -s out/file $kept || { argus $words whole $trace >said 2>&1 && cmp out/file whole; } || fail "$words: the file before is gone"
	left=$(ls -A out)
	[ $status = 0 ] || [ "$left" = file ] || fail "$words: left $left"
done
