# The first conversation of README.md, as printed there: every command works and says what the text promises.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;
use Tavern::Stack;

my $top = abs_path(dirname(__FILE__) . '/../..');
my $s = Tavern::Stack->new(mock => 0, conf => { llm_provider => 'echo' });
my $dir = tempdir(CLEANUP => 1);
my $json = JSON::PP->new->utf8;
my %files = (
	'card.json' => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'Seraphina', description => '{{char}} keeps the glade.',
		personality => 'calm', scenario => 'a glade at night', first_mes => 'You wake among lanterns, {{user}}.', mes_example => '' } },
	'preset.json' => { temperature => 0.8, openai_max_context => 8192, openai_max_tokens => 300,
		prompts => [{ identifier => 'main', name => 'Main', role => 'system', content => 'Write as {{char}}.', system_prompt => JSON::PP::true },
			{ identifier => 'chatHistory', name => 'Chat History', marker => JSON::PP::true }],
		prompt_order => [{ character_id => 100001, order => [map { { identifier => $_, enabled => JSON::PP::true } } qw(main chatHistory)] }] },
	'book.json' => { entries => { 0 => { uid => 0, key => ['lantern'], content => 'The lanterns never go out.', comment => 'lanterns', constant => JSON::PP::false,
		selective => JSON::PP::false, order => 100, position => 0, disable => JSON::PP::false } } },
);

for my $name (keys %files) {
	open my $fh, '>', "$dir/$name" or die $!;
	print {$fh} $json->encode($files{$name});
}
my $readme = do { open my $fh, '<', "$top/README.md" or die $!; local $/; <$fh> };
my ($block) = $readme =~ /^## A first conversation\n.*?```sh\n(.*?)```/ms or die 'README has no first conversation';
like($block, qr/^api=/m, 'the block names the address once');
$block =~ s/^api=.*$/'api=' . $s->url/me;
$block =~ s/^(curl .*)$/$1; echo; echo ----/mg;    # to tell the answers apart
open my $script, '>', "$dir/script" or die $!;
print {$script} $block, 'echo "$character $preset $book"', "\n";
close $script;
my $out = `cd $dir && bash -eu script 2>&1`;
is($?, 0, 'the commands run') or diag $out;
my ($dry, $respond, $stream, $timeline, $ids) = split /\n----\n/, $out;

like($ids, qr/^\S{21} \S{21} \S{21}$/, 'card, preset and book are imported');
like($dry, qr/Write as Seraphina\./, 'the dry run shows the preset, with the card\'s name');
like($dry, qr/The lanterns never go out\./, 'and the book\'s entry');
like($json->decode($respond)->{data}{generated_text}, qr/Good evening/, 'a reply');
like($stream, qr/^event: chunk$/m, 'a stream of chunks');
like($stream, qr/^event: done$/m, 'that ends well');
like($timeline, qr/You wake among lanterns, User\..*Good evening.*Who is there/s, 'the timeline has it all');

done_testing;
