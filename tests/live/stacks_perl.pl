# Calls of many kinds, at whose end a sub tells the interpreter's own view of the stack and sleeps: a line of
# JSON a sleep, innermost first: sub, file, line.
use strict;
use warnings;
use Time::HiRes 'usleep';

sub leaf {
	my ($file, $line) = (__FILE__, __LINE__ + 8);
	my @out;
	for (my $i = 0; my @c = caller($i); $i++) {
		# a block of eval belongs to what is around it
		next if $c[3] eq '(eval)' && !defined $c[6] && !$c[7];
		push @out, sprintf '["%s","%s",%d]', $c[3] eq '(eval)' ? '{main}' : $c[3], $file, $line;
		($file, $line) = @c[1, 2];
	}
	printf "[%s]\n", join ',', @out, sprintf '["{main}","%s",%d]', $file, $line; usleep(3000);
}

my $depth = 0;

package Part;
use overload '""' => sub { main::step(); 'part' }, '+' => \&plus;
sub new { return bless {}, shift }
sub plus { main::step(); return 1 }
sub AUTOLOAD { main::step() if $depth < 12 }
sub TIESCALAR { return bless {}, shift }
sub FETCH { main::step(); return 1 }
sub DESTROY { }
package Part::Ended;
sub new { return bless {}, shift }
sub DESTROY { main::step() }
package main;

sub deep {
	my $n = shift;
	return deep($n - 1) if $n > 0;
	step();
}

sub by_number { step(); return $a <=> $b }

sub step {
	if ($depth >= 12 || int(rand(6)) == 0) {
		leaf();
		return;
	}
	$depth++;
	my $kind = int(rand(11));
	if ($kind == 0) {
		deep(int(rand(6)));
	} elsif ($kind == 1) {
		my $text = '' . Part->new;
	} elsif ($kind == 2) {
		my @sorted = sort by_number 2, 1;
	} elsif ($kind == 3) {
		my @mapped = map { step(); 1 } 1;
	} elsif ($kind == 4) {
		my $f = sub { step(); };
		$f->();
	} elsif ($kind == 5) {
		eval 'step(); 1' or die $@;
	} elsif ($kind == 6) {
		eval { step(); die 'away'; };
	} elsif ($kind == 7) {
		Part->new->missing(1);
	} elsif ($kind == 8) {
		tie my $tied, 'Part';
		my $got = $tied;
	} elsif ($kind == 9) {
		my $ended = Part::Ended->new;
		undef $ended;
	} else {
		my $sum = Part->new + 1;
	}
	$depth--;
}

$| = 1;
# time for the recorder to read the interpreter's tables
usleep(1000) for 1 .. 500;
srand($ARGV[0]);
step() for 1 .. 150;
