# The flight recorder's questions: a person marks that something is stuck, and `debug`
# without a file takes the snapshot that it asks; `why --mark` finds the hang by the mark.
# And a lean recording that tells not enough says so; the full one it plans is surer.
. "$HERE/live/_lib.sh"
need_bpf
need_command flock
export ARGUS_RUNTIME_DIR=$WORK/run
trap 'argus stop >/dev/null 2>&1 || true; [ -z "${holder:-}" ] || kill "$holder" 2>/dev/null || true' EXIT

argus start --dir "$WORK/ring" --size 8M 2>messages || fail "not started: $(cat messages)"
touch lock
mkfifo end
flock lock sh -c 'echo held; read word <end' >held &
holder=$!
wait_until 20 grep -q held held
flock lock true &
victim=$!
# the kernel lists who waits for a lock behind an arrow
waits() { grep -q -- "-> FLOCK.* $victim " /proc/locks; }
wait_until 20 waits
since=$SECONDS
wait_until 20 eval '[ $((SECONDS - since)) -ge 3 ]'
argus mark "stuck here" 2>/dev/null
echo go >end
wait "$victim"

# what is not in the ring: there is a trace, so nothing is said of how to make one
argus why --pid 4194304 2>messages && fail "a process that cannot be"
says messages "4194304 is not in the trace" || fail "another reason: $(cat messages)"
! says messages "argus record" || fail "told to record: $(cat messages)"

# others may hang on this machine too
argus debug -c hangs -c "why mark stuck" >debug.txt 2>messages || fail "debug: $(cat messages debug.txt)"
[ -s argus.trace ] || fail "no snapshot was taken"
says debug.txt "flock (pid $victim)" || fail "the hang is not in the snapshot: $(cat debug.txt)"
argus why --mark stuck --pid "$victim" --json >why.json 2>messages || fail "why --mark: $(cat messages)"
[ "$(json why.json 'd["victim"]["pid"]')" = "$victim" ] || fail "another victim: $(json why.json 'd["text"]')"
[ "$(json why.json "$holder"' in [step["pid"] for step in d["path"]]')" = True ] ||
	fail "the way does not lead over who held the lock: $(json why.json 'd["text"]')"
# of a trace that lies about it is said that the ring is newer; not of one that was saved just now
newer="from 'argus.trace'; .* is newer: name '$WORK/ring'"
touch argus.trace
argus hangs >/dev/null 2>messages || true
! grep -q "$newer" messages || fail "a trace saved just now: $(cat messages)"
touch -d "1 hour ago" argus.trace
argus hangs >/dev/null 2>messages || true
grep -q "$newer" messages || fail "nothing is said of the newer ring: $(cat messages)"
status=0
argus why --mark "never said" >none.txt 2>&1 || status=$?
[ $status = 1 ] && says none.txt "no mark 'never said'" || fail "a mark that is not there: $(cat none.txt)"
# where no trace lies about, all that reads one reads the ring
mv argus.trace away.trace
for reads in info "dump --from -1s" "path --pid $victim" "graph --list" "infer --folded"; do
	argus $reads >read.txt 2>messages || fail "$reads: $(cat messages)"
	[ -s read.txt ] || fail "$reads: nothing is told"
done
argus report -o report.html 2>messages || fail "report: $(cat messages)"
grep -q "flock" report.html || fail "the hang is not in the report"
argus stop >/dev/null 2>&1

# The one asked is no child of the one that asks, and sleeps: at the lean level nothing is
# seen of the message.
ask='import os, socket, sys, time
here, there = socket.socketpair()
if os.fork() == 0:
    here.close()
    time.sleep(5)
    there.recv(10)
    os._exit(0)
there.close()
if os.fork() == 0:
    print(os.getpid(), flush=True)
    here.settimeout(3)
    here.send(b"question")
    try: here.recv(10)
    except TimeoutError: pass
    os._exit(0)
here.close()
os.wait()
os.wait()'
why() { argus why --tid "$(tail -n 1 pid)" --from 0 --to -2s --json "$1"; }
argus record --level lean -o lean.trace -- python3 -c "$ask" >pid 2>messages || fail "lean: $(cat messages)"
why lean.trace >lean.json || fail "no answer at the lean level"
[ "$(json lean.json 'any(s["option"] == "--level" and s["value"] == "full" for s in d["plan"])')" = True ] ||
	fail "the full level is not planned: $(json lean.json 'd["text"], d["culprit"], d["plan"]')"
argus record --plan lean.json -o full.trace -- python3 -c "$ask" >pid 2>messages || fail "full: $(cat messages)"
why full.trace >full.json || fail "no answer at the full level"
before=$(json lean.json 'd["culprit"]["confidence"]')
after=$(json full.json 'd["culprit"]["confidence"]')
[ "$after" -gt "$before" ] || fail "$before % became $after %: $(json full.json 'd["text"]')"
