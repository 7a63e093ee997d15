# A run that has waited goes on with what it knew: the event in every awkward shape, the outputs of each kind of step, and
# the transaction it waited for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";

use RflowRuns;
use RflowTest;
use Test::More;

my $chain = start_anvil();
my $token = $chain->deploy_token;
my $zoo   = $chain->deploy('EventZoo');
my $node  = new_node('main');

add_network($node, $chain);
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
	('zoo', 'local', '$zoo', rflow.abi(
		'event Idx3(address indexed a, uint256 indexed b, bytes32 indexed c, int256 d)',
		'event IdxString(string indexed s, string plain)',
		'event IdxBytes(bytes indexed b, bytes plain)',
		'event IdxArray(uint256[] indexed a, uint256[] plain)',
		'event IdxFixed(uint8[3] indexed a, bool[2][2] plain)',
		'event Small(int8 indexed a, uint16 b, bool indexed c, bytes4 indexed d, int24 e, bytes31 f)',
		'event Text(string s)',
		'event Tick(uint256 indexed n)')),
	('token', 'local', '$token', rflow.abi(
		'event Transfer(address indexed from, address indexed to, uint256 value)',
		'function transfer(address to, uint256 value) returns (bool)',
		'function balanceOf(address owner) view returns (uint256)',
		'function decimals() view returns (uint8)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES ('hot', 'local', 'env:RFLOW_TEST_KEY_4');
CREATE TABLE seen (name text, value jsonb);
SQL

# Events: an executor reads them back from the run's row.
my %columns = (
	Idx3 => 'event.a, event.b, event.c, event.d',
	IdxString => 'event.s, event.plain, event.plain_bytes',
	IdxBytes => 'event.b, event.plain',
	IdxArray => 'event.a, event.plain',
	IdxFixed => 'event.a, event.plain',
	Small => 'event.a, event.b, event.c, event.d, event.e, event.f',
	Text => 'event.s, event.s_bytes',
	Tick => 'event.n, event.arg0, log.block_number > 0, log.address, log.transaction_hash IS NOT NULL, log.block_timestamp > $$2020-01-01$$, run.workflow, run.version');
for my $event (sort keys %columns)
{
	$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.workflows (name, trigger, steps) VALUES (lower('$event'), rflow.on_event('zoo', '$event'), rflow.steps(
	rflow.sql('note', \$s\$ INSERT INTO seen VALUES ('$event', to_jsonb(ROW($columns{$event}))) \$s\$)));
SQL
}
poll_until($node, 'SELECT count(*) FROM rflow_private.subscriptions WHERE cursor_id IS NOT NULL', scalar keys %columns);

sub zoo { my ($signature, @values) = @_; $chain->send({ to => $zoo, data => RflowAnvil::calldata('EventZoo', $signature, @values) }); }

my $big = '115792089237316195423570985008687907853269984665640564039457584007913129639935';
zoo('idx3(address,uint256,bytes32,int256)', $ACCOUNTS[1], $big, '0x' . 'ab' x 32, '-5');
zoo('idxString(string)', 'hello');
zoo('idxBytes(bytes)', '0xdeadbeef');
zoo('idxArray(uint256[])', [ 1, $big ]);
$chain->send({ to => $zoo, data => '0x' . RflowAnvil::artifact('EventZoo')->{methodIdentifiers}{'idxFixed(uint8[3],bool[2][2])'}
	  . abi_encode('uint8,uint8,uint8,bool,bool,bool,bool', 1, 2, 3, 1, 0, 0, 1) });
zoo('small(int8,uint16,bool,bytes4,int24,bytes31)', -128, 65535, 1, '0x01020304', -8388608, '0x' . 'cd' x 31);
zoo('badText(bytes)', '0x68ff00');
zoo('ticks(uint256,uint256)', 7, 1);

my ($ab, $cd) = ('ab' x 32, 'cd' x 31);
my $hello = '0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8';
my %expected = (
	Idx3 => qq({"f1": "$ACCOUNTS[1]", "f2": $big, "f3": "0x$ab", "f4": -5}),
	IdxString => qq({"f1": "$hello", "f2": "hello", "f3": "0x68656c6c6f"}),
	IdxBytes => qq({"f1": "0xd4fd4e189132273036449fc9e11198c739161b4c0116a9a2dccdfa1c492006f1", "f2": "0xdeadbeef"}),
	Small => qq({"f1": -128, "f2": 65535, "f3": true, "f4": "0x01020304", "f5": -8388608, "f6": "0x$cd"}),
	Text => qq({"f1": null, "f2": "0x68ff00"}),
	Tick => qq({"f1": 7, "f2": 7, "f3": true, "f4": "\@zoo", "f5": true, "f6": true, "f7": "tick", "f8": 1}));
my $zoo_address = $node->safe_psql('postgres', "SELECT address FROM rflow.contracts WHERE name = 'zoo'");
$expected{Tick} =~ s/\@zoo/$zoo_address/;
poll_until($node, 'SELECT count(*) FROM seen', scalar keys %columns);
for my $event (sort keys %expected)
{
	is($node->safe_psql('postgres', "SELECT value FROM seen WHERE name = '$event'"), $expected{$event}, $event);
}
like($node->safe_psql('postgres', q{SELECT value FROM seen WHERE name = 'IdxArray'}),
	qr/^\{"f1": "0x[0-9a-f]{64}", "f2": \[1, $big\]\}$/, 'IdxArray');
like($node->safe_psql('postgres', q{SELECT value FROM seen WHERE name = 'IdxFixed'}),
	qr/^\{"f1": "0x[0-9a-f]{64}", "f2": \[\[true, false\], \[false, true\]\]\}$/, 'IdxFixed');
is($node->safe_psql('postgres', q{SELECT count(*) FROM rflow_private.workflow_runs WHERE state <> 'succeeded'}), '0', 'all runs have ended well');

# Steps: each waits, is restored, and gives its outputs to those behind it.
$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.workflows (name, trigger, filter, vars, steps) VALUES ('chain', rflow.on_event('token', 'Transfer'),
	\$\$ event.to = '$ACCOUNTS[1]' \$\$, '{"factor": 3}', rflow.steps(
	rflow.read('pool', 'token', 'balanceOf', 'event.to'),
	rflow.read('unit', 'token', 'decimals', run_if => 'false'),
	rflow.send_transaction('first', relayer => 'hot', contract => 'token', function => 'transfer',
		args => \$\$ '$ACCOUNTS[2]', pool.result \$\$, wait_for => 'mined'),
	rflow.sql('note', \$s\$ INSERT INTO seen VALUES ('note', to_jsonb(ROW(pool.result, pool.arg0, unit.result, first.status, first.gas_used > 0, vars->'factor')))
		RETURNING 5 AS five \$s\$),
	rflow.send_transaction('second', relayer => 'hot', contract => 'token', function => 'transfer',
		args => \$\$ '$ACCOUNTS[3]', pool.result + (note.result->>'five')::numeric + note.row_count \$\$, wait_for => 'mined'),
	rflow.sql('last', \$s\$ INSERT INTO seen SELECT 'last', to_jsonb(ROW(first.transaction_hash <> second.transaction_hash,
		second.block_number > first.block_number, note.result, pool.result, event.value, input)) \$s\$)));
SQL
poll_until($node, q{SELECT count(*) FROM rflow_private.subscriptions WHERE workflow = 'chain' AND cursor_id IS NOT NULL}, 1);
poll_until($node, q{SELECT address IS NOT NULL FROM rflow_private.relayer_states WHERE relayer = 'hot'}, 't');
$chain->transfer($token, $ACCOUNTS[4], '1000');
$chain->transfer($token, $ACCOUNTS[1], '30');
poll_until($node, q{SELECT state FROM rflow_private.workflow_runs WHERE workflow = 'chain'}, 'succeeded');
is($node->safe_psql('postgres', q{SELECT value FROM seen WHERE name = 'note'}),
	'{"f1": 30, "f2": 30, "f3": null, "f4": "mined", "f5": true, "f6": 3}', 'what a read, a skipped step and a send gave');
is($node->safe_psql('postgres', q{SELECT value FROM seen WHERE name = 'last'}),
	'{"f1": true, "f2": true, "f3": {"five": 5}, "f4": 30, "f5": 30, "f6": null}', 'what all of them gave');
is($chain->balance($token, $ACCOUNTS[2]) . ' ' . $chain->balance($token, $ACCOUNTS[3]), '30 36', 'and what was sent of it');
is( $node->safe_psql('postgres', <<'SQL'), 'pool succeeded 1, unit skipped 1, first succeeded 1, note succeeded 1, second succeeded 1, last succeeded 1', 'the journal');
SELECT string_agg(s.step || ' ' || s.state || ' ' || s.attempt, ', ' ORDER BY s.position)
  FROM rflow_private.step_runs s JOIN rflow_private.workflow_runs r ON r.id = s.run_id WHERE r.workflow = 'chain'
SQL
is($node->safe_psql('postgres', q{SELECT count(*) FROM rflow_private.due}), '0', 'nothing is due any more');

$node->stop;
$chain->stop;
done_testing();
