#!/bin/bash
# A GTK program runs a command in its key handler and waits for it: the window does not answer.
. "$(dirname "$0")/../lib.sh"

cat >"$W/window.py" <<'PY'
import subprocess
import sys
import gi
gi.require_version('Gtk', '3.0')
from gi.repository import Gtk
window = Gtk.Window()
window.set_default_size(300, 200)
window.connect('key-press-event', lambda *arguments: subprocess.run(['perl', *sys.argv[1:]]) and None)
window.show_all()
Gtk.main()
PY
cat >"$W/slow.pl" <<'PL'
open(my $file, '>', $ARGV[0]);
print $file $$;
close $file;
select(undef, undef, undef, $ARGV[1]);
PL
buggy && n=5 || n=0.05
display_start
background /usr/bin/python3 "$W/window.py" "$W/slow.pl" "$W/child" "$n"
sleep 0.5
ping_start "$LAST" "$W/victim" 60
sleep 1
xdotool windowfocus "$WINDOW"
sleep 0.3
xdotool key x
wait_for 50 "[ -s $W/child ]"
actor root_child "$(cat "$W/child")"
sleep 6
ping_end "$W/victim"
report_file "$W/victim" python3
