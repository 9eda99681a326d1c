#!/usr/bin/env perl
# The macro language described to its authors: the catalogue, and the lint of a text.
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(mock => 0, workers => 1);

# ---- catalogue ----

my $r = $s->get('/prompt-runtime/macros');
is $r->{status}, 200, 'the catalogue' or diag $r->{raw};
my $data = $r->{json}{data};
my %by = map { $_->{name} => $_ } grep { grep { $_ eq 'auto' } @{ $_->{dialects} } } @{ $data->{macros} };
ok $by{$_}, "the page's $_" for qw(user char description persona systemPrompt maxPrompt getvar setvar addvar incvar deletevar isodate summary lastMessage);
ok $by{$_}, "SillyTavern's $_" for qw(random pick roll trim newline time datetimeformat original outlet);
ok !( grep { !length $_->{help} || !length $_->{group} || !@{ $_->{dialects} } || ref $_->{aliases} ne 'ARRAY' } @{ $data->{macros} }), 'each has help, group and dialects';
is_deeply $by{hasvar}{aliases}, ['varexists'], 'aliases';
is $by{setvar}{arguments}, '::name::value', 'arguments';
ok $by{setvar}{writes} && !$by{getvar}{writes} && $by{roll}{chance} && $by{time}{time}, 'what it does';
like $by{time}{cache_advice}, qr/after the history/, 'cache advice';
is $by{user}{cache_advice}, undef, 'no advice where none is needed';
ok scalar(grep { $_->{form} =~ /#if/ && $_->{dialects} eq 'marinara' } @{ $data->{blocks} }), 'blocks';
ok scalar(grep { $_->{form} =~ /startsWith/ } @{ $data->{operators} }), 'operators';
my ($status, $out) = $s->tavernctl('macro', '--list', '--json');
is $status, 0, 'tavernctl macro --list';
is scalar(() = $out =~ /"cache_advice"/g), scalar @{ $data->{macros} }, 'tavernctl lists the same';

# ---- lint ----

sub lint { my ($text, %more) = @_; return $s->post('/prompt-runtime/macros/lint', { text => $text, %more }) }

$r = lint("Hi {{user}}.\n名 {{nope}} {{if {{.x}}}}{{setvar::y::1}}{{/if}}");
is $r->{status}, 200, 'lint' or diag $r->{raw};
is $r->{json}{data}{dialect}, 'auto', 'its dialect';
is_deeply [ map { [ @$_{qw(code raw_text line column)} ] } @{ $r->{json}{data}{findings} } ],
	[ [ 'macro_unknown', '{{nope}}', 2, 3 ], [ 'macro_write_in_branch', '{{setvar::y::1}}', 2, 25 ] ], 'findings with their places';
sub codes { return [ map { $_->{code} } @{ lint(@_)->{json}{data}{findings} } ] }
is_deeply codes('{{time}}'), [], 'a clock after the history';
is_deeply codes('{{time}}', position => 'before_history'), ['macro_time_before_history'], 'a clock before it';
is_deeply codes('{{#if decision:"it rains"}}a{{/if}}', position => 'before_history'), ['macro_decision_before_history'], 'a decision before it';
is_deeply codes('{{if {{.x}} == 1}}a{{/if}}'), ['macro_dialect_differs'], 'another dialect reads it differently';
is_deeply codes('{{.x += 1}}'), ['macro_dialect_differs'], 'an operator of another dialect';
is_deeply codes('{{.x += 1}}', dialect => 'sillytavern'), [], 'in its own dialect';
is lint("{{// dialect: marinara}}\nx")->{json}{data}{dialect}, 'marinara', 'a pragma names the dialect';
is_deeply codes('{{if {{user}}}}a'), ['macro_syntax'], 'syntax';
is_deeply codes('plain { text } and <b>tags</b>'), [], 'nothing to say';
is scalar @{ codes('{{nope}}' x 2000) }, 1000, 'at most 1000 findings';
for my $case ([ { dialect => 'auto' }, 'text' ], [ { text => 5 }, '/text' ], [ { text => 'x', dialect => 'handlebars' }, '/dialect' ], [ { text => 'x', position => 3 }, '/position' ]) {
	my $bad = $s->post('/prompt-runtime/macros/lint', $case->[0]);
	is $bad->{status}, 400, "$case->[1] is refused";
	is $bad->{json}{error}{code}, 'validation_error', "$case->[1]: validation_error";
	like $bad->{raw}, qr/\Q$case->[1]\E/, "$case->[1] is named";
}
is $s->get('/prompt-runtime/macros/lint')->{status}, 405, 'lint is a POST';

done_testing;
