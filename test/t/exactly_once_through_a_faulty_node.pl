# A node that lags, forgets, repeats itself, or mixes branches up: nothing is missed, and nothing is done twice.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;
use Time::HiRes qw(time);

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $job    = RflowAudit->start(node => $node, chain => $chain, endpoint => $faulty->url);

# Blocks with deposits that the watcher does not see yet; returns their logs.
sub hidden
{
	my (@counts) = @_;
	my $head = $chain->block_number;

	$faulty->state(head => $head);
	$job->deposit(count => $_) for @counts;
	return $chain->rpc('eth_getLogs',
		{ fromBlock => to_hex($head + 1), toBlock => 'latest', address => $job->{deposits} });
}

# They are seen, through these faults.
sub revealed
{
	my ($what, @faults) = @_;

	$faulty->fault(@faults);
	$faulty->state(head => undef);
	return subtest $what => sub {
		$job->settled;
		my $least = grep { ($_->{times} // 0) > 0 } @faults;
		cmp_ok(scalar($faulty->hits), '>=', $least, 'the faults struck');
		$faulty->heal;
	};
}

sub instead
{
	my ($result, %more) = @_;
	return { kind => 'result', method => 'eth_getLogs', result => $result, times => 1, %more };
}

sub copy
{
	my ($log, %changes) = @_;
	return { %$log, %changes };
}

# ---- logs that are not there -------------------------------------------------

hidden(1, 2);
revealed('null instead of logs', instead(undef, times => 2));
hidden(1, 2);
revealed('no logs of blocks whose blooms say otherwise', instead([]));
hidden(2);
revealed('an error instead of logs',
	{ kind => 'error', method => 'eth_getLogs', code => -32000, message => 'header not found', times => 3 });
hidden(2);
revealed('no answer to the call for logs', { kind => 'drop', method => 'eth_getLogs', times => 2 });
hidden(2);
revealed('an answer to another call', { kind => 'wrong_id', method => 'eth_getLogs', times => 2 });
hidden(20);
revealed('answers that break off', { kind => 'truncate', method => 'eth_getLogs', bytes => 300, times => 2 });

# The node that is asked for logs is behind the one that gave the head.
my $logs = hidden(1, 2, 1);
my ($first) = map { $_->{blockNumber} } @$logs;
revealed('the logs of the first block alone', instead([ grep { $_->{blockNumber} eq $first } @$logs ]));
hidden(1);
$chain->mine(40);
$job->deposit(count => 1);
revealed('a long range without the logs of its end', instead([]));

# A node that refuses ranges, and one whose blooms say nothing.
hidden(1);
$chain->mine(30);
$job->deposit(count => 1);
revealed('ranges that are too wide',
	{ kind => 'log_limit', blocks => 4, code => -32602, message => 'query exceeds max block range 4' });
$faulty->state(zero_blooms => JSON::PP::true);
hidden(2, 1);
revealed('blooms that say nothing');
$faulty->state(zero_blooms => JSON::PP::false);

# ---- logs that are wrong -----------------------------------------------------

$logs = hidden(2, 3);
revealed('logs twice, and in the reverse order', instead([ @$logs, reverse @$logs ]));
$logs = hidden(2, 3);
revealed('each call answered twice', { kind => 'duplicate', times => 4 });
$logs = hidden(1, 2);
revealed('logs of another branch',
	instead([ map { copy($_, blockHash => '0x' . 'ab' x 32) } @$logs ], times => 2));
$logs = hidden(1, 2);
revealed('logs of blocks that were not asked for',
	instead([ @$logs, copy($logs->[0], blockNumber => '0x1') ]));
$logs = hidden(2);
revealed('logs without topics', instead([ map { copy($_, topics => undef) } @$logs ]));
$logs = hidden(1);
revealed('logs that were removed', instead([ map { copy($_, removed => JSON::PP::true) } @$logs ]));

# ---- heads -------------------------------------------------------------------

hidden(2);
revealed('a block that is not there',
	{ kind => 'result', method => 'eth_getBlockByNumber', result => undef, times => 3 });
hidden(2);
revealed('a number that is none', { kind => 'result', method => 'eth_blockNumber', result => '0x', times => 2 });

# The head goes back and stays there: nothing is undone, and the node is not asked in a frenzy.
$job->deposit(count => 2);
$job->settled;
$faulty->state(lag => 3);
$faulty->forget_calls;
my $began = time;
select undef, undef, undef, 2;
my $polls = () = $faulty->calls('eth_blockNumber');
$polls += () = $faulty->calls('eth_getBlockByNumber');
cmp_ok($polls / (time - $began), '<', 40, 'a node that lags is asked with patience');
$job->deposit(count => 1);
$faulty->state(lag => 0);
$job->settled;

# ---- a server that starts anew -----------------------------------------------

# Headers are stored, logs are not read yet: then the server ends.  Its successor believes an empty answer no more than it.
hidden(2);
$faulty->fault({ kind => 'hang', method => 'eth_getLogs' });
$faulty->state(head => undef);
$faulty->wait_hit;
poll_until($node, 'SELECT max(number) FROM rflow_private.blocks', $chain->block_number);
$node->stop('immediate');
$faulty->fault(instead([]));
$node->start;
$job->settled;
cmp_ok(scalar($faulty->hits), '>=', 1, 'a stored header is no reason to believe an empty answer');
$faulty->heal;

$job->audit('after all faults');
done_testing();
