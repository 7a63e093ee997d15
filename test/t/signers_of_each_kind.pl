# Relayers sign with keys from variables, files, keystores and mnemonics; one that cannot be opened says why and no
# secret, and is used as soon as it can be; what a derivation costs is paid once.
use strict;
use warnings;

use JSON::PP;
use PostgreSQL::Test::Utils;
use RflowAnvil;
use RflowRelay;
use RflowTest;
use Test::More;

# The files of the tests know these; nobody else's log may.
my @SECRETS = qw(foo-password s3same junk);
my $WORDS   = 'test test test test test test test test test test test junk';
my $MINUTE  = 60;

sub vector
{
	my ($file, $id) = @_;
	my @rows = grep { index($_, qq("id":"$id")) >= 0 } split /\n/, `gzip -dc test/data/$file.jsonl.gz`;
	return decode_json($rows[0]);
}

$ENV{RFLOW_TEST_WORDS}    = "  $WORDS\n";
$ENV{RFLOW_TEST_PASSWORD} = vector('keystore', 'e5/parity')->{password};
$ENV{RFLOW_TEST_BAD}      = 's3same wrong words';

my $chain = start_anvil('--block-time', '1');
my $node  = new_node('main');
my $keys  = $node->basedir . '/keys';
mkdir $keys or die $!;
chmod 0700, $keys;
$node->append_conf('postgresql.conf', "rflow.key_directory = '$keys'\n");
$node->reload;
add_network($node, $chain);

sub write_file
{
	my ($name, $text, $mode) = @_;
	open my $file, '>', "$keys/$name" or die $!;
	print $file $text;
	close $file;
	chmod $mode // 0600, "$keys/$name";
}

sub problem_like
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($relayer, $pattern) = @_;
	return poll_until($node, "SELECT problem ~ '$pattern' FROM rflow.relayer_status WHERE relayer = '$relayer'");
}

# The account of each kind pays, and the chain says who paid.
sub pays
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($relayer, $payment, $address, $timeout) = @_;
	$chain->rpc('anvil_setBalance', $address, '0xde0b6b3a7640000');
	submit($node, $relayer, $payment);
	poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment $payment'", 'confirmed', $timeout);
	my @found = grep { $_->[2] == $payment && $_->[3] } executed($chain, $address);
	return is(scalar @found, 1, "$relayer paid from $address");
}

# Costly scrypt with the password beside it, pbkdf2 with the password in a variable, and a cheap one with it elsewhere.
my $costly = vector('keystore', 'e5/secretstorage_password');
my $pbkdf2 = vector('keystore', 'e5/parity');
my $cheap  = vector('keystore', 'e5/life');
write_file('costly.json',          $costly->{keystore});
write_file('costly.json.password', "$costly->{password}\n");
write_file('pbkdf2',               $pbkdf2->{keystore});
write_file('cheap.json',           $cheap->{keystore});
write_file('elsewhere',            $cheap->{password});
write_file('words',                "$WORDS\n");
write_file('hot.key',              "$KEYS[1]\n");

add_relayer($node, 'variable', 'env:RFLOW_TEST_KEY');
add_relayer($node, 'file',     'file:hot.key');
add_relayer($node, 'costly',   'keystore:costly.json');
add_relayer($node, 'pbkdf2',   'keystore:pbkdf2#env:RFLOW_TEST_PASSWORD');
add_relayer($node, 'cheap',    'keystore:cheap.json#file:elsewhere');
add_relayer($node, 'words',    q(mnemonic:words#m/44''/60''/0''/0/2));
add_relayer($node, 'first',    'mnemonic:words');
add_relayer($node, 'spoken',   q(mnemonic:RFLOW_TEST_WORDS#m/44h/60h/0h/0/3));

pays('variable', 1, $ACCOUNTS[0]);
pays('file',     2, $ACCOUNTS[1]);
pays('costly',   3, $costly->{address}, 2 * $MINUTE);
pays('pbkdf2',   4, $pbkdf2->{address});
pays('cheap',    5, $cheap->{address});
pays('words',    6, $ACCOUNTS[2]);
pays('spoken',   7, $ACCOUNTS[3]);
is($node->safe_psql('postgres', "SELECT address FROM rflow.relayer_status WHERE relayer = 'first'"),
	$ACCOUNTS[0], 'a mnemonic without a path is its first account');

# Seconds of scrypt are not spent again for each round.
sub cpu_seconds
{
	my $pid   = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'rflow relayer'");
	my @times = split ' ', slurp_file("/proc/$pid/stat") =~ s/.*\) //r;
	return ($times[11] + $times[12]) / 100;
}
my $before = cpu_seconds();
pays('costly', $_, $costly->{address}) for 11 .. 13;
cmp_ok(cpu_seconds() - $before, '<', 0.6, 'a keystore is opened once');

# What cannot be opened says why.
write_file('wrong.json',             $cheap->{keystore});
write_file('wrong.json.password',    "foo-password\n");
write_file('shared.json',            $cheap->{keystore}, 0644);
write_file('shared.json.password',   $cheap->{password});
write_file('told.json',              $cheap->{keystore});
write_file('told.json.password',     $cheap->{password}, 0640);
write_file('silent.json',            $cheap->{keystore});
write_file('broken.json',            '{"s3same": ');
write_file('broken.json.password',   'foo-password');
write_file('bomb.json',              $cheap->{keystore} =~ s/"n":1024/"n":1073741824/r);
write_file('bomb.json.password',     'foo-password');
write_file('typo',                   "$WORDS junk\n");
write_file('long',                   'test ' x 200);
add_relayer($node, $_, "keystore:$_.json") for qw(wrong shared told silent absent broken bomb);
add_relayer($node, $_, "mnemonic:$_") for qw(typo long lost);
add_relayer($node, 'unset', 'mnemonic:RFLOW_TEST_NO_WORDS');
add_relayer($node, 'bad',   'mnemonic:RFLOW_TEST_BAD');
add_relayer($node, 'mute',  'keystore:cheap.json#env:RFLOW_TEST_NO_PASSWORD');
problem_like('wrong',  '^keystore wrong.json: wrong password$');
problem_like('shared', '^key file shared.json has mode 0644: it must be 0600$');
problem_like('told',   '^password file told.json.password has mode 0640: it must be 0600$');
problem_like('silent', '^password file silent.json.password cannot be opened: No such file or directory$');
problem_like('absent', '^key file absent.json cannot be opened: No such file or directory$');
problem_like('broken', '^keystore broken.json: JSON does not parse: ');
problem_like('bomb',   '^keystore bomb.json: scrypt with n 1073741824 and r 4 needs more memory than the limit$');
problem_like('typo',   '^mnemonic typo: ');
problem_like('long',   '^mnemonic file long is longer than 512 bytes$');
problem_like('lost',   '^mnemonic file lost cannot be opened: No such file or directory$');
problem_like('unset',  '^the environment of the server has no RFLOW_TEST_NO_WORDS$');
problem_like('bad',    '^mnemonic RFLOW_TEST_BAD: ');
problem_like('mute',   '^the environment of the server has no RFLOW_TEST_NO_PASSWORD$');

# And what can be opened again is used, without a restart; what has become another key is not.
submit($node, 'wrong', 21);
write_file('wrong.json.password', $cheap->{password});
poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment 21'", 'confirmed');
write_file('pbkdf2', $cheap->{keystore});
submit($node, 'pbkdf2', 22);
problem_like('pbkdf2', '^keystore pbkdf2: wrong password$');
write_file('pbkdf2', $pbkdf2->{keystore});
poll_until($node, "SELECT state FROM rflow.transactions WHERE idempotency_key = 'payment 22'", 'confirmed');

# References are checked where they are written, and one that is a key is not repeated.
my $PASTED = '5' x 64;
for my $signer ('keystore:', 'keystore:../hot', 'keystore:a#b', 'keystore:a#env:HOME', 'mnemonic:a#44', 'mnemonic:.a',
	'vault:a', "0x$PASTED", "env:$PASTED")
{
	my ($code, $out, $err) = $node->psql('postgres', "INSERT INTO rflow.relayers (name, network, signer) VALUES ('x', 'local', '$signer')");
	like($err, qr/ERROR:  relayer "x": signer is none of /, "$signer is no signer");
	unlike($err, qr/$PASTED/, "the error does not show $signer");
}

my $log   = slurp_file($node->logfile);
my $shown = $node->safe_psql('postgres',
	'SELECT s::text FROM rflow.relayer_status s; SELECT a::text FROM pg_stat_activity a; SELECT w::text FROM rflow.workers w');
unlike($log . $shown, qr/\Q$_\E/, 'a secret is neither logged nor shown')
  for @SECRETS, substr($costly->{key}, 2), substr($cheap->{key}, 2), substr($KEYS[2], 2);

done_testing();
