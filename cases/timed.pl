# timed.pl OUT SECONDS CMD...: runs CMD, at most so long. OUT.pid gets its pid at
# once, OUT "pid start_ns end_ns status" at its end (by rename, so it is whole).
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my ($out, $seconds, @command) = @ARGV;
sub now { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }
sub put { my ($name, $text) = @_; open(my $file, '>', $name) or die; print $file $text; close $file }

my $start = now();
my $pid = fork;
if (!$pid) { exec @command; exit 127 }
put("$out.pid", $pid);
$SIG{ALRM} = sub { kill 9, $pid };
alarm $seconds;
waitpid $pid, 0;
my $status = $?;
put("$out.part", "$pid $start " . now() . " $status\n");
rename "$out.part", $out;
