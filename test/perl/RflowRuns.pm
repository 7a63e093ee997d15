
=pod

=head1 NAME

RflowRuns - workflows that are started by hand, for TAP tests

=head1 SYNOPSIS

  use RflowRuns;

  add_owner($node, 'alice');
  my $end = run_as($node, 'alice', "rflow.sql('one', 'SELECT 1 AS n')");
  is($end->{state}, 'succeeded');
  is($end->{result}, '{"n": 1}');

=cut

package RflowRuns;

use strict;
use warnings;

use Exporter qw(import);
use JSON::PP;
use RflowTest;
use Time::HiRes qw(time);

our @EXPORT = qw(add_owner add_workflow end_of run_as run_sql start_run);

my $json = JSON::PP->new->canonical->allow_nonref;
my $count = 0;

=pod

=head1 FUNCTIONS

=over

=item add_owner(node, role)

A role without any right but to own workflows, and objects in schema public.

=cut

sub add_owner
{
	my ($node, $role) = @_;

	$node->safe_psql('postgres', <<"SQL");
CREATE ROLE $role LOGIN;
GRANT INSERT, UPDATE, DELETE ON rflow.workflows TO $role;
GRANT CREATE ON SCHEMA public TO $role;
SQL
}

=pod

=item add_workflow(node, role, steps)

A workflow of the role with trigger rflow.on_start(); steps is the SQL text of the arguments
of rflow.steps().  Returns its name.

=item start_run(node, role, workflow)

Starts a run of it, and returns the run's id.

=item end_of(node, run)

Waits until the run has ended and returns {state}, {error} (the message), {sqlstate}, and the
{result} of its last step (the text of the row as jsonb, where it returned one).

=item run_as(node, role, steps) / run_sql(node, role, statement)

All three: a run of these steps, or of one sql step.

=back

=cut

sub add_workflow
{
	my ($node, $role, $steps) = @_;
	my $name = 'w' . ++$count;

	$node->safe_psql(
		'postgres',
		"INSERT INTO rflow.workflows (name, trigger, steps) VALUES ('$name', rflow.on_start(), rflow.steps($steps))",
		extra_params => [ '-U', $role ]);
	return $name;
}

sub start_run
{
	my ($node, $role, $workflow) = @_;

	return $node->safe_psql('postgres', "SELECT rflow.start('$workflow')",
		extra_params => [ '-U', $role ]);
}

sub end_of
{
	my ($node, $run) = @_;
	my $deadline = time + $RflowTest::TIMEOUT;

	while (time < $deadline)
	{
		my ($row) = RflowTest::look($node, <<"SQL");
SELECT jsonb_build_object('state', r.state, 'error', r.error->>'message', 'sqlstate', r.error->>'sqlstate',
	'result', (SELECT s.result->>'result' FROM rflow_private.step_runs s
	            WHERE s.run_id = r.id ORDER BY s.position DESC LIMIT 1))
  FROM rflow_private.workflow_runs r
 WHERE r.id = '$run' AND r.state IN ('succeeded', 'failed', 'cancelled')
SQL
		return $json->decode($row) if defined $row && $row ne '';
		select undef, undef, undef, $RflowTest::POLL_INTERVAL;
	}
	return { state => 'not ended', error => '', sqlstate => '', result => '' };
}

sub run_as
{
	my ($node, $role, $steps) = @_;

	return end_of($node, start_run($node, $role, add_workflow($node, $role, $steps)));
}

sub run_sql
{
	my ($node, $role, $statement) = @_;

	return run_as($node, $role, "rflow.sql('step', \$statement\$$statement\$statement\$)");
}

1;
