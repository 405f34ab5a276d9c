#!/bin/bash
# An init script's "stop": start-stop-daemon tells the daemon to end and looks every 20 ms whether it
# is gone; the daemon takes its time. Nobody ever wakes the victim.
. "$(dirname "$0")/../lib.sh"

buggy && n=5 || n=0.1
cat >"$W/daemon.pl" <<'PL'
$SIG{TERM} = sub { select(undef, undef, undef, $ARGV[0]); exit };
open(my $file, '>', $ARGV[1]);
print $file $$;
close $file;
sleep 60 while 1;
PL
background perl "$W/daemon.pl" "$n" "$W/pid"
actor root_daemon "$LAST"
wait_for 50 "[ -s $W/pid ]"
timed "$W/victim" 30 start-stop-daemon --stop --quiet --retry TERM/20 --pidfile "$W/pid" &
finish start-stop-daem
