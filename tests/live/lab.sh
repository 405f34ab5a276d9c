# The laboratory: a seed's program is made, hangs as planned, is recorded and scored; nothing is said about a single
# seed of the unseen half.
. "$HERE/live/_lib.sh"
need_bpf
need_command gcc

"$HERE/../lab/run" "$BUILD" --seeds 2,3 --level lean --keep kept >said 2>&1 || fail "$(cat said)"
matches 'culprit and verdict' <said || fail "no table: $(cat said)"
matches '^ *2 lean' <said || fail "nothing about seed 2: $(cat said)"
! matches '^ *3 lean' <said || fail "something about seed 3: $(cat said)"
[ -s kept/2-lean-fault/truth.json ] || fail "no truth is kept"

"$HERE/../lab/run" "$BUILD" --replay kept >again 2>&1 || fail "$(cat again)"
diff <(sed -n '/^|/p' said) <(sed -n '/^|/p' again) || fail "asked again, the answers differ"
