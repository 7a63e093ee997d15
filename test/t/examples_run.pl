# Every example does what it says, on a server and a chain of its own, and leaves nothing running.
use strict;
use warnings;

use FindBin;
use IPC::Run qw(run);
use Test::More;

# In order of what happens to a deposit.
my @MOMENTS = ('block seen', 'claimed', 'simulated', 'queued', 'signed', 'broadcast', 'mined', 'confirmed', 'run succeeded');

sub run_demo
{
	my ($demo) = @_;
	my $output = '';
	my $ok = run([ $^X, $demo ], '<', \undef, '>', \$output, '2>', \$output);

	return ($ok, $output);
}

my @demos = glob("$FindBin::Bin/../../examples/*/demo.pl");
ok(@demos > 0, 'there are examples');

for my $demo (@demos)
{
	my ($name) = $demo =~ m{([^/]+)/demo\.pl$};
	my ($ok, $output) = run_demo($demo);
	my $moments = join '.*', map { "^ \Q$_\E +│" } @MOMENTS;

	ok($ok, "$name: ends well") or diag($output);
	like($output, qr/$moments/ms, "$name: its timeline has all moments in order");
	unlike($output, qr/\e/, "$name: no colours where no terminal is");
}

# A chain that does not start, as any other failure, must show in the status.
{
	local $ENV{RFLOW_ANVIL} = '/bin/false';
	my ($ok, $output) = run_demo($demos[0]);

	ok(!$ok, 'a failure is told by the exit status');
	like($output, qr/anvil did not start/, 'and by a message');
}

done_testing();
