# The server or the watcher dies in the commit that follows a reorganisation, that attaches a run again, or that retracts one:
# before it, all of it is done again, after it, nothing is.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $chain = start_anvil('--no-mining');
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain, confirmations => 3);
my $reorgs = 0;

# A server that may be down.
sub query
{
	my ($sql) = @_;
	my $out;

	RflowAnvil::wait_for(
		sub {
			my $code = eval { $node->psql('postgres', $sql, stdout => \$out, stderr => \my $err) };
			return defined $code && $code == 0;
		},
		$sql);
	return $out;
}

sub die_at
{
	my ($point, $action, $happen) = @_;
	my $offset = -s $node->logfile;

	$job->crash_point("$point:$action");
	$node->reload;
	$happen->();
	$node->wait_for_log(qr/crash point "$point" reached/, $offset);
	$job->crash_point('');
	# A reload that comes while the server starts again may be lost.
	RflowAnvil::wait_for(sub { eval { $node->reload }; query('SHOW rflow.crash_point') eq '' }, 'the setting to be gone');
}

sub deposit
{
	my $runs = query('SELECT count(*) FROM rflow.runs');
	my $hash = $job->deposit(count => 2);

	$job->{sent} = [];
	$chain->mine;
	poll_until($node, 'SELECT count(*) FROM rflow.runs', $runs + 2);
	poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE state IN ('queued', 'signed')", 0);
	return $chain->rpc('eth_getRawTransactionByHash', $hash);
}

sub settle
{
	my ($what) = @_;
	RflowAnvil::wait_for(sub { $chain->mine; eval { $job->is_settled } }, 'everything to be settled');
	$job->audit($what);
}

for my $action (qw(abort exit))
{
	for my $point (qw(reorg-before-commit reorg-after-commit reattach-before-commit reattach-after-commit))
	{
		my $raw = deposit();

		die_at($point, $action, sub { $chain->reorg(1, [ [ $raw, 0 ] ]) });
		poll_until($node, 'SELECT count(*) OVER (), detached, reattached, retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1',
			++$reorgs . '|2|2|0|0');
		settle("$point: $action");
	}
}

# What is retracted: nothing of it was signed.
for my $point (qw(retract-before-commit retract-after-commit))
{
	query('UPDATE rflow.relayers SET paused = true');
	my $hash = $job->deposit;
	my $runs = query('SELECT count(*) FROM rflow.runs');

	$job->{sent} = [];
	$chain->mine;
	poll_until($node, 'SELECT count(*) FROM rflow.runs', $runs + 1);
	die_at($point, 'abort', sub {
		$chain->reorg(1, []);
		poll_until($node, 'SELECT count(*) OVER (), held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', ++$reorgs . '|1');
		$chain->mine(4);
	});
	$chain->mine;
	poll_until($node, 'SELECT detached, reattached, retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1', '1|0|1|0');
	is(query('SELECT r.state, t.state FROM rflow.runs r JOIN rflow.transactions t ON t.run_id = r.id ORDER BY r.started_at DESC LIMIT 1'),
		'cancelled|cancelled', "$point: run and send are cancelled");
	query('UPDATE rflow.relayers SET paused = false');
}
is(query("SELECT count(*) FROM rflow_private.due"), 0, 'nothing is due');
is(query("SELECT count(*) FROM rflow.transactions WHERE state = 'cancelled' AND nonce IS NOT NULL"), 0, 'and they took no nonce');

done_testing();
