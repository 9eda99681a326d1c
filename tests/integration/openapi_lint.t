# /openapi.json is a valid OpenAPI 3.0 document (@redocly/cli), and the routes answer as it says. openapi.t compares it with the protocol.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp;
use Test::More;
use Tavern::Stack;

my $top = abs_path(dirname(__FILE__) . '/../..');
my $s = Tavern::Stack->new(mock => 0, workers => 1);
my $r = $s->get('/openapi.json');
my $doc = $r->{json};

is($r->{status}, 200, 'public');
like($doc->{openapi}, qr/^3\.0\./, 'version 3.0');

subtest 'lint' => sub {
	my $redocly = ($ENV{TAVERN_NPM} // '') . '/node_modules/.bin/redocly';
	my $file = File::Temp->new(SUFFIX => '.json');
	my $out;

	plan skip_all => 'no @redocly/cli: run ./check' unless -x $redocly;
	print {$file} $r->{raw};
	$file->flush;
	local $ENV{REDOCLY_TELEMETRY} = 'off';
	$out = `$redocly lint --config $top/tests/npm/redocly.yaml --format stylish $file 2>&1`;
	is($? >> 8, 0, 'redocly finds no error') or diag $out;
};

# A GET without parameters answers what its row says: 200 in the envelope (here nobody needs to log in).
subtest 'operations answer' => sub {
	for my $path (sort keys %{ $doc->{paths} }) {
		my $operation = $doc->{paths}{$path}{get} or next;
		my ($answer, $status);

		next if $path =~ /\{/;
		next if grep { $_->{required} && $_->{in} eq 'query' } @{ $operation->{parameters} // [] };
		$answer = $s->get($path);
		$status = $answer->{status};
		ok($operation->{responses}{$status}, "GET $path: $status is documented") or diag $answer->{raw};
	}
};

subtest 'what is not there' => sub {
	my $r = $s->get('/no/such/route');

	is($r->{status}, 404, 'unknown route');
	ok($r->{json}{error}{code}, 'in the envelope');
	$r = $s->del('/health');
	is($r->{status}, 405, 'known route, other method');
	ok($r->{json}{error}{code}, 'in the envelope');
	like($r->{headers}{allow} // '', qr/GET/, 'says which methods there are');
};

done_testing;
