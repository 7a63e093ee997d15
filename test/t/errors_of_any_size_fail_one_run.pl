# Users' SQL may raise texts that no jsonb can hold: they are cut, the run has failed, and all others go on.
use strict;
use warnings;

use RflowAudit;
use RflowRuns;
use RflowTest;
use Test::More;

my $EVENTS = 3;

my $chain = start_anvil();
my $node  = new_node('main', conf => "rflow.executors = 1\nrflow.statement_timeout = '30s'\n");
my $job   = RflowAudit->start(node => $node, chain => $chain);

add_owner($node, 'alice');
$node->safe_psql('postgres', <<'SQL', extra_params => [ '-U', 'alice' ]);
CREATE FUNCTION loud(n integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING MESSAGE = 'é' || repeat('é', 135000000), DETAIL = repeat('x', 1000000), HINT = 'no more';
END
$$;
INSERT INTO rflow.workflows (name, trigger, filter, steps)
VALUES ('loud', rflow.on_event('deposits', 'Transfer'), 'loud(1)', '[]');
SQL
poll_until($node, 'SELECT count(*) FROM rflow_private.subscriptions WHERE cursor_id IS NOT NULL', 2);

for my $step (q{rflow.sql('step', 'SELECT loud(1)')}, q{rflow.stop('stop', run_if => 'loud(1)')})
{
	my $end = run_as($node, 'alice', $step);
	is("$end->{state} $end->{sqlstate} " . length $end->{error}, 'failed P0001 8192', $step);
}
is(run_sql($node, 'alice', 'SELECT 1 AS n')->{result}, '{"n": 1}', 'another run goes on');

$job->deposit(count => $EVENTS);
poll_until($node, "SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = 'answer' AND state = 'succeeded'", $EVENTS);
poll_until($node, <<'SQL', "$EVENTS|4096|8192|no more");
SELECT count(*), min(length(error->>'message')), min(length(error->>'detail')), min(error->>'hint')
FROM rflow_private.workflow_runs WHERE workflow = 'loud' AND state = 'failed'
SQL
is($node->safe_psql('postgres', 'SELECT sum(restarts) FROM rflow.workers'), 0, 'no worker has ended');
done_testing();
