#!/bin/bash
# Perl's frames in stacks: a program that sleeps below calls of many kinds, statement by statement beside its own caller().
. "$HERE/live/_lib.sh"
need_bpf
need_command perl
perl -MConfig -e 'exit($^V =~ /^v5.36./ && $Config{usethreads} ? 0 : 1)' || skip "this perl is of another version"

. "$HERE/live/_script.sh"
same_stacks perl "$HERE/live/stacks_perl.pl"
