#!/usr/bin/env perl
# Mode rearrange: nodes and their switches, the active preset (a change is seen by every worker at once), the layout.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my ($yes, $no) = (JSON::PP::true, JSON::PP::false);
my $s = Tavern::Stack->new(workers => 2);

sub refused {
	my ($label, $r, $status, $code) = @_;

	is $r->{status}, $status, "$label: $status" or diag $r->{raw};
	is $r->{json}{error}{code}, $code, "$label: $code";
}
sub imported { my ($data, %more) = @_; return $s->post('/import/preset', { data => $data, %more })->{json}{data} }
sub node { my ($id, $text, %more) = @_; return { identifier => $id, name => $id, role => 'system', content => $text, %more } }
sub file {
	my ($word, @rest) = @_;

	return { prompts => [node('top', "$word top"), node('charDescription', '', marker => $yes), node('spare', "$word spare"), node('note', '{{// only a note}}'),
		node('chatHistory', '', marker => $yes), node('deep', "$word deep", injection_position => 1, injection_depth => 0)],
		prompt_order => [{ character_id => 100001, order => [map { { identifier => $_, enabled => $_ eq 'spare' ? $no : $yes } } qw(top charDescription spare note chatHistory deep)] }], @rest };
}
my $card = $s->post('/import/character', { payload => { name => 'Ann', description => 'Ann is tall.', first_mes => '' } })->{json}{data};
sub session { return $s->post('/sessions', { title => 'T', prompt_mode => 'rearrange', character_id => $card->{character_id}, @_ })->{json}{data}{id} }
sub prompt { my ($sid) = @_; my $r = $s->post("/sessions/$sid/respond/dry-run", { message => 'Hi' }); is $r->{status}, 200, 'dry run' or diag $r->{raw}; return join '|', map { $_->{content} } @{ $r->{json}{data}{messages} } }
# Many requests on connections of their own: every worker answers some.
sub everywhere { my ($sid) = @_; my %seen; $seen{ prompt($sid) }++ for 1 .. 8; return keys %seen }

# ---- none is active ----

my $sid = session();
is_deeply $s->get('/presets/active')->{json}{data}, { preset_id => undef, name => undef, version => undef, activated_at => undef }, 'at first no preset is active';
my ($native) = everywhere($sid);
unlike $native, qr/top/, 'a session without a preset has the native order';
my $one = imported(file('One'), name => 'One');
is_deeply [everywhere($sid)], [$native], 'an import alone changes nothing';

# ---- nodes ----

my $n = $s->get("/presets/$one->{id}/nodes")->{json}{data};
is_deeply [map { $_->{identifier} } @{ $n->{nodes} }], [qw(top charDescription spare note chatHistory deep)], 'nodes in their order';
is_deeply $n->{counts}, { nodes => 6, enabled => 4, disabled => 1, comment_only => 1 }, 'nodes: counts';
is_deeply [@$n{qw(status kind is_active has_html_warning)}], ['ok', 'modern', $no, $no], 'nodes: what the audit says';
is_deeply $n->{nodes}[5], { identifier => 'deep', name => 'deep', role => 'system', content => 'One deep', is_marker => $no, is_enabled => $yes, is_comment => $no,
	node_order => 5, injection_position => 1, injection_depth => 0, injection_order => 100 }, 'nodes: their members';

# ---- activate ----

my $r = $s->post("/presets/$one->{id}/activate");
is $r->{json}{data}{preset_id}, $one->{id}, 'activated' or diag $r->{raw};
my @seen = everywhere($sid);
is scalar @seen, 1, 'every worker sees it at once';
is $seen[0], "One top|Ann is tall.|Hi\n[System: One deep]", 'the prompt by its nodes';
my $two = imported(file('Two'), name => 'Two', activate => $yes);
is $s->get('/presets/active')->{json}{data}{preset_id}, $two->{id}, 'an import may activate; the other is active no more';
is_deeply [everywhere($sid)], ["Two top|Ann is tall.|Hi\n[System: Two deep]"], 'and every worker takes it';
is $s->get("/presets/$one->{id}/nodes")->{json}{data}{is_active}, $no, 'nodes: not active any more';
my $own = session(preset_id => $one->{id});
is prompt($own), "One top|Ann is tall.|Hi\n[System: One deep]", 'a session that binds a preset keeps its own';
is $s->post('/sessions', { title => 'T', prompt_mode => 'compat_strict' })->{status}, 201, 'a session of another mode';
refused('activate an unknown one', $s->post('/presets/nosuch/activate'), 404, 'not_found');

# ---- switches ----

$r = $s->patch("/presets/$two->{id}/nodes", { nodes => [{ identifier => 'top', enabled => $no }, { identifier => 'spare', enabled => $yes }], expected_version => 1 });
is $r->{json}{data}{version}, 2, 'many switches are one version' or diag $r->{raw};
is_deeply [everywhere($sid)], ["Ann is tall.|Two spare|Hi\n[System: Two deep]"], 'switched in every worker';
refused('a stale guard', $s->patch("/presets/$two->{id}/nodes", { nodes => [{ identifier => 'top', enabled => $yes }], expected_version => 1 }), 409, 'preset_conflict');
$r = $s->patch("/presets/$two->{id}/nodes", { nodes => [{ identifier => 'top', enabled => $yes }, { identifier => 'nosuch', enabled => $no }] });
refused('an unknown node', $r, 400, 'validation_error');
is $s->get("/presets/$two->{id}/nodes")->{json}{data}{version}, 2, 'and none of its switches counts';
$s->patch("/presets/$two->{id}/nodes", { nodes => [{ identifier => 'chatHistory', enabled => $no }] });
is_deeply [everywhere($sid)], ["Ann is tall.|Two spare|Hi\n[System: Two deep]"], 'history is never lost: a disabled marker leaves it to the end';
my $entries = $s->get("/presets/$two->{id}/entries")->{json}{data}{entries};
is_deeply { map { $_->{identifier} => $_->{enabled} } @$entries }->{top}, $no, 'the same switch in the entries of the preset';

# ---- nodes that stand in no list ----

my $old = imported({ context => { story_string => '{{#if system}}{{system}}{{/if}}{{#if description}}About: {{description}}{{/if}}' }, sysprompt => { content => 'Be kind.', post_history => 'Stay.' } }, name => 'Old');
$n = $s->get("/presets/$old->{id}/nodes")->{json}{data};
is $n->{kind}, 'legacy_text_completion', 'an old preset has nodes too' or diag explain $n;
my ($post) = grep { $_->{name} eq 'post_history' } @{ $n->{nodes} };
$r = $s->patch("/presets/$old->{id}/nodes", { nodes => [{ identifier => $post->{identifier}, enabled => $no }] });
is_deeply [map { $_->{is_enabled} } grep { $_->{name} eq 'post_history' } @{ $r->{json}{data}{nodes} }], [$no], 'and switches for them';

# ---- the layout ----

my $l = $s->get("/sessions/$sid/prompt-runtime/layout?message=Hi")->{json}{data};
is_deeply [@$l{qw(preset_id arranged branch_id)}], [$two->{id}, $yes, 'main'], 'layout: of the active preset';
is_deeply { map { $_->{identifier} => $_->{state} } @{ $l->{nodes} } },
	{ top => 'disabled', charDescription => 'marker', spare => 'emitted', note => 'comment', chatHistory => 'disabled', deep => 'depth' }, 'layout: what became of each node';
is_deeply $l->{remainder_tags}, ['DIALOGUE_HISTORY'], 'layout: what no marker took';
is_deeply [map { $_->{content} } @{ $l->{items} }], ['Ann is tall.', 'Two spare', "Hi\n[System: Two deep]"], 'layout: what would be sent';
ok +(grep { $_->{identifier} eq 'spare' && $_->{tokens} > 0 } @{ $l->{nodes} }), 'layout: tokens of a node';
my $plain = $s->post('/sessions', { title => 'T' })->{json}{data}{id};
is $s->get("/sessions/$plain/prompt-runtime/layout")->{json}{data}{preset_id}, $two->{id}, 'layout: of a session of another mode, as it would be';
refused('layout of no session', $s->get('/sessions/nosuch/prompt-runtime/layout'), 404, 'not_found');

# ---- HTML ----

my $html = $s->post('/import/preset', { data => file('<b>Bold</b>'), name => 'Html' })->{json}{data};
ok +(grep { $_->{code} eq 'html_content' } @{ $html->{receipt}{warnings} }), 'HTML: the receipt says so';
is $s->get("/presets/$html->{id}/nodes")->{json}{data}{has_html_warning}, $yes, 'HTML: the nodes say so';
my $h = session(preset_id => $html->{id});
ok +(grep { $_ eq 'html_content' } @{ $s->get("/sessions/$h/prompt-runtime/layout")->{json}{data}{warnings} }), 'HTML: the layout says so';
like prompt($h), qr/<b>Bold<\/b> top/, 'HTML: sent as it is';

# ---- writing as the user: no preset ----

$r = $s->post("/sessions/$own/respond/dry-run", { message => 'Hi', prompt_intent => 'impersonate' });
unlike $r->{raw}, qr/One top/, 'impersonation bypasses the preset' or diag $r->{raw};

# ---- delete, deactivate ----

$s->del("/presets/$html->{id}");
is $s->get('/presets/active')->{json}{data}{preset_id}, $two->{id}, 'another one deleted: the active one stays';
$s->del("/presets/$two->{id}");
is $s->get('/presets/active')->{json}{data}{preset_id}, $old->{id}, 'the active one deleted: the newest that is left';
is $s->del('/presets/active')->{json}{data}{preset_id}, undef, 'deactivated';
is_deeply [everywhere($sid)], [$native], 'native order again in every worker';
$s->post("/presets/$old->{id}/activate");
$s->del("/presets/$_->{id}") for $old, $one;
is $s->get('/presets/active')->{json}{data}{preset_id}, undef, 'the last one deleted: none is active';
is $s->sql('SELECT count(*) FROM tavern.active_preset'), 0, 'and no row is left';
is prompt($sid), $native, 'and the turn goes on';

done_testing;
