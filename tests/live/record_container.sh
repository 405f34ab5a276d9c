#!/bin/bash
# record --container: by the beginning of an id, out of the control group's path; with
# crun a real container by its name, in namespaces of its own.
. "$HERE/live/_lib.sh"
need_bpf
id=3f2ab41c9d00aa11bb22cc33dd44ee55ff66778899aabbccddeeff0011223344
root=$(awk '$3 == "cgroup" && $4 ~ /(^|,)cpu(,|$)/ { print $2 }' /proc/self/mounts | head -n 1)
[ -n "$root" ] || root=$(awk '$3 == "cgroup2" { print $2 }' /proc/self/mounts | head -n 1)
[ -n "$root" ] && mkdir -p "$root/docker/$id" 2>/dev/null || skip "no control group can be made"
inside='' outside=''
leave() {
	[ -z "$inside$outside" ] || kill $inside $outside 2>/dev/null || true
	wait
	crun delete -f argus-live 2>/dev/null || true
	rmdir "$root/docker/$id" "$root/docker" 2>/dev/null || true
}
trap leave EXIT

cp /bin/sleep in-container; cp /bin/sleep out-of-it
bash -c "echo \$\$ >'$root/docker/$id/cgroup.procs' && while :; do ./in-container 0.05; done" &
inside=$!
bash -c 'while :; do ./out-of-it 0.05; done' &
outside=$!
wait_until 20 grep -q . "$root/docker/$id/cgroup.procs"
argus record --container 3f2ab41c --duration 1s -o t 2>log || fail "record: $(cat log)"
argus dump t --type switch >switches
# others' switches are there as far as they tell when one of the container ran; they say so
grep -v unfiltered switches | matches in-container || fail "nothing of the container was recorded"
grep -v unfiltered switches | matches out-of-it && fail "others are recorded like the container"
argus dump t --type fork | matches out-of-it && fail "what is outside is recorded"
argus record --container no-such-container --duration 1s 2>log && fail "a container that is not there"
matches "no container 'no-such-container'" <log || fail "$(cat log)"
argus record --container 3f2 --duration 1s 2>log && fail "three digits are an id"
kill $inside $outside

# a container of crun's, by its name: in namespaces of its own, its program is not on the host
command -v crun >/dev/null || exit 0
mkdir -p bundle/rootfs/bin bundle/rootfs/proc
cp /bin/sleep bundle/rootfs/bin/only-in-there
ldd /bin/sleep | grep -o '/[^ ]*' | while read -r file; do mkdir -p "bundle/rootfs${file%/*}" && cp -L "$file" "bundle/rootfs$file"; done
(cd bundle && crun spec && python3 - <<'E'
import json
spec = json.load(open("config.json"))
spec["root"] = {"path": "rootfs", "readonly": False}
spec["process"].update(terminal=False, args=["/bin/only-in-there", "60"])
spec["linux"]["cgroupsPath"] = "/crun-argus-live.scope"
json.dump(spec, open("config.json", "w"))
E
)
# crun takes one version of control groups alone: where both are mounted it gets the first
unshare -m sh -c 'for at in $(awk "\$3 == \"cgroup2\" { print \$2 }" /proc/self/mounts); do
	awk "\$3 == \"cgroup\" { found = 1 } END { exit !found }" /proc/self/mounts && umount "$at"; done
	cd bundle && exec crun --cgroup-manager=cgroupfs run -d argus-live' >log 2>&1 </dev/null || skip "crun starts no container here: $(cat log)"
argus record --container argus-live --duration 1s -o t 2>log || fail "by the name: $(cat log)"
argus dump t --type task | grep only-in-there >tasks || fail "the container's program is not named"
matches /bin/only-in-there <tasks || fail "its file is not named as it is called in there: $(cat tasks)"
exit 0
