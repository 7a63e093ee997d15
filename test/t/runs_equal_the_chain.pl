# Property: whatever is mined, replaced, lost and found again, and whoever is killed meanwhile, at the end the runs are the events
# of the chain, for every finality, and no event was paid twice. A trigger that waits below all reorganisations never sees one
# (rindexer#418); rindexer#10, X6, I-52.
#
# RFLOW_REORG_SEEDS=50 takes that many seeds, 24-50 these ones.
use strict;
use warnings;

use RflowAudit;
use RflowTest;
use Test::More;

my $SHORT      = 2;     # seeds, unless told
my $ROUNDS     = 22;
my $MAX_DEPTH  = 6;
my $FIRST      = 5;     # the account of the first deposit: those below are the relayer's and the contracts'
my $ACCOUNTS   = 60;

# Fifty seeds may share a machine with others.
$RflowAnvil::TIMEOUT = $RflowTest::TIMEOUT = 180;

# Ceilings that reorganisations reach, and below them.
my %CEILING = (
	head      => [ '', 1 ],
	near      => [ ', confirmations => 2', 1 ],
	safe      => [ q(, finality => 'safe'), 1 ],
	deep      => [ ', confirmations => 8', 0 ],
	finalized => [ q(, finality => 'finalized'), 0 ],
);

my ($first, $last) = ($ENV{RFLOW_REORG_SEEDS} // $SHORT) =~ /^(?:(\d+)-)?(\d+)$/;
my @seeds = ($first // 1 .. $last);

my ($chain, $node, $job, @accounts, @deposits, @lost);

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

sub start
{
	my ($seed) = @_;

	# safe is 4 below the head, finalized 8.
	$chain = start_anvil('--no-mining', '--slots-in-an-epoch', 4, '--accounts', $ACCOUNTS);
	$node  = new_node("seed$seed");
	$job   = RflowAudit->start(
		node          => $node,
		chain         => $chain,
		confirmations => 3,
		steps         => <<'SQL');
rflow.steps(
    rflow.send_transaction('answer', relayer => 'hot', contract => 'settle', function => 'loose',
      args => $$ rflow.keccak256(log.transaction_hash::text), event.value $$))
SQL
	for my $name (sort keys %CEILING)
	{
		query("INSERT INTO rflow.workflows (name, trigger, filter, steps)
			VALUES ('$name', rflow.on_event('deposits', 'Transfer'$CEILING{$name}[0]), \$\$ event.value >= $RflowAudit::LIMIT \$\$, '[]')");
	}
	$chain->mine(2 * $MAX_DEPTH);
	@accounts = @{ $chain->rpc('eth_accounts') };
	splice @accounts, 0, $FIRST;
	@deposits = @lost = ();
}

# Each deposit is from an account of its own, so that any of them may be lost, late, or first.
sub new_deposit
{
	my $from = shift @accounts or return;

	push @deposits,
	  $chain->rpc(
		'eth_signTransaction',
		{
			from                 => $from,
			to                   => $job->{deposits},
			data                 => $job->deposit_data(value => $RflowAudit::LIMIT + @deposits),
			nonce                => '0x0',
			gas                  => to_hex(200_000),
			maxFeePerGas         => to_hex('50000000000'),
			maxPriorityFeePerGas => to_hex('1000000000'),
			chainId              => $chain->rpc('eth_chainId'),
		});
	submit($deposits[-1]);
}

sub submit
{
	my ($raw) = @_;
	eval { $chain->rpc('eth_sendRawTransaction', $raw) };
}

# The deposits of the last blocks.
sub deposits_of_last
{
	my ($depth) = @_;
	my $head = $chain->block_number;
	my @found;

	for my $number ($head - $depth + 1 .. $head)
	{
		my $block = $chain->rpc('eth_getBlockByNumber', to_hex($number), JSON::PP::true);

		push @found, map { $chain->rpc('eth_getRawTransactionByHash', $_->{hash}) }
		  grep { lc($_->{to} // '') eq lc $job->{deposits} } @{ $block->{transactions} };
	}
	return @found;
}

sub reorg
{
	my $depth = 1 + int rand $MAX_DEPTH;
	my @pairs;

	for my $raw (deposits_of_last($depth))
	{
		if (rand() < 0.65)
		{
			push @pairs, [ $raw, int rand $depth ];
		}
		elsif (rand() < 0.7)
		{
			push @lost, $raw;
		}
	}
	$chain->reorg($depth, [ sort { $a->[1] <=> $b->[1] } @pairs ]);
}

sub seen
{
	my $head = $chain->block_number;
	my $hash = $chain->rpc('eth_getBlockByNumber', to_hex($head), JSON::PP::false)->{hash};

	RflowAnvil::wait_for(
		sub {
			my $found = '';

			eval { $node->psql('postgres', "SELECT count(*) FROM rflow.blocks WHERE number = $head AND hash = '$hash'", stdout => \$found) };
			return $found eq '1';
		},
		"the watcher to see block $head");
}

# Nobody is to die any more. A server that is just starting again may miss the signal.
sub live
{
	$job->crash_point('');
	RflowAnvil::wait_for(sub { my $point = eval { $node->reload; query('SHOW rflow.crash_point') }; defined $point && $point eq '' },
		'the crash point to be gone');
}

sub caught_up
{
	live();
	seen();
	poll_until($node, 'SELECT coalesce(max(lag_blocks), 0) FROM rflow.network_status', 0);
}

my @POINTS = qw(reorg-before-commit reorg-after-commit reattach-before-commit reattach-after-commit
  retract-before-commit retract-after-commit claim-before-commit relay-before-sign-commit relay-after-sign-commit);

# What happens, and how often of a hundred.
my @HAPPENINGS = (
	[ 20, deposit  => sub { new_deposit() for 1 .. 1 + int rand 3 } ],
	[ 20, mine     => sub { $chain->mine(1 + int rand 3) } ],
	[ 20, reorg    => \&reorg ],
	[ 12, catch_up => \&caught_up ],
	[ 10, find     => sub { submit($_) for splice @lost, 0, 2 } ],
	[ 4, die_at    => sub {
		$job->crash_point($POINTS[ rand @POINTS ] . (rand() < 0.5 ? ':abort' : ':exit'));
		eval { $node->reload };
		reorg();
		$chain->mine(1 + int rand 3);
	} ],
	[ 4, kill      => sub { $node->stop('immediate'); reorg() if rand() < 0.7; $node->start } ],
	[ 5, end       => sub { eval { query("SELECT pg_terminate_backend(pid) FROM rflow.workers WHERE kind IN ('watcher', 'relayer', 'executor')") } } ],
	[ 5, live      => \&live ],
);

sub happen
{
	my $dice = rand 100;

	for my $happening (@HAPPENINGS)
	{
		my ($weight, $what, $code) = @$happening;

		return ($code->(), $what)[-1] if ($dice -= $weight) < 0;
	}
}

# Everything that is lost comes back or does not, and nothing is under way any more.
sub settle
{
	live();
	submit($_) for splice @lost, 0, int @lost / 2;
	my $end   = $chain->block_number + 3 * $MAX_DEPTH + 10;
	my $quiet = '';

	my $settled = eval {
		RflowAnvil::wait_for(
			sub {
				$chain->mine;
				seen();
				eval { $quiet = query(<<'SQL') };
SELECT (SELECT count(*) FROM rflow_private.workflow_runs WHERE state NOT IN ('succeeded', 'failed', 'cancelled') OR detached_at IS NOT NULL),
       (SELECT count(*) FROM rflow_private.nonces WHERE NOT settled), (SELECT count(*) FROM rflow_private.due),
       (SELECT max(lag_blocks) FROM rflow.network_status)
SQL
				return $chain->block_number > $end && $quiet eq '0|0|0|0';
			},
			'everything to be settled');
	};
	ok($settled, 'everything is settled') or diag "runs, nonces, due, lag: $quiet\n" . query('TABLE rflow.stuck');
}

# Of each event of the chain: its transaction and block.
sub events
{
	my $logs = $chain->rpc('eth_getLogs', { fromBlock => '0x0', toBlock => 'latest', address => $job->{deposits} });
	return { map { $_->{transactionHash} => $_->{blockHash} } @$logs };
}

# How often each deposit was paid, by the key that the contract was told.
sub payments
{
	my %paid;
	my $head = $chain->block_number;

	for my $number (0 .. $head)
	{
		my $block = $chain->rpc('eth_getBlockByNumber', to_hex($number), JSON::PP::true);

		for my $transaction (grep { lc $_->{from} eq lc $job->{relayer_address} } @{ $block->{transactions} })
		{
			next if lc $transaction->{to} ne lc $job->{settle};
			$paid{ substr $transaction->{input}, 10, 64 }++;
		}
	}
	return \%paid;
}

sub check
{
	my $events = events();
	my $runs   = {};

	for my $name ('answer', sort keys %CEILING)
	{
		is_deeply(
			$job->pairs("SELECT transaction_hash, block_hash FROM rflow_private.workflow_runs WHERE workflow = '$name' AND retracted_at IS NULL"),
			$events, "$name: the runs are the events of the chain");
		is( query("SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = '$name' AND retracted_at IS NULL"),
			scalar keys %$events,
			"$name: each once");
		next if $CEILING{$name} // [ '', 1 ] and ($CEILING{$name} // [ '', 1 ])->[1];
		is(query("SELECT count(*) FROM rflow_private.workflow_runs WHERE workflow = '$name' AND reorg_id IS NOT NULL"),
			0, "$name: it has seen no reorganisation");
	}
	my $paid = payments();

	is_deeply([ grep { $paid->{$_} > 1 } keys %$paid ], [], 'nothing was paid twice');
	is(query("SELECT string_agg(DISTINCT state, ' ') FROM rflow_private.workflow_runs WHERE workflow = 'answer' AND retracted_at IS NULL"),
		keys %$events ? 'succeeded' : '', 'every run that stands has succeeded');
	my %key = map { split /\|/ } split /\n/, query(
		"SELECT transaction_hash, substr(rflow.keccak256(transaction_hash::text)::text, 3) FROM rflow_private.workflow_runs WHERE workflow = 'answer'");

	is_deeply([ grep { !$paid->{ $key{$_} // '' } } sort keys %$events ], [], 'every event was paid');
}

for my $seed (@seeds)
{
	subtest "seed $seed" => sub {
		srand $seed;
		start($seed);
		my @story = map { happen() } 1 .. $ROUNDS;

		settle();
		check();
		note join ' ', @story;
		note query('SELECT count(*), max(depth), sum(detached), sum(reattached), sum(retracted) FROM rflow.reorgs');
		$node->stop('immediate');
		$node->clean_node;
		$chain->kill9;
	};
}

done_testing();
