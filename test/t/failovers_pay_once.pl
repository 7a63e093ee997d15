# A standby is promoted while sends are in flight: the old server is gone, with the commits that the standby had not
# received, or with none.  Each payment is executed once, nonces have no gap, and signing goes on by itself.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowRelay;
use RflowTest;
use Test::More;

my $PAYMENTS = 60;

my $chain = start_anvil('--block-time', '1');
my $paid  = 0;
my $count = 0;

sub add_standby
{
	my ($primary) = @_;
	my $name = 'standby' . ++$count;

	$primary->backup($name);
	my $standby = PostgreSQL::Test::Cluster->new($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	$standby->start;
	return $standby;
}

# Payments that both servers know of, and some of them in blocks.
sub begin_payments
{
	my ($primary, $standby) = @_;

	submit($primary, 'hot', $paid + 1 .. $paid + $PAYMENTS);
	$primary->wait_for_catchup($standby);
	$paid += $PAYMENTS;
}

sub wait_for_signed
{
	my ($node, $n) = @_;
	poll_until($node, "SELECT max(nonce) >= $n FROM rflow.transactions");
}

sub all_is_well
{
	my ($node, $what) = @_;

	subtest $what => sub {
		all_settled($node, 90);
		executed_once($chain, $node, 1 .. $paid);
		poll_until($node, 'SELECT rflow.readiness()', 'ready');
		poll_until($node, 'SELECT status FROM rflow.reconciliations', 'finished');
	};
}

my $primary = new_node('primary', init => [ allows_streaming => 1 ]);
add_network($primary, $chain);
add_relayer($primary, 'hot');
poll_until($primary, 'SELECT count(*) FROM rflow.relayer_status WHERE chain_nonce IS NOT NULL', 1);

# ---- the standby had stopped receiving --------------------------------------------------------------------

my $standby = add_standby($primary);
begin_payments($primary, $standby);
wait_for_signed($primary, 10);
$standby->stop('immediate');
wait_for_signed($primary, 40);
$primary->stop('immediate');
$standby->start;
$standby->promote;
like($standby->safe_psql('postgres', "SELECT max(nonce) FROM rflow.transactions"), qr/^\d+$/, 'promoted');
all_is_well($standby, 'a standby that lagged');
isnt($standby->safe_psql('postgres', 'SELECT matched FROM rflow.reconciliations'), 0, 'it did not know of everything');

# ---- and one that had received everything ------------------------------------------------------------------

$primary = $standby;
$standby = add_standby($primary);
begin_payments($primary, $standby);
wait_for_signed($primary, 80);
$primary->stop('immediate');
$standby->promote;
all_is_well($standby, 'a standby that had nearly everything');
submit($standby, 'hot', ++$paid);
all_is_well($standby, 'signing goes on');

$standby->stop;
done_testing();
