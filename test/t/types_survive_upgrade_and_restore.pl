# Tables, indexes, constraints and views of users that are built on rflow.address and rflow.hex
# survive pg_dump and pg_restore, and pg_upgrade, which restores the extension object by object.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;

my $CONTENTS = 'SELECT md5(string_agg(t::text, chr(10) ORDER BY a)) FROM transfers t';
my $USES = "SELECT (SELECT count(*) FROM pg_opclass WHERE opcname IN ('address_ops', 'hex_ops') AND amvalidate(oid)), "
  . '(SELECT count(*) FROM transfers x JOIN transfers y ON x.h = y.h::text), '
  . "(SELECT count(*) FROM large WHERE h LIKE '0xf%'), "
  . '(SELECT count(*) FROM transfers WHERE a = (SELECT min(a)::text FROM transfers))';

my $old = new_node('old', armed => 0);
$old->safe_psql('postgres', <<'SQL');
CREATE TABLE transfers (
	a rflow.address PRIMARY KEY DEFAULT '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
	h rflow.hex NOT NULL CHECK (substring(h, 1, 1) <> '0x01' AND h LIKE '0x%'),
	topics rflow.hex[],
	selector rflow.hex GENERATED ALWAYS AS (substring(h, 1, 4)) STORED
);
CREATE INDEX ON transfers USING hash (h);
CREATE INDEX ON transfers (h DESC) WHERE a <> '0x0000000000000000000000000000000000000000';
CREATE INDEX ON transfers ((a::rflow.hex || h));
CREATE VIEW large AS
	SELECT 'to ' || a AS recipient, h || selector AS h, a = h::text AS same, max(h) OVER () AS highest
	FROM transfers
	WHERE a NOT IN (SELECT '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'::text) AND rflow.to_numeric(h) > 2::numeric ^ 200;
CREATE FUNCTION topic(text) RETURNS rflow.hex LANGUAGE sql IMMUTABLE AS 'SELECT rflow.event_topic($1)';
INSERT INTO transfers (a, h, topics)
SELECT substring(hash, 1, 20), hash, ARRAY[hash, NULL, '0x']
FROM generate_series(1, 300) i, LATERAL (SELECT rflow.keccak256(i::text) AS hash) k
WHERE substring(hash, 1, 1) <> '0x01';
SQL
my $contents = $old->safe_psql('postgres', $CONTENTS);
my $uses = $old->safe_psql('postgres', $USES);
is($uses, '4|300|10|1', 'operators, classes and joins work');

# pg_dump and pg_restore, in parallel.
my $archive = PostgreSQL::Test::Utils::tempdir() . '/dump';
my ($socket, $port) = ($old->host, $old->port);
command_ok([ 'pg_dump', '-h', $socket, '-p', $port, '-Fd', '-f', $archive, 'postgres' ], 'pg_dump');
$old->safe_psql('postgres', 'CREATE DATABASE restored');
command_ok([ 'pg_restore', '-h', $socket, '-p', $port, '-j', '2', '-e', '-d', 'restored', $archive ],
	'pg_restore');
is($old->safe_psql('restored', $CONTENTS), $contents, 'the rows are the same');
is($old->safe_psql('restored', $USES), $uses, 'and mean the same');
$old->safe_psql('postgres', 'DROP DATABASE restored');

# pg_upgrade, to the same version.
my $new = PostgreSQL::Test::Cluster->new('new');
$new->init;
$new->append_conf('postgresql.conf', "shared_preload_libraries = 'rflow'");
$old->stop;
my $bin = $old->config_data('--bindir');
my ($out, $err);
my $upgraded = run_log(
	[
		'pg_upgrade', '-b', $bin, '-B', $bin, '-d', $old->data_dir, '-D', $new->data_dir,
		'-p', $old->port, '-P', $new->port, '-s', $new->host
	],
	'>', \$out, '2>', \$err);
ok($upgraded, 'pg_upgrade') or diag("$out\n$err");
$new->start;
is($new->safe_psql('postgres', $CONTENTS), $contents, 'the rows are the same');
is($new->safe_psql('postgres', $USES), $uses, 'and mean the same');
is($new->safe_psql('postgres', 'SELECT topic($$E()$$) = rflow.keccak256($$E()$$)'), 't', 'functions too');
is($new->safe_psql('postgres', q{SELECT rflow.readiness()}), 'disarmed: call rflow.arm()', 'and nothing acts');

done_testing();
