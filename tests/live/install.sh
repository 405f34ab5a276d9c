#!/bin/bash
# What `make install` lays down: the program and a unit that systemd understands.
. "$HERE/live/_lib.sh"
need_command meson

meson install -C "$BUILD" --no-rebuild --destdir "$WORK/root" >log 2>&1 || fail "$(cat log)"
program=$(find root -name argus -type f)
unit=$(find root -name argus.service)
[ -x "$program" ] || fail "no program was installed"
[ -f "$unit" ] || fail "no unit was installed"
"./$program" --version | matches '^argus ' || fail "the program does not run"
need_command systemd-analyze
# the program is not where the unit will have it: stand in for it
sed "s|^\(Exec[A-Za-z]*=\)[^ ]*|\1$WORK/$program|" "$unit" >argus.service
systemd-analyze verify ./argus.service 2>&1 | grep -F argus.service >said || true
[ ! -s said ] || fail "systemd: $(cat said)"
