# Sends over four accounts, through endpoints with random faults, while the relayer and the whole server are killed every few
# seconds: none is lost, none is executed twice, and all is over soon after the faults end.
#
#   SOAK_SENDS=2000 SOAK_SEED=7    more of them (200), another plan (a new one each time)
#   SOAK_RESULTS=FILE              where to leave the raw results (soak-results.json beside the logs)
use strict;
use warnings;

use RflowSoak;
use RflowTest;
use Test::More;

# All is terminal within this time after the last fault.
my $CALM_SECONDS = 60;

my $sends = $ENV{SOAK_SENDS} || 200;
my $seed  = $ENV{SOAK_SEED}  || time % 1_000_000;
my $file  = $ENV{SOAK_RESULTS} || "$ENV{TESTDIR}/tmp_check/soak-results.json";

note "SOAK_SENDS=$sends SOAK_SEED=$seed";
my $soak = RflowSoak->start(sends => $sends, seed => $seed);
$soak->run;
$soak->calm($CALM_SECONDS);
my $ok = $soak->audit;
$soak->save($file);

my $summary = $soak->{summary};
my $deaths = join ', ', map { "$_ $summary->{deaths}{$_} times" } sort keys %{ $summary->{deaths} };
note "$sends sends; $summary->{lost} lost, $summary->{doubled} executed twice; "
  . "$summary->{ended_in_faults} ended within $summary->{fault_seconds} s of faults, the rest $summary->{terminal_seconds} s after; $deaths";
note "raw results: $file";
diag "to draw the same plan again: SOAK_SENDS=$sends SOAK_SEED=$seed" unless Test::More->builder->is_passing;
done_testing();
