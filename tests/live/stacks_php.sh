#!/bin/bash
# PHP's frames in stacks: a program that sleeps below calls of many kinds, frame by frame beside its own debug_backtrace().
. "$HERE/live/_lib.sh"
need_bpf
need_command php
php -r 'exit(PHP_MAJOR_VERSION == 8 && PHP_MINOR_VERSION == 2 && !PHP_ZTS ? 0 : 1);' || skip "this PHP is of another version"

. "$HERE/live/_script.sh"
same_stacks php "$HERE/live/stacks_php.php"
