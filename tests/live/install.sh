#!/bin/bash
# What `make install` lays down: the program, its manual, completions, and a unit that systemd understands.
. "$HERE/live/_lib.sh"
need_command meson

meson install -C "$BUILD" --no-rebuild --destdir "$WORK/root" >log 2>&1 || fail "$(cat log)"
program=$(find root -path '*/bin/argus')
unit=$(find root -name argus.service)
[ -x "$program" ] || fail "no program was installed"
[ -f "$unit" ] || fail "no unit was installed"
"./$program" --version | matches '^argus ' || fail "the program does not run"
for file in man/man1/argus.1 man/man1/argus-record.1 man/man5/argus-trace.5 man/man5/argus-rules.5 doc/argus/README.md \
	bash-completion/completions/argus zsh/site-functions/_argus fish/vendor_completions.d/argus.fish; do
	find root -path "*/share/$file" | matches . || fail "no $file was installed"
done
need_command systemd-analyze
# the program is not where the units will have it: stand in for it
mkdir units
for name in argus.service argus-record.service argus-record.socket; do
	sed "s|^\(Exec[A-Za-z]*=\)[^ ]*|\1$WORK/$program|" "$(dirname "$unit")/$name" >"units/$name" || fail "no $name was installed"
done
systemd-analyze verify --man=no ./units/* 2>&1 | grep -F argus >said || true
[ ! -s said ] || fail "systemd: $(cat said)"
