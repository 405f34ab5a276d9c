#!/bin/bash
# PostgreSQL: session C waits for B (row lock), B for A (row lock), and A is idle in its transaction
# because its client sleeps.
. "$(dirname "$0")/../lib.sh"

bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
data=$W/data
mkdir "$data"
chown postgres "$data"
as_postgres="setpriv --reuid=postgres --regid=postgres --clear-groups"
$as_postgres "$bin/initdb" -N -A trust -D "$data/db" >"$W/initdb.log" 2>&1
background $as_postgres "$bin/postgres" -D "$data/db" -k "$data" -c listen_addresses= -c fsync=off -c deadlock_timeout=1s \
	2>"$W/postgres.log"
client="psql -X -q -U postgres -h $data"
wait_for 100 "$client -c 'select 1'"
$client -c "create table t(id int primary key, v int); insert into t values(1,0),(2,0)"

# session NAME: a psql that is fed from a pipe
session() {
	mkfifo "$W/$1"
	background bash -c "exec env PGAPPNAME=$1 $client -At -o $W/$1.out <$W/$1"
}
backend() { $client -At -c "select pid from pg_stat_activity where application_name='$1'"; }

buggy && hold=9 || hold=0.1
session A
actor root_client_A $LAST
background bash -c "exec 3>$W/A; echo 'select pg_backend_pid(); begin; update t set v=1 where id=1;' >&3
	sleep $hold; echo 'commit;' >&3; sleep 60"
actor A_feeder $LAST
buggy && sleep 0.6 || sleep 0.9
session B
actor client_B $LAST
background bash -c "exec 3>$W/B
	echo 'select pg_backend_pid(); begin; update t set v=2 where id=2; update t set v=2 where id=1; commit;' >&3; sleep 60"
sleep 0.6
timed "$W/victim" 30 env PGAPPNAME=C $client -c 'update t set v=3 where id=2' &
sleep 1
for name in A B C; do actor backend_$name "$(backend $name)"; done
finish psql
