# The README: its SQL runs, its examples give what it says, everything public is in it, and nothing else.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Utils;
use RflowTest;
use Test::More;

my $DATABASE = 'readme';

my $readme = slurp_file("$FindBin::Bin/../../README.md");
my $node   = new_node('main', armed => 0);

$node->safe_psql('postgres', "CREATE DATABASE $DATABASE");
$node->safe_psql('postgres', 'CREATE ROLE alice');

sub rows
{
	my ($query) = @_;
	return split /\n/, $node->safe_psql($DATABASE, $query);
}

# Blocks of SQL in their order; "sql fails" is followed by comments that have what it says.
sub run_block
{
	my ($kind, $block) = @_;
	my ($first) = $block =~ /^(\S[^\n]{0,60})/m;
	my ($out, $err);

	$block =~ s{http://127\.0\.0\.1:8545}{http://127.0.0.1:1}g;    # no node of anybody's
	my $status = $node->psql($DATABASE, $block, stdout => \$out, stderr => \$err, on_error_die => 0);
	if ($kind eq 'fails')
	{
		isnt($status, 0, "fails: $first");
		like($err, qr/\Q$_\E/, "says $_") for $block =~ /^-- ((?:ERROR|HINT): .*)$/mg;
	}
	else
	{
		is($status, 0, "runs: $first") or diag($err);
	}
}

while ($readme =~ /^```sql ?(\w*)\n(.*?)^```/msg)
{
	run_block($1, $2);
}

# Rows of the table of functions: `example` → `result`
my $examples = 0;
while ($readme =~ /^\|.*\| `([^`]+)` → `([^`]*)` \|$/mg)
{
	my ($example, $wanted) = ($1, $2);
	is($node->safe_psql($DATABASE, "SELECT $example"), $wanted, substr($example, 0, 70));
	$examples++;
}
cmp_ok($examples, '>', 20, 'there are examples');

# ---- names --------------------------------------------------------------------------

# Functions that are not called by name: what types, operators and operator classes are made of.
my @functions = rows(<<'SQL');
SELECT DISTINCT p.proname
FROM pg_proc p
WHERE p.pronamespace = 'rflow'::regnamespace
  AND NOT EXISTS (SELECT FROM pg_operator o WHERE o.oprcode = p.oid)
  AND NOT EXISTS (SELECT FROM pg_type t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend))
  AND NOT EXISTS (SELECT FROM pg_amproc a WHERE a.amproc = p.oid)
  AND NOT EXISTS (SELECT FROM pg_aggregate a WHERE a.aggtransfn = p.oid)
ORDER BY 1
SQL
my @relations = rows("SELECT relname FROM pg_class WHERE relnamespace = 'rflow'::regnamespace AND relkind IN ('r', 'v', 'm', 'S') ORDER BY 1");
my @types = rows("SELECT typname FROM pg_type WHERE typnamespace = 'rflow'::regnamespace AND typrelid = 0 AND typelem = 0 ORDER BY 1");
my @columns = rows(<<'SQL');
SELECT DISTINCT a.attname
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
WHERE c.relnamespace = 'rflow'::regnamespace AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY 1
SQL
my @settings = rows("SELECT name, current_setting(name) FROM pg_settings WHERE name LIKE 'rflow.%' ORDER BY 1");

sub missing
{
	my ($pattern, @names) = @_;
	return join ', ', grep { my $p = $pattern->($_); $readme !~ $p } @names;
}

is(missing(sub { qr/\brflow\.\Q$_[0]\E\(/ }, @functions), '', 'every function is in it');
is(missing(sub { qr/`rflow\.\Q$_[0]\E`/ }, @relations, @types), '', 'every table, view and type is');
is(missing(sub { qr/`\Q$_[0]\E`/ }, @columns), '', 'every column is');
is( missing(
		sub {
			my ($name, $value) = split /\|/, $_[0];
			my $default = $value eq '' ? 'empty' : "`$value`";
			qr/^\| `\Q$name\E` \| \Q$default\E \|/m;
		},
		@settings),
	'', 'every setting is, with its default');

# In the other direction.  One setting is for tests and does not show.
my %known = map { $_ => 1 } @functions, @relations, @types, 'crash_point', map { /^rflow\.(\w+)/ } @settings;
my %named = map { $_ => 1 } $readme =~ /\brflow\.(\w+)/g;
is(join(', ', grep { !$known{$_} } sort keys %named), '', 'it names nothing that does not exist');

# What the benchmark has measured, where there are results.
is(system($^X, "$FindBin::Bin/../tools/readme_numbers.pl", '--check'), 0, 'its numbers are those of the benchmark');

# Links to its own parts, and to files.
my %anchors = map { s/[^\w\- ]//gr =~ s/ /-/gr => 1 } map { lc } $readme =~ /^#+ (.*)$/mg;
for my $link (sort { $a cmp $b } $readme =~ /\]\(([^)]+)\)/g)
{
	next if $link =~ /^https?:/;
	my $found = $link =~ /^#(.*)/ ? $anchors{$1} : -e "$FindBin::Bin/../../$link";
	ok($found, "link to $link");
}

$node->stop;
done_testing();
