# Calls that a node chokes on, that are too large to ask, or whose answers are: the other workflows of the network go on.
use strict;
use warnings;

use RflowAudit;
use RflowRuns;
use RflowTest;
use Test::More;

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $node   = new_node('main', conf => "rflow.executors = 1\n");
my $job    = RflowAudit->start(node => $node, chain => $chain, endpoint => $faulty->url);
my $answered = 0;

add_owner($node, 'alice');
$node->safe_psql('postgres', <<'SQL');
INSERT INTO rflow.contracts (name, network, address, abi) VALUES ('other', 'local', '0x00000000000000000000000000000000deadbeef',
	rflow.abi('function look(bytes data) view returns (uint256)'));
INSERT INTO rflow.relayer_grants VALUES ('hot', 'alice');
SQL

# A workflow of alice that sees the same events, with this step.
sub add_neighbour
{
	my ($name, $step) = @_;

	$node->safe_psql('postgres', <<"SQL", extra_params => [ '-U', 'alice' ]);
INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('$name', rflow.on_event('deposits', 'Transfer'), rflow.steps($step))
SQL
	poll_until($node, "SELECT cursor_id IS NOT NULL FROM rflow_private.subscriptions WHERE workflow = '$name'");
}

sub answers
{
	my ($events) = @_;

	$job->deposit(count => $events);
	$answered += $events;
	poll_until($node, "SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'answer' AND state = 'succeeded'", $answered);
}

# Too much to ask about, for a read and for a send: the run has failed, and nobody was asked.
my $large = q{convert_to(repeat('x', 40000000), 'UTF8')::rflow.hex};
add_neighbour('much-read', "rflow.read('look', contract => 'other', function => 'look', args => \$\$ $large \$\$)");
add_neighbour('much-sent',
	"rflow.send_transaction('send', relayer => 'hot', recipient => \$\$ '0x00000000000000000000000000000000deadbeef' \$\$, data => \$\$ $large \$\$)");
answers(12);
is( $node->safe_psql('postgres',
		q{SELECT workflow, state, error->>'sqlstate', count(*) FROM rflow_private.workflow_runs WHERE workflow LIKE 'much%' GROUP BY 1, 2, 3 ORDER BY 1}),
	"much-read|failed|54000|12\nmuch-sent|failed|54000|12",
	'what is too large to ask fails its own run');
is(scalar(grep { length $_->{params}[0]{data} > 1000 } $faulty->calls('eth_call'), $faulty->calls('eth_estimateGas')),
	0, 'and is not asked');
$node->safe_psql('postgres', "SELECT rflow.disable(name) FROM rflow.workflows WHERE name LIKE 'much%'");

# A node that closes the connection at this call (look(bytes)), always.
add_neighbour('choking', "rflow.read('look', contract => 'other', function => 'look', args => \$\$ '0xdead' \$\$)");
$faulty->fault({ kind => 'close', method => 'eth_call', params => '0x4f96d667' });
answers(1);
answers(5);
poll_until($node, q{SELECT state, count(*) FROM rflow_private.workflow_runs WHERE workflow = 'choking' GROUP BY 1}, 'ready|6');
# Those that come now are given to executors at once.
answers(5);
is($node->safe_psql('postgres', 'SELECT sum(restarts) FROM rflow.workers'), 0, 'no worker has ended');

# A node that answers again.
$faulty->heal;
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'choking' AND state IN ('succeeded', 'failed')}, 11);
answers(2);
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'choking' AND state IN ('succeeded', 'failed')}, 13);
done_testing();
