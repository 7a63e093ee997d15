# A claim commits only from the place that its watcher has read: whoever has moved the cursor meanwhile makes it begin
# anew, and what is read twice is answered once.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $chain = start_anvil();
my $node  = new_node('main');
my $job   = RflowAudit->start(node => $node, chain => $chain);

sub moved
{
	my ($set) = @_;
	return "UPDATE rflow_private.cursors SET $set, revision = revision + 1";
}

sub logged
{
	my ($offset, $message, $what) = @_;
	ok($node->wait_for_log($message, $offset), $what);
}

my $CHANGED = qr/ERROR:  cursor \d+ has changed meanwhile/;

# Somebody has moved the cursor, to where it was.
my $offset = -s $node->logfile;
$node->safe_psql('postgres', moved('next_block = next_block'));
$job->deposit(count => 2);
$job->settled;
logged($offset, $CHANGED, 'a claim does not commit over another revision');
$job->audit('a cursor of another revision');

# Somebody is moving it at this moment, as a second watcher would.
$offset = -s $node->logfile;
my $other = $node->background_psql('postgres');
$other->query_safe('BEGIN; ' . moved('next_block = next_block'));
$job->deposit(count => 2);
poll_until($node,
	"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'rflow watcher' AND wait_event_type = 'Lock'", 1);
$other->query_safe('COMMIT');
$job->settled;
logged($offset, $CHANGED, 'a claim waits for another one and does not commit then');
$job->audit('a cursor that moves');

# And the reverse: while a claim is being written nobody else can make one.
$offset = -s $node->logfile;
$job->crash_point('claim-before-commit:wait');
$node->reload;
$job->deposit(count => 2);
$node->wait_for_log(qr/crash point "claim-before-commit" reached/, $offset);
my ($result, $out, $error) =
  $node->psql('postgres', "SET lock_timeout = '200ms'; " . moved('next_block = next_block'));
like($error, qr/lock timeout/, 'a claim that is being written has the cursor');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.workflow_runs'),
	4, 'and nothing of it can be seen');
$job->crash_point('');
$node->reload;
$job->settled;
$job->audit('a claim that took long');

# The cursor is set back to the beginning: everything is read again.
$node->safe_psql('postgres', moved('next_block = 0, next_log = 0'));
$job->deposit(count => 2);
$job->settled;
poll_until($node, 'SELECT next_block > 5 FROM rflow_private.cursors');
$job->audit('a cursor that was set back');

# A cursor in the middle of a transaction's events.
my $middle = $node->safe_psql('postgres',
	'SELECT max(block_number) FROM rflow_private.workflow_runs');
$node->safe_psql('postgres', moved("next_block = $middle, next_log = 1"));
$job->deposit(count => 3);
$job->settled;
$job->audit('a cursor inside a block');

# What has been answered stays so, when its runs are gone.
$node->safe_psql('postgres',
	'CREATE TABLE archive AS SELECT * FROM rflow_private.workflow_runs; DELETE FROM rflow_private.workflow_runs');
$node->safe_psql('postgres', moved('next_block = 0, next_log = 0'));
$chain->mine;
poll_until($node, 'SELECT next_block > 5 FROM rflow_private.cursors');
is($node->safe_psql('postgres', 'SELECT count(*) FROM rflow_private.workflow_runs'),
	0, 'occurrences outlive runs');
$node->safe_psql('postgres', 'INSERT INTO rflow_private.workflow_runs SELECT * FROM archive');
$job->audit('after all');
done_testing();
