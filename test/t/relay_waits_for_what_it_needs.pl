# A relayer that cannot sign says why, and goes on by itself when it can: a key that is missing, readable by others, a link, or
# one that everybody knows; an account without funds, in use elsewhere, or with transactions of somebody else.
use strict;
use warnings;

use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main');
my $keys  = $node->basedir . '/keys';
mkdir $keys or die $!;
chmod 0700, $keys;
$node->append_conf('postgresql.conf', "rflow.key_directory = '$keys'\n");
$node->reload;
add_network($node, $chain);

sub write_key
{
	my ($name, $key, $mode) = @_;
	open my $file, '>', "$keys/$name" or die $!;
	print $file "$key\n";
	close $file;
	chmod $mode, "$keys/$name";
}

sub problem_like
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($relayer, $pattern) = @_;
	return poll_until($node, "SELECT problem ~ '$pattern' FROM rflow.relayer_status WHERE relayer = '$relayer'");
}

# Keys.
write_key('open', $RflowAnvil::KEYS[1], 0644);
write_key('junk', '0x1234', 0600);
symlink "$keys/open", "$keys/link";
add_relayer($node, 'unset', 'env:RFLOW_NO_SUCH_KEY');
add_relayer($node, $_, "file:$_") for qw(missing open link junk);
problem_like('unset', '^the environment of the server has no RFLOW_NO_SUCH_KEY$');
problem_like('missing', '^key file missing cannot be opened: No such file or directory$');
problem_like('open', '^key file open has mode 0644: it must be 0600$');
problem_like('link', '^key file link cannot be opened: it is a symbolic link$');
problem_like('junk', '^key file junk: ');
submit($node, 'open', 1);
chmod 0600, "$keys/open";
all_settled($node);
executed_once($chain, $node, 1);
is($node->safe_psql('postgres', "SELECT problem IS NULL AND address IS NOT NULL FROM rflow.relayer_status WHERE relayer = 'open'"),
	't', 'the problem is over');

my $log = PostgreSQL::Test::Utils::slurp_file($node->logfile);
unlike($log, qr/0x1234\b|\Q$RflowAnvil::KEYS[1]\E/i, 'no key is in the log');

# A development key on another chain.
my $other = start_anvil('--chain-id', '5');
add_network($node, $other, 'other');
add_relayer($node, 'known', 'env:RFLOW_TEST_KEY_2', 'other');
problem_like('known', '^the key is one that everybody knows');

# Funds; the address to fund shows before the first send.
add_relayer($node, 'poor', 'env:RFLOW_TEST_KEY_3');
poll_until($node, "SELECT address FROM rflow.relayer_status WHERE relayer = 'poor' AND balance > 0", $RflowAnvil::ACCOUNTS[3]);
$chain->rpc('anvil_setBalance', $RflowAnvil::ACCOUNTS[3], '0x1');
$node->safe_psql('postgres', submit_sql('poor', 31));
poll_until($node, "SELECT reason ~ '^insufficient funds: the account has 1 wei' FROM rflow.transactions WHERE idempotency_key = 'payment 31'");
problem_like('poor', '^insufficient funds');
is($node->safe_psql('postgres', "SELECT count(*) FROM rflow.attempts WHERE address = '$RflowAnvil::ACCOUNTS[3]'"), 0, 'no nonce is used');
# 2^200 wei: rrelayer#56
$chain->rpc('anvil_setBalance', $RflowAnvil::ACCOUNTS[3], '0x1' . '0' x 50);
poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment 31'", 'confirmed');
poll_until($node, "SELECT balance > 2::numeric ^ 199 FROM rflow.relayer_status WHERE relayer = 'poor'");

# Somebody else uses the account: nothing is signed until an operator says from where to go on (I-1, I-2, I-20).
$chain->wait_receipt($chain->send({ from => $RflowAnvil::ACCOUNTS[3], to => $SINK, value => 1000 })) for 1 .. 2;
$node->safe_psql('postgres', submit_sql('poor', 32));
problem_like('poor', '^something else has used the account: the chain has its nonces below 3, rflow those below 1');
is($node->safe_psql('postgres', "SELECT rflow.adopt_account('poor')"), 3, 'an operator adopts the account');
poll_until($node, "SELECT state, nonce FROM rflow.transactions WHERE idempotency_key = 'payment 32'", 'confirmed|3');
my ($code, $out, $err) = $node->psql('postgres', "SELECT rflow.adopt_account('poor', 3)");
like($err, qr/nonce 3 of the account is rflow's already/, 'what rflow has assigned cannot be adopted');

done_testing();
