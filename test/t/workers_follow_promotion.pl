# On a standby nothing runs; after promotion it does, on another timeline than the one that was armed: signing is held until
# the accounts are reconciled with the chain, and arming the database again does not skip that.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;

my $RUNNING =
  "SELECT count(*) FROM rflow.workers WHERE state = 'running' AND kind IN ('coordinator', 'watcher', 'relayer')";

my $primary = new_node('primary', init => [ allows_streaming => 1 ]);
$primary->safe_psql('postgres',
	"INSERT INTO rflow.networks (name, chain_id, rpc_urls) VALUES ('local', 31337, '{http://127.0.0.1:9}')"
);
$primary->safe_psql('postgres',
	"INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY')");
poll_until($primary, $RUNNING, 3);
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby);
is( $standby->safe_psql('postgres',
		"SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'rflow%'"),
	0,
	'on a standby nothing runs');
is($standby->safe_psql('postgres', 'SELECT rflow.readiness()'),
	'a standby: workers start after promotion', 'a standby says so');

# A database that is dropped on the primary is dropped on the standby, too.
$primary->safe_psql('postgres', 'CREATE DATABASE short_lived');
$primary->safe_psql('short_lived', 'CREATE EXTENSION rflow');
$primary->safe_psql('postgres', 'DROP DATABASE short_lived');
$primary->wait_for_catchup($standby);

$primary->stop('immediate');
$standby->promote;
poll_until($standby, $RUNNING, 3);
my $HELD = 'ready, but signing is held until accounts are reconciled with the chain: network local';
poll_until($standby, 'SELECT rflow.readiness()', $HELD);
poll_until($standby, "SELECT problem FROM rflow.relayer_status", 'signing is held: the account is about to be reconciled');
$standby->safe_psql('postgres', 'SELECT rflow.arm()');
is($standby->safe_psql('postgres', 'SELECT rflow.readiness()'), $HELD, 'arming it again does not skip that');
$standby->restart;
poll_until($standby, 'SELECT rflow.readiness()', $HELD);
$standby->safe_psql('postgres', "DELETE FROM rflow.relayers");
poll_until($standby, 'SELECT rflow.readiness()', 'ready');

$standby->stop('fast');
done_testing();
