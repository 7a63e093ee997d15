# Automatic top-ups (research §1.10, rows 20, 22, 23: rrelayer#56, #50, #95): one transfer that is not final for each target and
# asset, made only where the source covers it with its gas, and where the transfer would not fail; to relayers and to other
# addresses, of the coin and of tokens; balances are those of a block by its number, not before the last transfer's.
use strict;
use warnings;

use RflowRelay;
use RflowTest;
use Test::More;

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $token  = lc $chain->deploy_token;
my $node   = new_node('main');
my ($bank, $hot) = @ACCOUNTS[ 1, 2 ];
my $safe   = '0x00000000000000000000000000000000005afe00';
my $marker = '0x0000000000000000000000000000000000111111';
my $marked = 10;
add_network($node, $faulty);
$node->safe_psql('postgres', 'UPDATE rflow.networks SET confirmations = 8');
add_relayer($node, 'bank', 'env:RFLOW_TEST_KEY_1');
add_relayer($node, 'hot',  'env:RFLOW_TEST_KEY_2');
add_relayer($node, 'same', 'env:RFLOW_TEST_KEY_1');
poll_until($node, "SELECT count(*) FROM rflow.relayer_status WHERE balance > 0", 3);

sub sql { return $node->safe_psql('postgres', @_) }

sub set_balance { return $chain->rpc('anvil_setBalance', $_[0], to_hex($_[1])) }

sub has { return hex_number($chain->rpc('eth_getBalance', $_[0], 'latest')) }

# Transfers of a top-up: how many, and how many are under way.
sub transfers
{
	my ($top_up) = @_;
	return sql("SELECT count(*) || ' ' || count(*) FILTER (WHERE outstanding) FROM rflow_private.top_up_transfers WHERE top_up = '$top_up'");
}

# A new block, and the relayer has looked at its balances: it does at a head, but not at two that follow within five seconds.
sub looked
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $seen = "SELECT count(*) FROM rflow.top_up_status WHERE top_up = 'marker' AND balance = " . ++$marked;

	local $RflowAnvil::TIMEOUT = 7;
	set_balance($marker, $marked);
	for (1 .. 10)
	{
		$chain->mine(1);
		last if eval { RflowAnvil::wait_for(sub { sql($seen) eq '1' }, 'a look at the balances') };
	}
	return is(sql($seen), '1', 'the balances were looked at');
}

# All transfers are deep enough, and that was looked at.
sub all_final
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	poll_until($node, "SELECT count(*) FROM rflow.transactions WHERE idempotency_key LIKE 'top-up:%' AND state = 'queued'", 0);
	for (1 .. 40)
	{
		$chain->mine(1);
		last if sql("SELECT count(*) FROM rflow.transactions WHERE idempotency_key LIKE 'top-up:%' AND state NOT IN ('confirmed', 'failed')") eq '0';
		select undef, undef, undef, 0.3;
	}
	return looked();
}

sub problem_like
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($top_up, $pattern) = @_;
	return poll_until($node, "SELECT coalesce(problem, 'none') ~ '$pattern' FROM rflow.top_up_status WHERE top_up = '$top_up'");
}

# The coin, to a relayer's account.  The marker is never topped up: its balance would not be looked at meanwhile.
set_balance($marker, $marked);
set_balance($hot, 5);
sql(<<"SQL");
INSERT INTO rflow.top_ups (name, source, recipient, below, up_to) VALUES ('marker', 'bank', '$marker', 1, 1);
INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('hot', 'bank', 'hot', 1e18, 3e18);
SQL
$chain->mine(1);
poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key LIKE 'top-up:hot:%' AND state <> 'queued'", 'mined');
is(has($hot), '3000000000000000000', 'the target has what was wanted');
is(transfers('hot'), '1 1', 'while its transfer is not deep enough it is outstanding');
set_balance($hot, 7);
looked();
is(transfers('hot'), '1 1', 'and there is no other one, whatever the balance');
# The node's "latest" lags behind: what counts is the balance of a block by its number.
set_balance($hot, '3000000000000000000');
$faulty->fault({ kind => 'result', method => 'eth_getBalance', params => 'latest', result => '0x1' });
all_final();
looked();
is(transfers('hot'), '1 0', 'once it is final, a balance of an older block makes no other one');
$faulty->heal;

# Nothing is sent while the first one waits in the queue.
sql("UPDATE rflow.relayers SET max_fee_per_gas = 1 WHERE name = 'bank'");
set_balance($hot, 5);
looked();
poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key LIKE 'top-up:hot:%' ORDER BY id DESC LIMIT 1", 'queued');
looked();
looked();
is(transfers('hot'), '2 1', 'no second one while the first one is not even signed');
# What is outstanding counts: the bank has 2 ether beside it, and a second target needs 2.
set_balance($bank, '5000000000000000000');
sql("INSERT INTO rflow.top_ups (name, source, recipient, below, amount) VALUES ('safe', 'bank', '$safe', 1e18, 2e18)");
looked();
problem_like('safe', '^source "bank" has too little: 5000000000000000000 wei, and with gas and what is outstanding it needs 50\d+$');
is(transfers('safe'), '0 0', 'the source must cover what is outstanding, the transfer and its gas (row 22)');
like(sql("SELECT what_to_do FROM rflow.stuck WHERE kind = 'top-up' AND subject = 'safe'"), qr/^Send funds to $bank, the account of relayer bank$/, 'rflow.stuck says what to do');
sql("UPDATE rflow.relayers SET max_fee_per_gas = NULL WHERE name = 'bank'");
all_final();
set_balance($bank, '100000000000000000000');
looked();
poll_until($node, "SELECT count(*) FROM rflow_private.top_up_transfers WHERE top_up = 'safe'", 1);
all_final();
is(has($safe), '2000000000000000000', 'it goes on when there is enough, to an address that is no relayer (row 23)');
is(sql("SELECT problem IS NULL FROM rflow.top_up_status WHERE top_up = 'safe'"), 't', 'and the problem is over');

# At most so much a day; paused; an account that is its own source.
sql("UPDATE rflow.top_ups SET max_per_day = 3e18 WHERE name = 'safe'");
set_balance($safe, 1);
looked();
problem_like('safe', '^2000000000000000000 of max_per_day 3000000000000000000 are sent, and 2000000000000000000 are needed$');
sql("UPDATE rflow.top_ups SET max_per_day = 4e18 WHERE name = 'safe'; UPDATE rflow.relayers SET paused = true WHERE name = 'bank'");
looked();
problem_like('safe', '^source "bank" is paused$');
is(transfers('safe'), '1 0', 'nothing was sent');
sql("UPDATE rflow.relayers SET paused = false WHERE name = 'bank'");
looked();
poll_until($node, "SELECT count(*) FROM rflow_private.top_up_transfers WHERE top_up = 'safe'", 2);
sql("INSERT INTO rflow.top_ups (name, source, relayer, below, up_to) VALUES ('itself', 'bank', 'same', 1e30, 2e30)");
looked();
problem_like('itself', '^relayer "bank" has the same account: a source does not top itself up$');
is(transfers('itself'), '0 0', 'a source is never its own target');
sql("DELETE FROM rflow.top_ups WHERE name = 'itself'");
all_final();

# A token; another row for the same target and asset is the same transfer.
sql(<<"SQL");
INSERT INTO rflow.top_ups (name, source, recipient, token, below, up_to) VALUES ('tokens', 'bank', '$safe', '$token', 100, 500);
INSERT INTO rflow.top_ups (name, source, recipient, token, below, up_to) VALUES ('tokens-too', 'bank', '$safe', '$token', 100, 500);
SQL
looked();
problem_like('tokens', '^source "bank" has too little: 0 of the token, and it needs 500$');
is(transfers('tokens'), '0 0', 'no transfer that would fail (row 22)');
$chain->transfer($token, $bank, 2000);
looked();
all_final();
is($chain->balance($token, $safe), 500, 'the target has its tokens');
is(sql("SELECT count(*) FROM rflow_private.top_up_transfers WHERE top_up LIKE 'tokens%'"), 1, 'from one transfer');
sql("INSERT INTO rflow.top_ups (name, source, recipient, token, below, up_to) VALUES ('nothing', 'bank', '$safe', '0x00000000000000000000000000000000000000ee', 100, 500)");
looked();
problem_like('nothing', '^the node does not give the balances of block \d+, or the token is no ERC-20 contract$');
sql("DELETE FROM rflow.top_ups WHERE name = 'nothing'");

# 2^200 wei (rrelayer#56, row 20).
set_balance($hot, '1606938044258990275541962092341162602522202993782792835301376');
looked();
is(sql("SELECT balance = 2::numeric ^ 200 FROM rflow.top_up_status WHERE top_up = 'hot'"), 't', 'a balance of 2^200 is read');

# What the chain has executed is what the tables say.
is( sql("SELECT count(*) FROM rflow.transactions WHERE idempotency_key LIKE 'top-up:%' AND state <> 'confirmed'"), 0, 'all transfers are confirmed');
my @sent = executed($chain, $bank);
is(scalar(@sent), sql("SELECT count(*) FROM rflow_private.top_up_transfers"), 'and there are no others on the chain');
is(scalar(grep { !$_->[3] } @sent), 0, 'none has failed');

$node->stop;
$chain->stop;
done_testing();
