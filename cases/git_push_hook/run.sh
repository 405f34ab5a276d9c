#!/bin/bash
# git push: the receiving side's hook reads a FIFO that nobody writes for five seconds.
. "$(dirname "$0")/../lib.sh"

export GIT_CONFIG_GLOBAL=$W/config HOME=$W
git init -q --bare "$W/remote.git"
git init -q "$W/work"
cd "$W/work" || exit 1
git -c user.email=a@b -c user.name=a commit -q --allow-empty -m one
mkfifo "$W/input"
buggy && hold=5 || hold=0.05
printf '#!/bin/bash\necho $$ >%s\nread -r x <%s\n' "$W/hook" "$W/input" >"$W/remote.git/hooks/pre-receive"
chmod +x "$W/remote.git/hooks/pre-receive"
background bash -c "sleep $hold; echo go >$W/input"
actor root_feeder "$LAST"
timed "$W/victim" 30 git push -q "$W/remote.git" HEAD:refs/heads/m 2>"$W/errors" &
wait_for 50 "[ -s $W/hook ]"
actor root_hook "$(cat "$W/hook")"
finish git
