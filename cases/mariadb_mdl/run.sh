#!/bin/bash
# MariaDB: a SELECT queues behind an ALTER TABLE, which waits for the metadata lock of an idle
# transaction (threads of one process).
. "$(dirname "$0")/../lib.sh"

data=$W/data
mkdir "$data"
mariadb-install-db --no-defaults --user=root --datadir="$data" --skip-test-db \
	--auth-root-authentication-method=normal >"$W/install.log" 2>&1
background mariadbd --no-defaults --user=root --datadir="$data" --socket="$W/socket" --pid-file="$W/pid" \
	--skip-networking --innodb-flush-log-at-trx-commit=0 --skip-log-bin >"$W/mariadbd.log" 2>&1
actor mariadbd $LAST
client="mariadb --no-defaults -uroot -S $W/socket"
wait_for 200 "$client -e 'select 1'"
$client -e 'create database d; create table d.t(a int); insert into d.t values(1)'

buggy && hold=9 || hold=0.1
mkfifo "$W/input"
background bash -c "exec $client -n d <$W/input >$W/a.out"
actor root_client_A $LAST
background bash -c "exec 3>$W/input; echo 'begin; select * from t;' >&3; sleep $hold; echo 'commit;' >&3; sleep 60"
actor A_feeder $LAST
buggy && sleep 0.6 || sleep 0.9
background $client d -e 'alter table t add column b int'
actor client_B $LAST
sleep 0.6
timed "$W/victim" 30 $client d -e 'select count(*) from t' >"$W/out" 2>&1 &
finish mariadb
