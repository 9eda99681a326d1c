# Event streams of turns as readers from npm take them (tests/npm/streams.mjs).
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Tavern::Stack;
use Test::More;

my $npm = $ENV{TAVERN_NPM} // '';

plan skip_all => 'no packages from npm: run ./check' unless -d "$npm/node_modules/eventsource";
my $s = Tavern::Stack->new(workers => 2);
my $out = `node '$FindBin::Bin/../npm/streams.mjs' '${\ $s->url}' 2>&1`;
my $ok = () = $out =~ /^ok /mg;

is($?, 0, "$ok checks") or diag $out;
is(scalar(() = $out =~ /^not ok /mg), 0, 'all are good') or diag join "\n", grep { !/^ok / } split /\n/, $out;
cmp_ok($ok, '>=', 10, 'something was checked');

done_testing;
