# shellcheck shell=bash
# What the arrangements of packaged programs share; sourced by the script of a run. $LAB_DIR is the run's
# folder, $LAB_HERE this one.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH HOME="$LAB_DIR" GIT_CONFIG_NOSYSTEM=1

# as ROLE COMMAND...: a program under its own pid, which the log knows by a role. Also a program, for others to call.
as() {
	local role=$1
	shift
	echo "role $role $BASHPID $BASHPID" >>"$LAB_DIR/log"
	exec "$@"
}
cat >"$LAB_DIR/as" <<END
#!/bin/sh
role=\$1
shift
echo "role \$role \$\$ \$\$" >>$LAB_DIR/log
exec "\$@"
END
chmod 755 "$LAB_DIR/as"

echo "role script $$ $$" >>"$LAB_DIR/log"

# port N: free just now.
port() {
	local number
	while number=$((20000 + (RANDOM % 3000) * 10 + $1)); do
		(: </dev/tcp/127.0.0.1/"$number") 2>/dev/null || break
	done
	echo "$number"
}

# rounds SPAN_MS COMMAND: the victim's command, again and again.
rounds() {
	eval "python3 -S $LAB_HERE/rounds.py $1 $2"
}

# Everything this script started, by its session.
finish() {
	local pid
	trap '' TERM
	if mountpoint -q "$LAB_DIR/mount"; then
		umount -l "$LAB_DIR/mount"
	fi
	for pid in $(ps -o pid= -s $$ 2>/dev/null) $(jobs -p); do
		[ "$pid" = $$ ] || kill -9 "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	exit 0
}
