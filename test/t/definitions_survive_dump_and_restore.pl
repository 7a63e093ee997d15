# A dump has everything but the arming record: it restores disarmed, by psql and by pg_restore -j, and a dump of what was
# restored is the same again.  Armed, the restored workflows hold without a new version.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;

my $node = new_node('main');
my $dir  = PostgreSQL::Test::Utils::tempdir();

sub dump_of
{
	my ($database) = @_;
	my $file = "$dir/$database.sql";

	# Newer releases of pg_dump put a random key around the commands.
	$node->command_ok([ 'pg_dump', '--no-comments', '-f', $file, $database ], "dump $database");
	return join '', grep { !/^\\(un)?restrict / } split /^/, slurp_file($file);
}

# A role whose name needs quotes, rights on our tables, and rows in every state that a database can be stopped in.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE "Alice B" LOGIN;
GRANT INSERT, UPDATE, DELETE ON rflow.workflows TO "Alice B";
INSERT INTO rflow.networks (name, chain_id, rpc_urls, enabled) VALUES ('local', 31337, '{http://127.0.0.1:1}', false);
INSERT INTO rflow.contracts (name, network, address, abi)
VALUES ('token', 'local', '0x5FbDB2315678afecb367f032d93F642f64180aa3',
        rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)',
                  'function balanceOf(address owner) view returns (uint256)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY_4');
INSERT INTO rflow.relayer_grants VALUES ('hot', '"Alice B"');
SET ROLE "Alice B";
INSERT INTO rflow.workflows (name, trigger, filter, once_per, steps, vars)
VALUES ('watch', rflow.on_event('token', 'Transfer'), $$ event.value >= (vars->>'least')::numeric $$, $$ event.to $$,
        rflow.steps(rflow.read('pool', contract => 'token', function => 'balanceOf', args => $$ event.to $$)),
        '{"least": 100}'),
       ('by-hand', rflow.on_start(), NULL, NULL, rflow.steps(rflow.stop('done')), '{}');
UPDATE rflow.workflows SET filter = $$ event.value > 0 $$ WHERE name = 'watch';
SELECT rflow.start('by-hand', '{"text": "tab\t and ''quotes''"}', 'key');
RESET ROLE;
SELECT rflow.disable('by-hand');
INSERT INTO rflow_private.blocks (network, number, hash, parent_hash, block_timestamp, base_fee_per_gas, seen_at)
VALUES ('local', 7, '0xaa', '0xbb', '2026-01-01', 115792089237316195423570985008687907853269984665640564039457584007913129639935, '2026-01-01');
INSERT INTO rflow_private.incidents (kind, subject, reason, what_to_do) VALUES ('test', 'a', 'b', 'c');
SQL

my $original = dump_of('postgres');
like($original, qr/^COPY rflow\.workflows /m, 'the dump has the workflows');
like($original, qr/^COPY rflow_private\.workflow_runs /m, 'and the runs');
unlike($original, qr/^COPY rflow_private\.identity /m, 'but not the arming record');
my @kept = $original =~ /^COPY (rflow\S+) /mg;
is(scalar @kept, $node->safe_psql('postgres', <<'SQL') - 1, 'all other tables are kept');
SELECT count(*) FROM pg_class WHERE relnamespace IN ('rflow'::regnamespace, 'rflow_private'::regnamespace) AND relkind = 'r'
SQL

$node->safe_psql('postgres', 'CREATE DATABASE plain');
$node->safe_psql('postgres', 'CREATE DATABASE parallel');
$node->command_ok([ 'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-q', '-d', 'plain', '-f', "$dir/postgres.sql" ], 'psql restores it');
$node->command_ok([ 'pg_dump', '-Fd', '-j2', '-f', "$dir/parallel", 'postgres' ], 'dump as a directory');
$node->command_ok([ 'pg_restore', '-j4', '--exit-on-error', '-d', 'parallel', "$dir/parallel" ], 'pg_restore -j4 restores it');

for my $database ('plain', 'parallel')
{
	is($node->safe_psql($database, 'SELECT rflow.readiness()'), 'disarmed: call rflow.arm()', "$database is disarmed");
	is(dump_of($database), $original, "the dump of $database is the same");
	is($node->safe_psql($database, 'SELECT * FROM rflow.arm()'), '', "all workflows of $database hold");
	is($node->safe_psql($database, 'SELECT name, owner, version, enabled FROM rflow.workflows ORDER BY name'),
		qq{by-hand|"Alice B"|1|f\nwatch|"Alice B"|2|t}, "those of $database are of the owner, in the same version");
	is($node->safe_psql($database, "INSERT INTO rflow_private.incidents (kind, subject, reason, what_to_do) VALUES ('new', 'a', 'b', 'c') RETURNING id"),
		2, "ids of $database go on");
}

$node->stop;
done_testing();
