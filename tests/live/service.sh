#!/bin/bash
# The recording service: members of a group record, mark and snap; they see what their own
# processes do, what is written goes where they could write, and who misbehaves is refused.
. "$HERE/live/_lib.sh"
need_bpf
need_command setpriv useradd python3
export ARGUS_RUNTIME_DIR=$WORK/run ARGUS_SERVICE_SOCKET=$WORK/socket TMPDIR=$WORK/tmp
group=argus-live-$$ one=argus-a$$ two=argus-b$$
leave() {
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null || true
	argus stop 2>/dev/null || true
	wait
	PATH=$PATH:/usr/sbin
	userdel "$one" 2>/dev/null || true
	userdel "$two" 2>/dev/null || true
	groupdel "$group" 2>/dev/null || true
}
trap leave EXIT
PATH=$PATH:/usr/sbin groupadd --system "$group"
PATH=$PATH:/usr/sbin useradd --system --no-create-home -G "$group" "$one"
PATH=$PATH:/usr/sbin useradd --system --no-create-home "$two"
chmod 755 . && mkdir -m 700 tmp home && chown "$one" home
cp "$ARGUS" argus && chmod 755 argus
as() { local user=$1; shift; setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups env TMPDIR=/tmp "$@"; }
: >conf
argus service --socket "$WORK/socket" --config "$WORK/conf" --group "$group" 2>service.log &
wait_until 20 test -S socket
[ "$(stat -c '%U %G %a' socket)" = "root $group 660" ] || fail "the socket is $(stat -c '%U %G %a' socket)"
argus service --socket "$WORK/socket" --config "$WORK/conf" --group "$group" 2>log && fail "two services on one socket"
matches 'another service' <log || fail "$(cat log)"

# another user's process, which must stay unseen
cp /bin/sleep other-program
setpriv --reuid "$two" --regid "$(id -g "$two")" --clear-groups bash -c "while :; do $WORK/other-program 0.02 --help-is-not-read 2>/dev/null || $WORK/other-program 0.02; done" &

cd home || fail "no folder"
# a member records a command: it runs as him, the file is his
status=0
as "$one" ../argus record -o t -- sh -c "id -un; sleep 0.3; exit 7" >out 2>log || status=$?
[ $status = 7 ] || fail "status $status: $(cat log)"
[ "$(cat out)" = "$one" ] || fail "the command ran as $(cat out): $(cat log)"
[ "$(stat -c '%U %a' t)" = "$one 600" ] || fail "the trace is $(stat -c '%U %a' t)"
as "$one" ../argus dump t --type switch | matches ' sleep ' || fail "the command was not recorded"
as "$one" ../argus why t >answer || [ $? = 3 ] || fail "no answer: $(cat answer)"
# what is another's stays his
see_only_own() {
	argus dump "$1" --type task,exec,descriptor,module,mapping >seen
	matches "$WORK/other-program" <seen && fail "$1: another user's files or command lines: $(grep "$WORK/other-program" seen | head -3)"
	python3 - "$1" "$(id -u "$one")" <<'E'
import json, subprocess, sys
def dump(types):
    run = subprocess.run(["argus", "dump", sys.argv[1], "--type", types, "--json"], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)["events"]
uid = {}
for e in dump("task"):
    uid.setdefault(e["tid"], set()).add(e.get("uid", 0))
strangers = [e for e in dump("sample,descriptor,mapping,waiting,exec,fork") if int(sys.argv[2]) not in uid.get(e["tid"], {int(sys.argv[2])})]
assert not strangers, strangers[:3]
E
	argus info "$1" | matches kernel_text && fail "$1 tells where the kernel lies"
	return 0
}
see_only_own t
as "$one" ../argus record -a --duration 300ms -o all 2>log || fail "for a time: $(cat log)"
see_only_own all
as "$one" ../argus record --max-size 1M --duration 200ms -o t 2>log || fail "over an old trace: $(cat log)"
[ -e t.old ] || fail "the trace before was not kept"
as "$one" ../argus record --probe ../argus:main -o no -- true 2>log && fail "probes by the service"
matches 'needs root' <log || fail "$(cat log)"
as "$one" ../argus record -o no -- ./not-there 2>log && fail "a command that is not there"
[ ! -e no ] || fail "a trace of nothing is left"

# no recorder in the background: said so
as "$one" ../argus mark hello 2>log && fail "a mark without a recorder"
matches 'no recorder' <log || fail "$(cat log)"
(cd / && ARGUS_RUNTIME_DIR=$ARGUS_RUNTIME_DIR argus start --dir "$WORK/ring" --size 16M --no-index 2>/dev/null)
as "$one" ../argus mark 'a member was here' 2>log || fail "mark: $(cat log)"
as "$one" ../argus status >status 2>log || fail "status: $(cat log)"
matches recording <status || fail "$(cat status)"
as "$one" bash -c 'sleep 0.3 & wait' 
as "$one" ../argus snap -o s 2>log || fail "snap: $(cat log)"
[ "$(stat -c '%U %a' s)" = "$one 600" ] || fail "the snapshot is $(stat -c '%U %a' s)"
as "$one" ../argus dump s --type mark | matches 'a member was here' || fail "the mark is not in the snapshot"
as "$one" ../argus dump s --type switch | matches ' sleep ' || fail "the member's own process is not in the snapshot"
see_only_own s
as "$one" ../argus snap --last 1s -o s1 2>log || fail "snap --last: $(cat log)"
see_only_own s1

# who is not a member
chmod 777 .
as "$two" ../argus record -o x -- true 2>log && fail "a stranger records"
matches 'members of the group' <log || fail "$(cat log)"
chmod 700 .

# hostile members: no descriptor, one for reading, a device, a FIFO, several, garbage, silence
as "$one" python3 - "$WORK/socket" <<'E' || fail "hostile clients"
import array, os, socket, sys
def ask(data, fds=()):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
    s.settimeout(60)
    answer = s.recv(65536)
    while answer and not answer.startswith(b"end "):
        answer = s.recv(65536)
    return answer.decode()
record = b"record\nduration=100000000\n"
open("readable", "w").write("mine")
os.mkfifo("fifo")
reading = os.open("readable", os.O_RDONLY)
fifo = os.open("fifo", os.O_RDWR)
path = os.open("readable", os.O_PATH)
null = os.open("/dev/null", os.O_RDWR)
for data, fds, words in (
    (record, (), "lacks the descriptor"), (record, (reading,), "may be written"), (record, (path,), "may be written"),
    (record, (fifo,), "may be written"), (record, (null,), "may be written"), (record, (reading, null, fifo), "more than one"),
    (b"snap\nlast=1\n", (reading,), "may be written"), (b"stop\n", (), "does not know"), (b"record", (), "empty, too long"),
    (b"", (), "empty, too long"), (b"\0" * 100, (), "empty, too long"), (b"a" * 60000, (), "too long"),
    (b"record\nduration=-1\n", (), "not a valid number"), (b"record\npids=1\npids=2\n", (), "twice"), (b"record\npath=/etc/shadow\n", (), "not known"),
    (b"mark\ntext=\n", (), "needs a text"),
):
    answer = ask(data, fds)
    assert answer.startswith("end -") and words in answer, (data[:40], answer)
assert open("readable").read() == "mine"
# one who says nothing holds nobody up; many who say nothing are bounded
silent = []
for i in range(20):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    silent.append(s)
silent[-1].settimeout(60)
assert b"too many callers" in silent[-1].recv(65536)
for s in silent:
    s.settimeout(60)
    while s.recv(65536):
        pass
# one who leaves ends his recording
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
fd = os.open("left", os.O_RDWR | os.O_CREAT)
s.sendmsg([b"record\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
while not s.recv(65536).startswith(b"started"):
    pass
s.close()
E
wait_until 60 argus info left
see_only_own left
made() { [ -z "$(ls -A "$WORK/tmp")" ]; }
wait_until 30 made

# the configuration is read anew for each caller
echo 'members-see = everything' >../conf
# the refusal may be there before the question is sent
for _ in $(seq 40); do
	as "$one" ../argus record --duration 100ms -o t 2>log && fail "a conf that is wrong: $(cat log)"
	matches "line 1: members-see is 'own' or 'all'" <log || fail "$(cat log)"
done
echo "see-all = $one" >../conf
as "$one" ../argus record --duration 300ms -o t 2>log || fail "one who sees all: $(cat log)"
argus dump t --type task | matches "$WORK/other-program" || fail "he does not see all"
printf 'recordings = 0\n' >../conf
as "$one" ../argus record --duration 100ms -o t 2>log && fail "more recordings than allowed"
matches 'allows no recordings' <log || fail "$(cat log)"
exit 0
