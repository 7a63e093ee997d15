# Pausing at every level: what is not signed is not signed, what is signed and not sent is not sent, what was sent is still
# followed; a paused workflow holds its own queued sends and nobody else's; resuming lets go at once; who and why is told.
# relayers-and-indexers.md 1.9 (pause stops new sends and pending broadcasts but keeps receipt polling), T3
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main');
add_network($node, $chain);
add_relayer($node, 'hot');

sub sql { return $node->safe_psql('postgres', @_) }

sub error_of
{
	my ($sql, $role) = @_;
	my ($out, $err);
	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err, extra_params => [ '-U', $role // 'postgres' ]);
	return $err =~ /ERROR:  (.*)/ ? $1 : $out;
}

sub state_is
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($payment, $state) = @_;
	return poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $payment'", $state);
}

# The relayer looks at what is queued at each new block: time enough to do what it must not.
sub three_heads
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $head = $chain->block_number + 3;
	return poll_until($node, "SELECT head >= $head FROM rflow.network_status");
}

sql(q{CREATE ROLE operator LOGIN; GRANT rflow_operator TO operator; CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN});
sql(q{GRANT INSERT, UPDATE, DELETE ON rflow.workflows TO alice; INSERT INTO rflow.relayer_grants VALUES ('hot', 'alice')});

# A network, and everything.
my $payment = 0;
for my $switch ([ q{'network', 'local'}, 'network local is paused by operator: maintenance' ],
	[ q{'all', NULL}, 'everything is paused by operator: maintenance' ],
	[ q{'relayer', 'hot'}, 'relayer hot is paused by operator: maintenance' ])
{
	my ($what, $told) = @$switch;
	submit($node, 'hot', ++$payment);
	state_is($payment, 'broadcast') if $payment == 1;
	is(error_of("SELECT rflow.pause($what, 'maintenance')", 'operator'), 't', "$what is paused");
	is(error_of("SELECT rflow.pause($what)", 'operator'), 'f', 'only once');
	state_is($payment, 'confirmed') if $payment == 1;    # what was sent is followed
	submit($node, 'hot', ++$payment);
	is(sql(q{SELECT pause FROM rflow.relayer_status}), $told, 'its status says so');
	is(sql(qq{SELECT count(*) FROM rflow.stuck WHERE kind = 'pause' AND reason = '$told' AND since IS NOT NULL AND what_to_do LIKE 'SELECT rflow.resume(%'}), 1, 'and rflow.stuck');
	three_heads();
	is(sql("SELECT state, nonce IS NULL FROM rflow.transactions WHERE idempotency_key = 'payment $payment'"), 'queued|t', 'nothing is signed');
	is(error_of("SELECT rflow.resume($what, 'done')", 'operator'), 't', 'it is resumed');
	state_is($payment, 'confirmed');
}
is(sql(q{SELECT count(*) FROM rflow.pauses}), 0, 'nothing is paused any more');
is(sql(q{SELECT string_agg(concat_ws(' ', who, verb, subject, reason, outcome), ', ' ORDER BY at) FROM rflow.operator_log WHERE subject = 'network local'}),
	'operator pause network local maintenance paused, operator pause network local was paused already, operator resume network local done resumed', 'the journal has it');

# What is signed and not sent stays here, across a restart of the server.
sql(q{ALTER SYSTEM SET rflow.crash_point = 'relay-after-sign-commit:wait'; SELECT pg_reload_conf()});
submit($node, 'hot', 20);
state_is(20, 'signed');
is(error_of(q{SELECT rflow.pause('network', 'local', 'stop')}, 'operator'), 't', 'paused between signing and sending');
sql(q{ALTER SYSTEM RESET rflow.crash_point; SELECT pg_reload_conf()});
$node->restart;
submit($node, 'hot', 21);
three_heads();
is(sql(q{SELECT string_agg(state, ',' ORDER BY id) FROM rflow.transactions WHERE idempotency_key IN ('payment 20', 'payment 21')}), 'signed,queued', 'neither goes out');
sql(q{SELECT rflow.resume('network', 'local')});
state_is($_, 'confirmed') for 20, 21;

# A workflow: its queued sends wait, with who and why; others of the same relayer go on; it is different from disable.
my $steps = qq{rflow.steps(rflow.send_transaction('send', relayer => 'hot', recipient => '''$SINK''', value => \$\$ (input->>'value')::numeric \$\$, wait_for => 'mined'))};
is(error_of(qq{INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('pay', rflow.on_start(), $steps)}, 'alice'), '', 'a workflow of alice');
is(error_of(q{SELECT rflow.pause('workflow', 'pay', 'mine')}, 'bob'), 'permission denied to pause workflow pay', 'bob may not pause it');
is(error_of(q{SELECT rflow.pause('network', 'local')}, 'alice'), 'permission denied to pause network local', 'nor alice the network');
is(error_of(q{SELECT rflow.pause('workflow', 'pay', 'wrong payee')}, 'alice'), 't', 'alice may pause her own');
my $run = error_of(q{SELECT rflow.start('pay', '{"value": 900}')}, 'alice');
poll_until($node, "SELECT reason FROM rflow.transactions WHERE run_id = '$run' AND state = 'queued'", 'workflow "pay" is paused by alice: wrong payee');
submit($node, 'hot', 22);
state_is(22, 'confirmed');
is(sql("SELECT state FROM rflow.transactions WHERE run_id = '$run'"), 'queued', 'others go on beside it');
is(sql(q{SELECT pause FROM rflow.workflow_stats}), 'workflow pay is paused by alice: wrong payee', 'its statistics say so');
is(error_of(q{SELECT count(*) FROM rflow.pauses}, 'bob'), '0', 'bob does not see it');
is(error_of(q{SELECT rflow.resume('workflow', 'pay')}, 'alice'), 't', 'and resume it');
poll_until($node, "SELECT state FROM rflow.runs WHERE id = '$run'", 'succeeded');

# What is wrong is said.
is(error_of(q{SELECT rflow.pause('network', 'mars')}), 'there is no network "mars"', 'an unknown network');
is(error_of(q{SELECT rflow.pause('planet', 'mars')}), 'kind "planet" is none of all, network, relayer, workflow', 'an unknown kind');
is(error_of(q{SELECT rflow.pause('network')}), 'name goes with every kind but all', 'no name');

# The column is the same switch, and says who as well.
sql(q{UPDATE rflow.relayers SET paused = true});
is(sql(q{SELECT kind, name, paused_by FROM rflow.pauses}), 'relayer|hot|postgres', 'by UPDATE');
sql(q{UPDATE rflow.relayers SET paused = false});
is(sql(q{SELECT count(*) FROM rflow.pauses}), 0, 'and back');

all_settled($node);
$node->stop;
done_testing();
