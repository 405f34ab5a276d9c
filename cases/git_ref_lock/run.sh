#!/bin/bash
# git update-ref finds the branch's lock file and tries again and again; who made the file sleeps.
. "$(dirname "$0")/../lib.sh"

export GIT_CONFIG_GLOBAL=$W/config HOME=$W
git init -q "$W/tree"
cd "$W/tree" || exit 1
git -c user.email=a@b -c user.name=x commit -q --allow-empty -m first
git branch other
buggy && n=5 || n=0.9
lock=$W/tree/.git/refs/heads/other.lock
cat >"$W/hold.pl" <<'PL'
use Fcntl;
sysopen(my $file, $ARGV[0], O_CREAT | O_EXCL | O_WRONLY) or die;
select(undef, undef, undef, $ARGV[1]);
close $file;
unlink $ARGV[0];
sleep 30;
PL
background perl "$W/hold.pl" "$lock" "$n"
actor root_holder "$LAST"
wait_for 50 "[ -e $lock ]"
timed "$W/victim" 30 git -c core.filesRefLockTimeout=20000 update-ref -m x refs/heads/other 'HEAD^{commit}' &
finish git
