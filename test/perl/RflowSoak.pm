=pod

=head1 NAME

RflowSoak - many sends through nodes that misbehave and processes that die

=head1 SYNOPSIS

  my $soak = RflowSoak->start(sends => 2000, seed => 42);
  $soak->run;         # until all is submitted and most of it has ended
  $soak->calm;        # no faults any more: how soon is the rest over?
  $soak->audit;
  $soak->save($file);

=head1 DESCRIPTION

Four accounts pay through two endpoints, both before one chain and both faulty.  Sends come in batches from
rflow.submit_transaction, each in one transaction with a row of the user's own, repeated with the same keys until it is known
to be committed; and from a workflow that answers each deposit by two sends, the second one after the first is mined.

The plan (RflowSoak::Plan) is drawn from the seed.  RflowSoak::Audit compares the chain with the tables.

=cut

package RflowSoak;

use strict;
use warnings;

use JSON::PP;
use List::Util qw(first shuffle);
use POSIX qw(:sys_wait_h);
use RflowSoak::Audit;
use RflowSoak::Plan;
use RflowTest;
use Time::HiRes qw(time);

our $SINK  = '0x00000000000000000000000000000000005111c4';
our $POOL  = '0x0000000000000000000000000000000000b001ed';
our @SINKS = map { "0x00000000000000000000000000000000005111d$_" } 1, 2;
our $CONFIRMATIONS = 3;    # deeper than what is reorganised

my $DEPOSITOR       = 4;      # of @ACCOUNTS; the others are the relayers'
my $TURN_SECONDS    = 0.1;
my $MOST_ENDED      = 0.9;    # of all sends, when faults end
my $PACE            = 10;     # sends submitted a second, over
my $PACE_AT_LEAST   = 25;     # seconds, as long as which faults go on
my $FAULTS_AT_MOST  = 1200;
my $PSQL_SECONDS    = 30;
my $AGAIN_SECONDS   = 5;      # until a deposit that is not on the chain is made again
# More than any account has, so that a transfer of it reverts.
my $TOO_MUCH = '1' . '0' x 40;

my $CONF = <<'CONF';
restart_after_crash = on
synchronous_commit = off
rflow.executors = 1
CONF

=pod

=head1 METHODS

=over

=item start(sends => N, seed => N)

=cut

sub start
{
	my ($class, %options) = @_;
	my $self = bless {
		%options,
		plan      => RflowSoak::Plan::draw($options{sends}, $options{seed}),
		chain     => start_anvil('--block-time', '1'),
		submitted => [],
		deposited => [],
		events    => [],
		began     => time,
	}, $class;

	$self->{node} = new_node('soak', conf => $CONF);
	$self->{endpoints} = [ map { start_faulty_node($self->{chain}) } 1, 2 ];
	$self->prepare_chain;
	$self->prepare_database;
	return $self;
}

sub prepare_chain
{
	my ($self) = @_;
	my $chain = $self->{chain};

	$self->{token} = $chain->deploy_token;
	$self->{inbox} = $chain->deploy_token;
	my @hashes = map { $chain->transfer($self->{token}, $ACCOUNTS[$_], '1' . '0' x 24) } 1 .. $RflowSoak::Plan::RELAYERS - 1;
	push @hashes, $chain->transfer($self->{inbox}, $ACCOUNTS[$DEPOSITOR], '1' . '0' x 24);
	$chain->wait_receipt($_) for @hashes;
}

sub prepare_database
{
	my ($self) = @_;
	my $chain_id = hex_number($self->{chain}->rpc('eth_chainId'));
	my $urls     = join ',', map { $_->url } @{ $self->{endpoints} };
	my $relayers = join ",\n", map { "('hot_$_', 'local', 'env:RFLOW_TEST_KEY_$_')" } 0 .. $RflowSoak::Plan::RELAYERS - 1;

	$self->{node}->safe_psql('postgres', <<"SQL");
CREATE TABLE payments (key text PRIMARY KEY, relayer text NOT NULL);
INSERT INTO rflow.networks (name, chain_id, rpc_urls, confirmations, poll_max, rpc_timeout)
VALUES ('local', $chain_id, '{$urls}', $CONFIRMATIONS, '200 ms', '2 s');
INSERT INTO rflow.contracts (name, network, address, abi) VALUES
  ('inbox', 'local', '$self->{inbox}', rflow.abi('event Transfer(address indexed from, address indexed to, uint256 value)')),
  ('token', 'local', '$self->{token}', rflow.abi('function transfer(address to, uint256 value) returns (bool)'));
INSERT INTO rflow.relayers (name, network, signer) VALUES $relayers;
SQL
	poll_until($self->{node}, 'SELECT count(*) FROM rflow_private.relayer_states WHERE address IS NOT NULL', 4);
	$self->{node}->safe_psql('postgres', <<"SQL");
INSERT INTO rflow.workflows (name, trigger, filter, steps) VALUES ('forward',
  rflow.on_event('inbox', 'Transfer'), \$\$ event.to = '$POOL' \$\$, rflow.steps(
    rflow.send_transaction('one', relayer => 'hot_2', contract => 'token', function => 'transfer',
      args => \$\$ '$SINKS[0]', event.value \$\$, wait_for => 'mined'),
    rflow.send_transaction('two', relayer => 'hot_3', contract => 'token', function => 'transfer',
      args => \$\$ '$SINKS[1]', event.value \$\$, wait_for => 'confirmed')));
SQL
	poll_until($self->{node}, 'SELECT count(*) FROM rflow_private.cursors', 1);
	# With the weak commit of this server the definitions themselves could be lost.
	$self->{node}->safe_psql('postgres', 'CHECKPOINT');
}

=pod

=item note(what, ...)

Keeps what happened, and when, for the results.

=cut

sub note
{
	my ($self, @what) = @_;
	push @{ $self->{events} }, [ 0 + sprintf('%.3f', time - $self->{began}), @what ];
}

=pod

=item sql(statement)

Its output; undef when the server was not there.

=cut

sub sql
{
	my ($self, $statement) = @_;
	my ($out, $err);
	my $code = eval {
		$self->{node}->psql('postgres', $statement, stdout => \$out, stderr => \$err, timeout => $PSQL_SECONDS);
	};

	return defined $code && $code == 0 ? $out : undef;
}

# ---- what is sent ----------------------------------------------------------

sub submit_payment
{
	my ($self, $payment) = @_;
	my ($kind, $key, $relayer, $amount) = @$payment{qw(kind key relayer amount)};
	my $call = "recipient => '$SINK', value => $amount, data => '0x', ";

	$call = "'token', 'transfer', '[\"$SINK\", \"$amount\"]', " if $kind eq 'token';
	$call = "'token', 'transfer', '[\"$SINK\", \"$TOO_MUCH\"]', gas_limit => 100000, value => 0, " if $kind eq 'reverts';
	return "SELECT rflow.submit_transaction('$relayer', ${call}idempotency_key => '$key');";
}

sub submission
{
	my ($self, $batch) = @_;
	my $rows = join ', ', map { "('$_->{key}', '$_->{relayer}')" } @$batch;

	return join "\n", 'BEGIN; SET LOCAL synchronous_commit = on;',
	  "INSERT INTO payments VALUES $rows ON CONFLICT DO NOTHING;",
	  map({ $self->submit_payment($_) } @$batch), 'COMMIT;';
}

# The same batch again and again, until its commit is known.
sub submit_batch
{
	my ($self) = @_;
	my $batches = $self->{plan}{batches};

	return if @$batches == 0;
	return unless defined $self->sql($self->submission($batches->[0]));
	push @{ $self->{submitted} }, @{ shift @$batches };
}

# Not waited for: the server is going to end meanwhile, before or after the commit.
sub submit_unheard
{
	my ($self) = @_;
	my $batch = $self->{plan}{batches}[0] or return;
	my $pid = fork() // die "could not fork: $!";

	if ($pid == 0)
	{
		open STDOUT, '>', '/dev/null';
		open STDERR, '>', '/dev/null';
		exec 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $self->{node}->connstr('postgres'), '-c',
		  $self->submission($batch)
		  or POSIX::_exit(127);
	}
	return $pid;
}

sub deposit
{
	my ($self) = @_;
	my $deposit = $self->{plan}{deposits}[0] or return;

	eval {
		$self->{chain}->transfer($self->{inbox}, $POOL, $deposit->{amount}, $ACCOUNTS[$DEPOSITOR]);
		push @{ $self->{deposited} }, shift @{ $self->{plan}{deposits} };
	};
}

=pod

=item deposits_on_chain

The amounts of the deposits that are on the chain, by transaction.

=cut

sub deposits_on_chain
{
	my ($self) = @_;
	my $logs = $self->{chain}->rpc('eth_getLogs', { fromBlock => '0x0', toBlock => 'latest', address => $self->{inbox} });
	my $pool = lc substr $POOL, 2;

	return { map { $_->{transactionHash} => hex_number($_->{data}) } grep { substr($_->{topics}[2], 26) eq $pool } @$logs };
}

# A reorganisation can leave the depositor's own transactions behind: what is not on the chain is deposited again.
sub deposit_again
{
	my ($self) = @_;
	my $deadline = time + $AGAIN_SECONDS;
	my @missing;

	do
	{
		select undef, undef, undef, 1;
		my %there = map { $_ => 1 } values %{ $self->deposits_on_chain };
		@missing = grep { !$there{ $_->{amount} } } @{ $self->{deposited} };
	} while (@missing > 0 && time < $deadline);
	return unless @missing;
	$self->note('deposited again', map { $_->{amount} } @missing);
	$self->{chain}->rpc('anvil_removePoolTransactions', $ACCOUNTS[$DEPOSITOR]);
	my @hashes = map { $self->{chain}->transfer($self->{inbox}, $POOL, $_->{amount}, $ACCOUNTS[$DEPOSITOR]) } @missing;
	$self->{chain}->wait_receipt($_) for @hashes;
}

# The one that was submitted first and has not been asked to be cancelled.
sub cancel
{
	my ($self) = @_;
	my $payment = first { $_->{kind} eq 'cancelled' && !$_->{asked} } @{ $self->{submitted} };

	return unless $payment;
	my $answer = $self->sql("SELECT rflow.cancel_transaction(id) FROM rflow.transactions WHERE idempotency_key = '$payment->{key}'");
	$payment->{asked} = $answer if defined $answer;
}

# ---- what goes wrong -------------------------------------------------------

sub next_turn
{
	my ($self) = @_;
	my $turn = shift @{ $self->{plan}{turns} };
	my @struck = $turn->{endpoint} == 2 ? (0, 1) : $turn->{endpoint};

	$self->{turn_ends} = time + $turn->{seconds};
	for my $index (0, 1)
	{
		my $struck = grep { $_ == $index } @struck;

		$self->{endpoints}[$index]->fault($struck ? @{ $turn->{faults} } : ());
		$self->{endpoints}[$index]->state(lag => $struck ? $turn->{lag} : 0);
	}
	$self->note('faults', \@struck, map({ "$_->{name} x $_->{times}" } @{ $turn->{faults} }), $turn->{lag} ? "lag $turn->{lag}" : ());
	return if $turn->{event} eq 'nothing';
	my $method = $turn->{event} =~ s/ /_/gr;
	$self->note($turn->{event}, eval { $self->$method } // "could not: $@");
}

# Some of the relayers' transactions fall out of the pool.
sub evict
{
	my ($self) = @_;
	my $pool = $self->{chain}->rpc('txpool_content');
	my %hot = map { lc $_ => 1 } @ACCOUNTS[ 0 .. $RflowSoak::Plan::RELAYERS - 1 ];
	my @hashes =
	  map { $_->{hash} } map { values %$_ } map { my $part = $_; map { $part->{$_} } grep { $hot{ lc $_ } } keys %$part } values %$pool;

	@hashes = (shuffle sort @hashes)[ 0 .. int rand @hashes ] if @hashes;
	$self->{chain}->rpc('anvil_dropTransaction', $_) for @hashes;
	return scalar @hashes;
}

# One or two blocks are replaced; deposits come back, what the relayers had in them does not.
sub reorganise
{
	my ($self) = @_;
	my $chain = $self->{chain};
	my $depth = 1 + int rand 2;

	$chain->rpc('evm_setIntervalMining', 0);
	my $head  = $chain->block_number;
	my @blocks = $chain->rpc_batch(
		map { [ 'eth_getBlockByNumber', to_hex($_), JSON::PP::true ] } $head - $depth + 1 .. $head);
	my @back;
	for my $index (0 .. $#blocks)
	{
		push @back, map { [ $chain->rpc('eth_getRawTransactionByHash', $_->{hash}), $index ] }
		  grep { lc $_->{from} eq lc $ACCOUNTS[$DEPOSITOR] } @{ $blocks[$index]{transactions} };
	}
	my $done = eval { $chain->reorg($depth, \@back); 1 };
	$chain->rpc('evm_setIntervalMining', 1);
	die $@ unless $done;
	return "$depth blocks, " . scalar(@back) . ' deposits back';
}

sub raise_the_base_fee
{
	my ($self) = @_;
	my $block = $self->{chain}->rpc('eth_getBlockByNumber', 'latest', JSON::PP::false);
	my $fee = Math::BigInt->new(hex_number($block->{baseFeePerGas}))->bmul(2)->badd(1_000_000_000);

	$self->{chain}->rpc('anvil_setNextBlockBaseFeePerGas', $fee->as_hex);
	return "$fee";
}

sub stop_for_a_moment
{
	my ($self) = @_;

	$self->{chain}->pause;
	select undef, undef, undef, 1;
	$self->{chain}->resume;
	return '1 s';
}

# ---- who dies --------------------------------------------------------------

sub pid_of
{
	my ($self, $kind) = @_;
	my $pid = $self->sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'rflow $kind' ORDER BY pid LIMIT 1");
	return defined $pid && $pid ne '' ? $pid : undef;
}

# A child does it, so that it happens somewhere in what is done next.
sub signal_soon
{
	my ($self, $kind, $signal) = @_;
	my $pid = $self->pid_of($kind) // return 'was not there';
	my $child = fork() // die "could not fork: $!";

	if ($child == 0)
	{
		select undef, undef, undef, rand 0.3;
		kill $signal, $pid;
		POSIX::_exit(0);
	}
	push @{ $self->{children} }, $child;
	return $pid;
}

sub stop_server
{
	my ($self) = @_;
	my $child = $self->submit_unheard;

	select undef, undef, undef, rand 0.1;
	$self->{node}->stop('immediate');
	waitpid $child, 0 if defined $child;
	select undef, undef, undef, rand 1;
	$self->{node}->start;
	return defined $child ? 'in a submission' : 'without one';
}

sub restart_endpoint
{
	my ($self) = @_;
	my $endpoint = $self->{endpoints}[ int rand 2 ];

	$endpoint->stop;
	select undef, undef, undef, rand 1;
	$endpoint->start_again;
	return $endpoint->port;
}

sub next_death
{
	my ($self) = @_;
	my $who = (shift @{ $self->{plan}{deaths} })->{who};
	my ($kind, $how) = split / /, $who;
	my $said =
	    $who eq 'server stopped'     ? $self->stop_server
	  : $who eq 'endpoint restarted' ? $self->restart_endpoint
	  :                                $self->signal_soon($kind, $how eq 'killed' ? 'KILL' : 'TERM');

	$self->note($who, $said);
	$self->{deaths}{$who}++ unless $said eq 'was not there';
	$self->{dies_at} = time + $self->{plan}{deaths}[0]{after};
}

# ---- the soak --------------------------------------------------------------

=pod

=item ended

How many sends have ended; undef when the server was not there.

=cut

sub ended
{
	my ($self) = @_;
	return $self->sql("SELECT count(*) FROM rflow_private.relayer_transactions "
		  . "WHERE state IN ('confirmed', 'failed', 'expired', 'cancelled', 'replaced')");
}

# The part of the sends whose time has come.
sub pace
{
	my ($self) = @_;
	my $seconds = $self->{sends} / $PACE;

	return (time - $self->{began}) / ($seconds > $PACE_AT_LEAST ? $seconds : $PACE_AT_LEAST);
}

sub is_enough
{
	my ($self) = @_;

	return 1 if time - $self->{began} > $FAULTS_AT_MOST;
	return 0 if $self->pace < 1 || @{ $self->{plan}{batches} } > 0 || @{ $self->{plan}{deposits} } > 0;
	return ($self->ended // 0) >= $MOST_ENDED * $self->{sends};
}

=pod

=item run

Submits all, among faults and deaths, until most of it has ended.

=cut

sub run
{
	my ($self) = @_;

	my %count = (
		batches  => scalar(map { @$_ } @{ $self->{plan}{batches} }),
		deposits => scalar @{ $self->{plan}{deposits} });

	$self->{began} = time;
	$self->{turn_ends} = time;
	$self->{dies_at} = time + $self->{plan}{deaths}[0]{after};
	until ($self->is_enough)
	{
		my $pace = $self->pace;
		$self->submit_batch if @{ $self->{submitted} } < $pace * $count{batches};
		$self->deposit      if @{ $self->{deposited} } < $pace * $count{deposits};
		$self->cancel       if rand() < 0.2;
		$self->next_turn    if time >= $self->{turn_ends};
		$self->next_death   if time >= $self->{dies_at};
		$self->{children} = [ grep { waitpid($_, WNOHANG) == 0 } @{ $self->{children} // [] } ];
		select undef, undef, undef, $TURN_SECONDS;
	}
	waitpid $_, 0 for @{ delete $self->{children} // [] };
}

=pod

=item calm

Ends the faults, and waits until all is over: {calm_seconds}.

=cut

sub calm
{
	my ($self, $limit) = @_;
	my $over = "SELECT NOT EXISTS (SELECT FROM rflow_private.relayer_transactions"
	  . " WHERE state NOT IN ('confirmed', 'failed', 'expired', 'cancelled', 'replaced'))"
	  . " AND NOT EXISTS (SELECT FROM rflow_private.nonces WHERE NOT settled)"
	  . " AND NOT EXISTS (SELECT FROM rflow_private.due)"
	  . " AND (SELECT count(*) FROM rflow_private.workflow_runs WHERE state = 'succeeded') = "
	  . scalar @{ $self->{deposited} };

	$self->deposit_again;
	$self->{ended_in_faults} = $self->ended;
	for my $endpoint (@{ $self->{endpoints} })
	{
		$endpoint->heal;
		$endpoint->state(lag => 0);
	}
	$self->note('calm');
	$self->{calm_at} = time;
	$self->{fault_seconds} = $self->{calm_at} - $self->{began};
	my $ok = poll_until($self->{node}, $over, 't', $limit);
	$self->{calm_seconds} = time - $self->{calm_at};
	return $ok;
}

=pod

=item audit

Compares the chain with the tables (RflowSoak::Audit).

=item save(file)

All that happened, as JSON: the plan's seed, each event, each send with its times.

=back

=cut

sub audit { return RflowSoak::Audit->new($_[0])->all }

sub save
{
	my ($self, $file) = @_;
	my $json = JSON::PP->new->canonical;
	my $sends = $self->{node}->safe_psql('postgres', <<'SQL');
SELECT coalesce(json_agg(json_build_array(idempotency_key, relayer, state, nonce,
         (SELECT count(*) FROM rflow_private.relayer_attempts a WHERE a.transaction_id = t.id),
         round(extract(epoch FROM created_at), 3), round(extract(epoch FROM signed_at - created_at), 3),
         round(extract(epoch FROM broadcast_at - created_at), 3), round(extract(epoch FROM mined_at - created_at), 3),
         round(extract(epoch FROM state_since - created_at), 3)) ORDER BY id), '[]')
  FROM rflow_private.relayer_transactions t
SQL
	open my $out, '>', $file or die "$file: $!";
	print $out join(",\n",
		'{"seed": ' . $self->{seed} . ', "sends": ' . $self->{sends},
		'"summary": ' . $json->encode($self->{summary}),
		'"columns": ["key", "relayer", "state", "nonce", "attempts", "queued_at", "signed", "broadcast", "mined", "ended"]',
		'"transactions": [' . join(",\n", map { $json->encode($_) } @{ $json->decode($sends) }) . ']',
		'"events": [' . join(",\n", map { $json->encode($_) } @{ $self->{events} }) . ']}'), "\n";
	close $out or die "$file: $!";
}

1;
