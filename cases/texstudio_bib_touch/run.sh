#!/bin/bash
# TeXstudio: a large .bib file is open in a tab and another process rewrites it; inotify wakes the GUI
# thread, which reads and checks it all again.
. "$(dirname "$0")/../lib.sh"

display_start
bus_start
buggy && entries=12000 || entries=20
perl -e 'for (1 .. $ARGV[0]) {
	printf "\@article{key%06d,\n  author = {Author %d and Other, A. and Third, B.},\n", $_, $_;
	printf "  title = {{A title of the paper number %d about things and stuff}},\n", $_;
	printf "  journal = {Journal of Examples},\n  year = {%d},\n  volume = {%d},\n  pages = {%d--%d}\n}\n\n",
		1950 + $_ % 70, $_ % 99, $_, $_ + 9 }' $entries >"$W/refs.bib"
cat >"$W/main.tex" <<'TEX'
\documentclass{article}
\begin{document}
Hello \cite{key000001}.
\bibliographystyle{plain}
\bibliography{refs}
\end{document}
TEX
mkdir -p "$XDG_CONFIG_HOME/texstudio"
cat >"$XDG_CONFIG_HOME/texstudio/texstudio.ini" <<'INI'
[texmaker]
Files\SilentReload=true
Files\Monitor%20Files%20on%20Disk=true
Update\AutoCheckEnabled=false
Tools\Automatic%20Spell%20Checking=false
Startup\CheckLatexConfiguration=false
INI
cd "$W" || exit
background texstudio --no-session --ignore-random --start-always "$W/main.tex" "$W/refs.bib" >"$W/texstudio.log" 2>&1
victim=$LAST
ping_start "$victim" "$W/starting" 90
sleep 8
ping_end "$W/starting" 300
ping_start "$victim" "$W/victim" 60
sleep 1
background bash -c "sleep 0.2; printf '\n@misc{new, title={X}}\n' >>$W/refs.bib; exec sleep 60"
actor root_writer $LAST
sleep 17
ping_end "$W/victim"
report_file "$W/victim" texstudio
