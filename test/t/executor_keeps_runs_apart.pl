# One run's trouble is its own: a lock that somebody holds, a row that does not load, a network that does not answer, is
# off or is another chain.  The others go on meanwhile, and it does when the trouble is over.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowRuns;
use RflowTest;
use Test::More;

my $near = start_anvil();
my $far  = start_anvil('--chain-id', '31338');
my $node = new_node('main', conf => "rflow.executors = 1\n");
my %token = (near => $near->deploy_token('1000'), far => $far->deploy_token('2000'));

add_network($node, $near, 'near');
add_network($node, $far, 'far');
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi)
SELECT n.name, n.name, v.address::rflow.address, rflow.abi('function balanceOf(address owner) view returns (uint256)', 'function transfer(address to, uint256 value) returns (bool)')
  FROM rflow.networks n JOIN (VALUES ('near', '$token{near}'), ('far', '$token{far}')) v(name, address) ON v.name = n.name;
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'near', 'env:RFLOW_TEST_KEY');
SQL

sub read_of { my ($network) = @_; return qq{rflow.read('$network', '$network', 'balanceOf', \$\$ '$ACCOUNTS[0]' \$\$)}; }

my $sum = q{rflow.sql('total', 'SELECT near.result + far.result AS total')};
my $both = add_workflow($node, 'postgres', join ', ', read_of('near'), read_of('far'), $sum);
my $far_only = add_workflow($node, 'postgres', join ', ', read_of('far'), q{rflow.sql('far_note', 'SELECT far.result AS n')});
my $near_only = add_workflow($node, 'postgres', join ', ', read_of('near'), q{rflow.sql('near_note', 'SELECT near.result AS n')});

sub start { return start_run($node, 'postgres', $_[0]); }
sub state_of { my ($run) = @_; return $node->safe_psql('postgres', "SELECT state FROM rflow_private.workflow_runs WHERE id = '$run'"); }
# Looks at it now, not when its pause is over; a change of definitions wakes the executor.
sub nudge
{
	my ($run) = @_;

	$node->safe_psql('postgres', "INSERT INTO rflow_private.due (kind, owner, wake_at, id) VALUES ('run', left('$run', 1), now(), '$run'); SELECT rflow_private.definitions_changed()");
}

sub why { my ($run) = @_; return "SELECT error->>'message' FROM rflow_private.step_runs WHERE run_id = '$run' AND state = 'waiting'"; }

is(end_of($node, start($both))->{result}, '{"total": 3000}', 'a run that reads from two networks');

# A network that does not answer.
$far->kill9;
my $waits = start($far_only);
poll_until($node, why($waits) =~ s/SELECT (.*?) FROM/SELECT $1 IS NOT NULL FROM/r, 't');
is(end_of($node, start($near_only))->{result}, '{"n": 1000}', 'runs of another network go on');
is(state_of($waits), 'ready', 'while it waits');
is($node->safe_psql('postgres', "SELECT attempt FROM rflow_private.step_runs WHERE run_id = '$waits'"), '1', 'which counts as no attempt');

# Another chain in its place.
my $wrong = RflowAnvil->start(port => $far->port, args => [ '--chain-id', '5' ]);
nudge($waits);
poll_until($node, why($waits), "http://127.0.0.1:${\($far->port)} is on chain 5, network \"far\" is chain 31338");
$wrong->kill9;

# Off, and on again.
$node->safe_psql('postgres', q{UPDATE rflow.networks SET enabled = false WHERE name = 'far'});
my $off = start($far_only);
poll_until($node, why($off), 'network "far" is disabled or does not exist');
is(end_of($node, start($near_only))->{state}, 'succeeded', 'runs of another network go on');
$far->start_again;
is(lc $far->deploy_token('2000'), lc $token{far}, 'the same chain again');
$node->safe_psql('postgres', q{UPDATE rflow.networks SET enabled = true WHERE name = 'far'});
nudge($_) for $waits, $off;
is(end_of($node, $_)->{result}, '{"n": 2000}', 'it goes on') for $waits, $off;

# A lock that somebody holds on what a run waits for.
my $pay = add_workflow($node, 'postgres', qq{rflow.send_transaction('pay', relayer => 'hot', contract => 'near', function => 'transfer',
	args => \$\$ '$ACCOUNTS[3]', 1 \$\$, wait_for => 'mined')});
$node->safe_psql('postgres', q{UPDATE rflow.relayers SET paused = true});
my @runs = map { start($pay) } 1, 2;
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE state = 'waiting'}, 2);
my $locker = $node->background_psql('postgres');
$locker->query_safe("BEGIN; SELECT FROM rflow_private.relayer_transactions WHERE run_id = '$runs[0]' FOR UPDATE");
nudge($runs[0]);
is(end_of($node, start($near_only))->{state}, 'succeeded', 'another run goes on');
poll_until($node, "SELECT reason FROM rflow_private.incidents WHERE kind = 'run' AND subject = '$runs[0]' AND resolved_at IS NULL",
	'canceling statement due to lock timeout');
$locker->query_safe('COMMIT');
$locker->quit;
poll_until($node, q{SELECT count(*) FROM rflow_private.incidents WHERE resolved_at IS NULL}, '0');
$node->safe_psql('postgres', q{UPDATE rflow.relayers SET paused = false});
is(end_of($node, $_)->{state}, 'succeeded', 'both end well') for @runs;

# A version that does not load.
$node->safe_psql('postgres', q{UPDATE rflow.relayers SET paused = true});
my $broken = start($pay);
poll_until($node, q{SELECT count(*) FROM rflow_private.workflow_runs WHERE state = 'waiting'}, 1);
$node->safe_psql('postgres', "UPDATE rflow.workflow_versions SET definition = jsonb_set(definition, '{steps,0,abi}', '\"nonsense\"') WHERE workflow = '$pay'");
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM rflow.workers WHERE kind = 'executor'});
nudge($broken);
is(end_of($node, start($near_only))->{state}, 'succeeded', 'another run goes on');
poll_until($node, "SELECT reason ~ '^ABI of workflow \"$pay\" version 1: ' FROM rflow_private.incidents WHERE kind = 'run' AND subject = '$broken' AND resolved_at IS NULL", 't');
$node->safe_psql('postgres', "UPDATE rflow.workflow_versions SET definition = jsonb_set(definition, '{steps,0,abi}', '\"function transfer(address to, uint256 value) returns (bool)\"') WHERE workflow = '$pay'");
nudge($broken);
poll_until($node, q{SELECT count(*) FROM rflow_private.incidents WHERE resolved_at IS NULL}, '0');
$node->safe_psql('postgres', q{UPDATE rflow.relayers SET paused = false});
is(end_of($node, $broken)->{state}, 'succeeded', 'mended, it goes on');

# Rows of runs that are gone, and of runs that have ended, are tidied away.
nudge($broken);
nudge('a0000000-0000-0000-0000-000000000001');
poll_until($node, q{SELECT count(*) FROM rflow_private.due}, '0');

$node->stop;
$_->stop for $near, $far;
done_testing();
