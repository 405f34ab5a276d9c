#!/bin/bash
# The pack of PostgreSQL: each wait of a session for a lock of another's is there, with what is locked,
# as its own log tells, and the answer tells of it.
. "$HERE/live/_lib.sh"
need_bpf

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
[ -x "$bin/postgres" ] || skip "PostgreSQL is not installed"
id postgres >/dev/null 2>&1 || skip "there is no user postgres"
readelf -n "$bin/postgres" 2>/dev/null | matches lock__wait__start || skip "PostgreSQL was built without marks"
mkdir data
chmod 755 . data
chown postgres data
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as "$bin/initdb" -D "$PWD/data/db" -A trust >init.txt 2>&1 || fail "$(tail -3 init.txt)"
settings="-k $PWD/data -h '' -c log_lock_waits=on -c deadlock_timeout=50ms"
as "$bin/pg_ctl" -D "$PWD/data/db" -o "$settings" -l "$PWD/data/log" -w start >start.txt 2>&1 || fail "$(cat start.txt data/log)"
stop() { as "$bin/pg_ctl" -D "$PWD/data/db" -m immediate stop >/dev/null 2>&1; }
trap stop EXIT
sql() { as "$bin/psql" -h "$PWD/data" -d postgres -qAt "$@"; }
sql -c 'create table t(a int); insert into t values (1)'
oid=$(sql -c "select oid from pg_class where relname = 't'")
cat >run.sh <<END
#!/bin/bash
sql() { setpriv --reuid=postgres --regid=postgres --clear-groups "$bin/psql" -h "$PWD/data" -d postgres -qAt "\$@"; }
locks="from pg_locks where relation = $oid and mode = 'ExclusiveLock'"
# has the lock until somebody has stood for it for a while
hold="begin; lock table t in exclusive mode; do \\\$x\\\$ begin while not exists (select \$locks and not granted) loop perform pg_sleep(0.02); end loop; end \\\$x\\\$; select pg_sleep(0.3)"
for i in {1..10}; do
	sql -c "\$hold" -c 'commit' >/dev/null &
	until [ "\$(sql -c "select count(*) \$locks and granted")" = 1 ]; do
		sleep 0.02
	done
	sql -c 'select pg_backend_pid()' -c 'begin; lock table t in exclusive mode; commit'
	wait
done
END
chmod +x run.sh
argus record -a --pack postgresql -o pg.trace -- ./run.sh >pids.txt 2>record.txt || fail "$(cat record.txt)"
argus dump --json -e probe pg.trace >probes.json
OID=$oid python3 - <<'END'
import json
import os
import re

pids = [int(line) for line in open('pids.txt')]
waits, got = [], []
for e in json.load(open('probes.json'))['events']:
    if e['probe_name'] in ('pg-lock-wait', 'pg-lock-got') and int(e.get('arg2', '0'), 0) == int(os.environ['OID']):
        assert int(e.get('arg3', '0'), 0) == 0, 'no relation'
        (waits if e['probe_name'] == 'pg-lock-wait' else got).append(e)
assert len(pids) == 10 and [e['tid'] for e in waits] == pids == [e['tid'] for e in got], (pids, waits, got)
assert all(b['time_ns'] - a['time_ns'] > 100000000 for a, b in zip(waits, got)), 'no waits'
# PostgreSQL tells how long it waited in between
log = re.findall(rf'process (\d+) acquired ExclusiveLock on relation {os.environ["OID"]} .*?after ([\d.]+) ms', open('data/log').read())
assert [int(pid) for pid, _ in log] == pids, (log, pids)
for (_, ms), a, b in zip(log, waits, got):
    assert float(ms) <= (b['time_ns'] - a['time_ns']) / 1e6 + 1, (ms, a, b)
print(*(waits[0]['tid'], waits[0]['time_ns'], got[0]['time_ns']), file=open('wait.txt', 'w'))
END
read -r tid from to <wait.txt
argus why --tid "$tid" --from "@$from" --to "@$to" pg.trace >why.txt || true
says why.txt "a wait for PostgreSQL's lock of a relation, [0-9]* $oid" || fail "$(cat why.txt)"
