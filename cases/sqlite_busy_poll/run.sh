#!/bin/bash
# sqlite3: a busy timeout's poll loop (fcntl F_SETLK, nanosleep) while another sqlite3 holds the
# write lock.
. "$(dirname "$0")/../lib.sh"

db=$W/t.db
sqlite3 "$db" 'create table t(a); insert into t values(1);'
buggy && hold=8 || hold=0.05
mkfifo "$W/input"
background bash -c "exec sqlite3 $db <$W/input"
actor root_holder $LAST
background bash -c "exec 3>$W/input; echo 'begin immediate; insert into t values(2);' >&3; sleep $hold; echo 'commit;' >&3
	sleep 60"
actor holder_feeder $LAST
buggy && sleep 0.7 || sleep 1
timed "$W/victim" 30 sqlite3 -cmd '.timeout 20000' "$db" 'insert into t values(3);' &
finish sqlite3
