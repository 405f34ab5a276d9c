#!/bin/bash
# The pack of MariaDB: each wait for a lock of a row, of metadata and of a user, as often and as long as the clients that made
# them say; each begin has its end.
. "$HERE/live/_lib.sh"
need_bpf
need_command mariadbd mariadb mariadb-install-db mariadb-admin

chmod 755 .
mkdir data
chown mysql data 2>/dev/null || skip "there is no user mysql"
mariadb-install-db --no-defaults --datadir="$PWD/data" --user=mysql --auth-root-authentication-method=normal >install.txt 2>&1 ||
	fail "$(tail -5 install.txt)"
cat >work.py <<'END'
import os, subprocess, time

ask = ['mariadb', '--no-defaults', '-S', os.getcwd() + '/data/s', '-N', '--unbuffered']

class client:
    def __init__(self):
        self.process = subprocess.Popen(ask, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.id = int(self.say('select connection_id();'))

    def begin(self, text):
        self.process.stdin.write(text + " select 'done';\n")
        self.process.stdin.flush()

    def end(self):
        lines = []
        while (line := self.process.stdout.readline().strip()) != 'done':
            assert line or self.process.poll() is None
            lines.append(line)
        return lines[-1] if lines else ''

    def say(self, text):
        self.begin(text)
        return self.end()

holder, waiter, looker = client(), client(), client()
holder.say('create database t; create table t.a (i int primary key, v int) engine=innodb; insert into t.a values (1, 1);')
for i in range(12):
    kind = ('row', 'metadata', 'user')[i % 3]
    holder.say({'row': 'begin; update t.a set v = v + 1 where i = 1;', 'metadata': 'begin; select * from t.a;',
                'user': "select get_lock('x', 100);"}[kind])
    waiter.begin({'row': 'update t.a set v = v + 1 where i = 1;', 'metadata': f"alter table t.a comment='{i}';",
                  'user': "select get_lock('x', 100); select release_lock('x');"}[kind])
    # until it waits
    while not int(looker.say(f'select count(*) from information_schema.processlist where id = {waiter.id} and '
                             "(state like 'Waiting for%' or state = 'User lock' or state = 'Updating') and time_ms > 50;")):
        time.sleep(0.01)
    begin = time.monotonic_ns()
    time.sleep(0.1)
    end = time.monotonic_ns()
    holder.say('commit;' if kind != 'user' else "select release_lock('x');")
    waiter.end()
    print(kind, begin, end, time.monotonic_ns(), flush=True)
END
cat >all.sh <<'END'
mariadbd --no-defaults --datadir="$PWD/data" --user=mysql --socket="$PWD/data/s" --skip-networking --skip-grant-tables >server.txt 2>&1 &
for _ in $(seq 600); do
	mariadb-admin --no-defaults -S "$PWD/data/s" ping >/dev/null 2>&1 && break
	sleep 0.1
done
python3 work.py >log.txt
mariadb-admin --no-defaults -S "$PWD/data/s" shutdown >/dev/null 2>&1
wait
END
argus record --pack mariadb --pack-budget 0 -o mariadb.trace -- bash all.sh 2>record.txt || fail "$(cat record.txt)"
[ "$(wc -l <log.txt)" = 12 ] || fail "the server did not do its work: $(tail -5 server.txt)"
argus dump --json -e probe mariadb.trace >probes.json
python3 - <<'END'
import json

KINDS = {'row': 3, 'metadata': 5, 'user': 5}    # a user's lock is one of metadata to the server
log = [(kind, *map(int, times)) for kind, *times in (line.split() for line in open('log.txt'))]
waits, open_ = [], {}
for e in json.load(open('probes.json'))['events']:
    if e['probe_name'] == 'mariadb-wait':
        assert e['tid'] not in open_, e
        open_[e['tid']] = e
    else:
        begin = open_.pop(e['tid'])
        waits.append((int(begin.get('arg2', '0'), 0), begin['time_ns'], e['time_ns']))
assert not open_, open_
locks = [w for w in waits if w[0] in (3, 5) and w[2] - w[1] > 100000000]
assert len(locks) == len(log) == 12, (len(locks), len(log))
for (kind, begin, end, after), (number, since, until) in zip(log, locks):
    assert number == KINDS[kind] and since <= begin and end <= until <= after, (kind, number, since, begin, end, until, after)
END
