
# I-96, I-97: what a URL hides is not in the log, in a view or in pg_stat_activity, even when the node repeats it.
use strict;
use warnings;

use PostgreSQL::Test::Utils;
use RflowRelay;
use RflowTest;
use Test::More;

my $IN_ENVIRONMENT = 'token-of-the-environment';
my $IN_URL         = 'token-of-the-url';
$ENV{RFLOW_TEST_TOKEN} = $IN_ENVIRONMENT;

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');
my $port   = $faulty->port;

sub says
{
	my ($message) = @_;

	$message =~ s/'/''/g;
	poll_until($node,
		"SELECT last_error = 'http://127.0.0.1:$port: $message' FROM rflow.workers WHERE kind = 'watcher'");
}

$node->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.networks (name, chain_id, rpc_urls, poll_max) VALUES
	('local', 31337, ARRAY['http://user:$IN_URL\@127.0.0.1:$port/v2/\${env:RFLOW_TEST_TOKEN}?key=$IN_URL'], '20 ms')
SQL

# The node knows the tokens from the request, and tells everybody.
for ([ 401, { message => "$IN_URL is not $IN_ENVIRONMENT" }, 'HTTP status 401: *** is not ***' ],
	[ 200, { error => { code => -32603, message => "/v2/$IN_ENVIRONMENT?key=$IN_URL" } }, '/v2/***?key=***' ],
	[ 502, "<html>$IN_URL</html>", 'HTTP status 502' ],
	[ 200, qq(["a" "$IN_URL"]), q(JSON does not parse: ']' expected near '"***"') ])
{
	my ($status, $body, $message) = @$_;

	$body = JSON::PP->new->encode($body) if ref $body;
	$faulty->fault({ kind => 'respond', status => $status, body => $body });
	says($message);
	$faulty->heal;
	$chain->mine;
	poll_until($node, 'SELECT max(number) FROM rflow_private.blocks', $chain->block_number);
}
$faulty->fault({ kind => 'error', method => 'eth_blockNumber', code => -32000, message => "no $IN_URL" });
$faulty->wait_hit;

my $shown = $node->safe_psql('postgres',
	"SELECT w::text FROM rflow.workers w; SELECT a::text FROM pg_stat_activity a WHERE backend_type LIKE 'rflow%'");
unlike($shown, qr/token-of/, 'no token in what is shown');

# Nor when it is a transaction that the node refuses in such words.
add_relayer($node, 'hot');
$faulty->fault({ kind => 'error', method => 'eth_sendRawTransaction', code => -32000, message => "$IN_URL may not send for $IN_ENVIRONMENT" });
submit($node, 'hot', 1);
poll_until($node, "SELECT reason ~ 'may not send for' FROM rflow.transactions");
poll_until($node, "SELECT answer FROM rflow.attempts", '*** may not send for ***');
$faulty->heal;
unlike($node->safe_psql('postgres', 'SELECT t::text FROM rflow_private.relayer_transactions t; SELECT a::text FROM rflow_private.relayer_attempts a; SELECT s::text FROM rflow.stuck s'),
	qr/token-of/, 'no token in what is kept of a transaction');

# A variable that is not set is named, and no other is read.
for my $url ('http://127.0.0.1/${env:RFLOW_TEST_NONE}', 'http://127.0.0.1/${env:HOME}')
{
	$node->safe_psql('postgres', "UPDATE rflow.networks SET rpc_urls = ARRAY['$url']");
	my $reason =
		$url =~ /NONE/
	  ? 'environment variable RFLOW_TEST_NONE is not set'
	  : 'a reference in a URL must be \${env:RFLOW_NAME}';
	poll_until($node,
		"SELECT last_error ~ 'RPC URL 1 of network \"local\": $reason' FROM rflow.workers WHERE kind = 'watcher'");
}

$node->stop;
unlike(slurp_file($node->logfile), qr/token-of-the-environment/, 'no token in the log');
done_testing();
