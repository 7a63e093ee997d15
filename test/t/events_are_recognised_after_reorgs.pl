# A run is attached again by what its event is: whatever its filter says by now, and although its workflow is not read any more;
# and it is not retracted because a node has given no answer.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $chain  = start_anvil('--no-mining');
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $job    = RflowAudit->start(node => $node, chain => $chain, endpoint => $faulty->url);
my $reorgs = 0;

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

# A filter that is false once its run has done its work, and one run for each amount.
query('DELETE FROM rflow.workflows');
query('CREATE TABLE booked (transaction_hash rflow.hex, amount numeric)');
query(<<'SQL');
INSERT INTO rflow.workflows (name, trigger, filter, steps) VALUES ('book', rflow.on_event('deposits', 'Transfer'),
	$$ NOT EXISTS (SELECT FROM booked b WHERE b.transaction_hash = log.transaction_hash) $$,
	rflow.steps(rflow.sql('book', $$ INSERT INTO booked VALUES (log.transaction_hash, event.value) $$)));
INSERT INTO rflow.workflows (name, trigger, once_per, steps)
VALUES ('once', rflow.on_event('deposits', 'Transfer'), 'event.to', '[]');
SQL
poll_until($node, 'SELECT count(*) FROM rflow_private.subscriptions WHERE cursor_id IS NOT NULL', 2);

sub mine
{
	my ($blocks) = @_;

	for (1 .. $blocks // 1)
	{
		my $next = $chain->block_number + 1;
		$chain->mine;
		poll_until($node, "SELECT max(number) >= $next FROM rflow.blocks");
	}
}

sub deposit
{
	my (%options) = @_;
	my $runs = query('SELECT count(*) FROM booked');
	my $hash = $job->deposit(%options);

	$job->{sent} = [];
	mine();
	poll_until($node, 'SELECT count(*) FROM booked', $runs + 1);
	poll_until($node, "SELECT count(*) FROM rflow.runs WHERE state NOT IN ('succeeded', 'cancelled')", 0);
	return $chain->rpc('eth_getRawTransactionByHash', $hash);
}

sub reorg_is
{
	my ($expected) = @_;
	poll_until($node, 'SELECT count(*) OVER (), detached, reattached, retracted, held FROM rflow.reorgs ORDER BY at DESC LIMIT 1',
		"$reorgs|$expected");
}

my $raw = deposit();
$chain->mine;
$chain->reorg(2, [ [ $raw, 1 ] ]);
$reorgs++;
reorg_is('2|2|0|0');
is(query('SELECT count(*) FROM rflow.runs'), 2, 'the filter is false now, and once_per is another key: both are the same runs');
is(query('SELECT count(DISTINCT block_hash) FROM rflow.runs'), 1, 'in the new block');
is(query('SELECT count(*) FROM booked'), 1, 'and nothing is done twice');

# The workflow is disabled: its cursor stands still. Its event is on the chain, as its receipt says.
query("SELECT rflow.disable('once')");
$raw = deposit(account => 1);
query("SELECT rflow.disable('book')");
$chain->mine;
$chain->reorg(2, [ [ $raw, 1 ] ]);
$reorgs++;
reorg_is('1|0|0|1');
mine(5);
reorg_is('1|1|0|0');

# And that of another one is not. Without an answer that is not known.
query("SELECT rflow.enable('book', resume => 'cursor')");
deposit(account => 2);
query("SELECT rflow.disable('book')");
$faulty->fault({ kind => 'error', method => 'eth_getTransactionReceipt', code => -32000, message => 'busy' });
$chain->reorg(1, []);
$reorgs++;
reorg_is('1|0|0|1');
mine(4);
$faulty->wait_hit(3);
reorg_is('1|0|0|1');
$faulty->heal;
reorg_is('1|0|1|0');
is(query("SELECT state, after LIKE 'retracted: %' FROM rflow.runs WHERE retracted_at IS NOT NULL"), 'succeeded|t',
	'a run that had ended says that its event has gone');

done_testing();
