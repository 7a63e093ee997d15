
# Whatever an endpoint answers, the watcher lives, says what is wrong, and goes on when it is right again.
use strict;
use warnings;

use RflowTest;
use Test::More;

my $chain  = start_anvil();
my $faulty = start_faulty_node($chain);
my $node   = new_node('main');

add_network($node, $faulty);
$node->safe_psql('postgres',
	"UPDATE rflow.networks SET rpc_timeout = '500 ms', poll_max = '50 ms'");

sub follows
{
	$chain->mine;
	poll_until($node, 'SELECT max(number) FROM rflow_private.blocks', $chain->block_number);
}

follows();
my $pid = $node->safe_psql('postgres', "SELECT pid FROM rflow.workers WHERE kind = 'watcher'");

# Each fault, and what is said about it.
my @faults = (
	[ { kind => 'close' }, 'the connection was closed before the answer was complete' ],
	[ { kind => 'reset' }, 'Connection reset by peer' ],
	[ { kind => 'lose' }, 'the connection was closed before the answer was complete' ],
	[ { kind => 'hang' }, 'no answer within 500 ms' ],
	[ { kind => 'drip', bytes => 1, ms => 50 }, 'no answer within 500 ms' ],
	[ { kind => 'truncate', bytes => 10 }, 'the connection was closed before the answer was complete' ],
	[ { kind => 'respond', status => 200, body => '' }, 'the answer is empty' ],
	[ { kind => 'respond', status => 200, body => '<html></html>' }, 'the answer is a web page, not JSON' ],
	[ { kind => 'respond', status => 200, body => '[{"jsonrpc":' }, 'JSON does not parse: ' ],
	[ { kind => 'respond', status => 200, body => '[' x 1000 }, 'JSON is nested deeper than 128 levels' ],
	[ { kind => 'respond', status => 200, body => '{}' }, q(the node's answer has none of the ids that were sent) ],
	[ { kind => 'respond', status => 502, body => '<html>' }, 'HTTP status 502' ],
	[ { kind => 'respond', status => 301, headers => { location => $chain->url } }, 'HTTP status 301' ],
	[ { kind => 'respond', status => 401, body => '{"message":"who are you\u0007?"}' }, 'HTTP status 401: who are you??' ],
	[ { kind => 'rate_limit' }, 'HTTP status 429: rate limited' ],
	[ { kind => 'huge', bytes => 200_000_000 }, 'the answer is larger than 134217728 bytes' ],
	[ { kind => 'huge', bytes => 200_000_000, gzip => JSON::PP::true }, 'the answer is larger than 134217728 bytes' ],
	[ { kind => 'wrong_id' }, q(the node's answer has none of the ids that were sent) ],
);

for (@faults)
{
	my ($fault, $message) = @$_;
	my $quoted = $faulty->url . ": $message";

	# So much takes longer than the others' timeout.
	$node->safe_psql('postgres',
		"UPDATE rflow.networks SET rpc_timeout = '" . ($fault->{kind} eq 'huge' ? '30 s' : '500 ms') . "'");
	$faulty->fault($fault);
	$quoted =~ s/'/''/g;
	poll_until($node,
		"SELECT starts_with(last_error, '$quoted') FROM rflow.workers WHERE kind = 'watcher'");
	$faulty->heal;
	follows();
}

# What is only unusual does no harm.
for my $fault ({ kind => 'shuffle' }, { kind => 'duplicate' }, { kind => 'string_ids' },
	{ kind => 'last' }, { kind => 'last', announced => JSON::PP::true })
{
	$faulty->fault($fault);
	follows();
}
$faulty->fault;
$faulty->state(gzip => JSON::PP::true);
follows();

is($node->safe_psql('postgres', "SELECT pid FROM rflow.workers WHERE kind = 'watcher'"),
	$pid, 'the watcher is the same process');
$node->stop;
done_testing();
