# Cards and tokens against independent implementations from npm (tests/npm); no server is needed.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More;

my $top = abs_path(dirname(__FILE__) . '/../..');
my ($npm, $build) = ($ENV{TAVERN_NPM} // '', $ENV{TAVERN_BUILD} // '');

plan skip_all => 'no packages from npm: run ./check' unless -d "$npm/node_modules/character-card-utils";
chdir '/';

# Each script prints TAP of its own; here it is one test, with its failures as diagnostics.
for my $run (
	[ 'cards', "$build/tests/tools/cardtool", "$top/tests/vectors/cards.json" ],
	[ 'tokens', "$build/tests/vectors/run", $top ],
) {
	my ($name, @args) = @$run;
	my $out = `node '$top/tests/npm/$name.mjs' @{[ map { "'$_'" } @args ]} 2>&1`;
	my $ok = () = $out =~ /^ok /mg;

	is($?, 0, "$name: $ok checks") or diag join "\n", grep { !/^ok / } split /\n/, $out;
	cmp_ok($ok, '>', 3, "$name: something was checked");
}

done_testing;
