# What policies do not allow is not signed: what they never allow fails and says which field, what a window or a price does
# not allow now waits and says until when, others behind it go on; a policy that is tightened counts for what is queued.
# relayers-and-indexers.md 1.9 (allowlist, rate limits that survive a restart); field-faults.md 5.6 (value per window)
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $token = $chain->deploy_token;
my $node  = new_node('main');
add_network($node, $chain);
add_relayer($node, 'hot');
add_relayer($node, 'other', 'env:RFLOW_TEST_KEY_1');

sub sql { return $node->safe_psql('postgres', @_) }

sub error_of
{
	my ($out, $err);
	$node->psql('postgres', $_[0], stdout => \$out, stderr => \$err);
	return $err =~ /ERROR:  (.*)/ ? $1 : $out;
}

sub tried_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $relayer, $expected, $name) = @_;
	return is(error_of("SELECT rflow.submit_transaction('$relayer', recipient => '$SINK', data => '0x', value => $payment, idempotency_key => 'payment $payment') > 0"),
		$expected, $name);
}

# What a policy names must be there.
is(error_of(q{INSERT INTO rflow.policies (name, relayer) VALUES ('p', 'cold')}), 'policy "p": relayer: there is no relayer "cold"', 'an unknown relayer');
is(error_of(q{INSERT INTO rflow.policies (name, network) VALUES ('p', 'mars')}), 'policy "p": network: there is no network "mars"', 'an unknown network');
is(error_of(q{INSERT INTO rflow.policies (name, workflow) VALUES ('p', 'w')}), 'policy "p": workflow: there is no workflow "w"', 'an unknown workflow');
is(error_of(q{INSERT INTO rflow.policies (name, allowed_contracts) VALUES ('p', '{gold}')}), 'policy "p": allowed_contracts: there is no contract "gold"', 'an unknown contract');
is(error_of(q{INSERT INTO rflow.policies (name, check_expression) VALUES ('p', 'send.nothing')}), 'policy "p" (check_expression): column send.nothing does not exist', 'an unknown column in a check');

# Value per window: two sends that pass it together are not both signed; one behind them that is small enough is.
sql(q{INSERT INTO rflow.policies (name, relayer, max_value_per_window, window_length) VALUES ('window', 'hot', 100, '6 s')});
submit($node, 'hot', 60, 50, 30);
poll_until($node, q{SELECT string_agg(value || ' ' || (signed_at IS NOT NULL), ', ' ORDER BY id) FROM rflow.transactions}, '60 true, 50 false, 30 true');
like(sql(q{SELECT reason FROM rflow.transactions WHERE value = 50}),
	qr/^policy "window" \(max_value_per_window\): 60 of 100 wei are signed for in 00:00:06; there is room at 20/, 'it says why it waits, and until when');
tried_is(101, 'hot', 'policy "window" (max_value_per_window): 101 wei is above 100', 'what fits no window is refused at once');
poll_until($node, q{SELECT state FROM rflow.transactions WHERE value = 50}, 'confirmed');
is(sql(q{SELECT max(signed_at) - min(signed_at) >= '6 s' FROM rflow.transactions WHERE value IN (60, 50)}), 't', 'it was signed a window later');

# The count survives a restart of the server, and a limit that is raised lets go what waits.
submit($node, 'hot', 70);
poll_until($node, q{SELECT count(*) FROM rflow.transactions WHERE value = 70 AND reason ~ 'policy "window"'}, 1);
sql(q{UPDATE rflow.policies SET window_length = '1 hour'});
$node->restart;
submit($node, 'hot', 71);
poll_until($node, q{SELECT count(*) FROM rflow.transactions WHERE value = 71 AND reason ~ 'policy "window"'}, 1);
is(sql(q{SELECT signed_at IS NULL FROM rflow.transactions WHERE value = 71}), 't', 'a restart forgets nothing that was counted');
sql(q{UPDATE rflow.policies SET max_value_per_window = 1000});
poll_until($node, q{SELECT bool_and(state = 'confirmed') FROM rflow.transactions WHERE value IN (70, 71)});
sql(q{DELETE FROM rflow.policies});
is(sql(q{SELECT count(*) FROM rflow_private.policy_windows}), 0, 'what was counted goes with the policy');

# A rate, shared by relayers.
sql(q{INSERT INTO rflow.policies (name, network, max_transactions_per_window, window_length) VALUES ('rate', 'local', 2, '3 s')});
$node->safe_psql('postgres', submit_sql('hot', 201, 202, 203) . submit_sql('other', 204, 205, 206));
poll_until($node, q{SELECT bool_and(state = 'confirmed') FROM rflow.transactions WHERE value BETWEEN 201 AND 206});
is(sql(<<'SQL'), 2, 'no three seconds have more than two');
SELECT max(n) FROM (SELECT count(*) OVER (ORDER BY signed_at RANGE BETWEEN '2.999 s' PRECEDING AND CURRENT ROW) AS n
	FROM rflow.transactions WHERE value BETWEEN 201 AND 206) w
SQL
sql(q{DELETE FROM rflow.policies});

# A policy that is tightened counts for what is queued and not signed.
sql(q{UPDATE rflow.relayers SET paused = true});
submit($node, 'hot', 301, 302);
sql(q{INSERT INTO rflow.policies (name, relayer, max_value) VALUES ('tight', 'hot', 301); UPDATE rflow.relayers SET paused = false});
poll_until($node, q{SELECT string_agg(concat_ws(' ', state, error->>'kind', reason), ', ' ORDER BY id) FROM rflow.transactions WHERE value IN (301, 302)},
	'confirmed, failed denied policy "tight" (max_value): 302 wei is above 301');
is(sql(q{SELECT nonce IS NULL FROM rflow.transactions WHERE value = 302}), 't', 'no nonce is spent on it');
# A no-op is stopped by no policy.
sql(q{DELETE FROM rflow.policies});
$chain->rpc('evm_setIntervalMining', 0);
my ($id) = submit($node, 'hot', 310);
poll_until($node, qq{SELECT state FROM rflow.transactions WHERE id = $id}, 'broadcast');
sql(q{INSERT INTO rflow.policies (name, max_value, max_transactions_per_window, window_length, max_fee_per_gas, allowed_contracts, allow_native_transfers, check_expression)
	VALUES ('shut', 0, 1, '1 hour', 1, '{}', false, 'false')});
is(sql("SELECT rflow.cancel_transaction($id)"), 'cancelling', 'it is cancelled');
poll_until($node, qq{SELECT count(*) FROM rflow.attempts WHERE transaction_id = $id AND kind = 'noop'}, 1);
$chain->rpc('evm_setIntervalMining', 1);
poll_until($node, qq{SELECT state FROM rflow.transactions WHERE id = $id}, 'cancelled');
sql(q{DELETE FROM rflow.policies});

# Caps on price and cost wait for a price that is lower, and say whose they are.
$chain->rpc('anvil_setNextBlockBaseFeePerGas', to_hex(50_000_000_000));
sql(q{INSERT INTO rflow.policies (name, max_fee_per_gas) VALUES ('cheap', 1000)});
submit($node, 'hot', 401);
poll_until($node, q{SELECT reason ~ '^held at the cap of 1000 wei per gas of policy "cheap": the next block asks for ' FROM rflow.transactions WHERE value = 401});
sql(q{UPDATE rflow.policies SET max_fee_per_gas = NULL, max_total_cost = 21000402});
poll_until($node, q{SELECT reason ~ '^held at the cap of [0-9]+ wei per gas of policy "cheap"' AND reason !~ 'cap of 1000 ' FROM rflow.transactions WHERE value = 401});
sql(q{DELETE FROM rflow.policies});
poll_until($node, q{SELECT state FROM rflow.transactions WHERE value = 401}, 'confirmed');

# A check over arguments: a recipient that is in no table gets nothing, when it is queued and when it is signed.
my $payee = $ACCOUNTS[2];
sql(<<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('token', 'local', '$token', rflow.abi('function transfer(address to, uint256 value) returns (bool)'));
CREATE TABLE payees (payee rflow.address PRIMARY KEY);
INSERT INTO payees VALUES ('$payee');
INSERT INTO rflow.policies (name, allowed_contracts, allowed_functions, check_expression) VALUES ('payees', '{token}', '{"transfer(address,uint256)"}',
	\$\$ EXISTS (SELECT FROM payees WHERE payee = (send.args->>'to')::rflow.address) AND (send.args->>'value')::numeric <= 10 \$\$);
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pay', rflow.on_start(), rflow.steps(
	rflow.send_transaction('send', relayer => 'hot', contract => 'token', function => 'transfer', args => \$\$ input->>'to', (input->>'value')::numeric \$\$, wait_for => 'mined')));
SQL

sub run_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($input, $expected) = @_;
	my $run = sql("SELECT rflow.start('pay', '$input')");
	return poll_until($node, "SELECT concat_ws(' ', state, error->>'sqlstate', error_message) FROM rflow.runs WHERE id = '$run'", $expected);
}
run_is(qq{{"to": "$payee", "value": 5}}, 'succeeded');
run_is(qq{{"to": "$ACCOUNTS[3]", "value": 5}}, 'failed 42501 policy "payees" (check_expression): it is not true of this one');
run_is(qq{{"to": "$payee", "value": 11}}, 'failed 42501 policy "payees" (check_expression): it is not true of this one');
sql(q{UPDATE rflow.relayers SET paused = true});
my $run = sql(qq{SELECT rflow.start('pay', '{"to": "$payee", "value": 6}')});
poll_until($node, "SELECT state FROM rflow.transactions WHERE run_id = '$run'", 'queued');
sql(q{DELETE FROM payees});
sql(q{UPDATE rflow.relayers SET paused = false});
poll_until($node, "SELECT concat_ws(' ', state, error_message) ~ '^failed transaction [0-9]+ failed: policy \"payees\" .check_expression.: it is not true of this one' FROM rflow.runs WHERE id = '$run'");
is(sql(qq{SELECT count(*) FROM rflow.attempts a JOIN rflow.transactions t ON t.id = a.transaction_id WHERE t.run_id = '$run'}), 0, 'nothing was signed');
# A check that fails decides nothing: what is queued waits, and goes on when it works again.
sql(qq{INSERT INTO payees VALUES ('$payee'); UPDATE rflow.relayers SET paused = true});
$run = sql(qq{SELECT rflow.start('pay', '{"to": "$payee", "value": 7}')});
poll_until($node, "SELECT state FROM rflow.transactions WHERE run_id = '$run'", 'queued');
sql(q{ALTER TABLE payees RENAME TO gone; UPDATE rflow.relayers SET paused = false});
poll_until($node, "SELECT reason FROM rflow.transactions WHERE run_id = '$run'", 'policy "payees" (check_expression): relation "payees" does not exist');
run_is(qq{{"to": "$payee", "value": 8}}, 'failed 42P01 policy "payees" (check_expression): relation "payees" does not exist');
sql(q{ALTER TABLE gone RENAME TO payees});
poll_until($node, "SELECT state FROM rflow.runs WHERE id = '$run'", 'succeeded');

all_settled($node);
is(sql(q{SELECT string_agg(restarts::text, ',') FROM rflow.workers WHERE kind IN ('relayer', 'executor')}) =~ /^(0,)*0$/ ? 'none' : 'some', 'none', 'no worker has ended');
$node->stop;
done_testing();
