#!/usr/bin/env perl
# Messages: written and changed on floors that are not committed, hidden and shown on any; what is hidden is not sent.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new;
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);

sub refused {
	my ($label, $r, $status, $code) = @_;

	is $r->{status}, $status, "$label: $status" or diag $r->{raw};
	is $r->{json}{error}{code}, $code, "$label: $code";
}
sub get { my ($id) = @_; return $s->get("/messages/$id")->{json}{data} }
sub sent { return map { "$_->{role}:$_->{content}" } @{ $s->mock_last->{messages} } }
sub respond { my ($sid, $text) = @_; my $r = $s->post("/sessions/$sid/respond", { message => $text }); is $r->{status}, 200, "turn: $text" or diag $r->{raw}; return $r->{json}{data} }

my $sid = $s->post('/sessions', { title => 'T', model_name => 'm?text=Aye.' })->{json}{data}{id};
my $floor = $s->post('/floors', { session_id => $sid, branch_id => 'main', floor_no => 0 })->{json}{data}{id};
my $page = $s->post('/pages', { floor_id => $floor, page_kind => 'mixed', page_no => 0 })->{json}{data}{id};

# ---- create, list ----

my @m;
for my $role (qw(user assistant system narrator)) {
	my $r = $s->post('/messages', { page_id => $page, seq => scalar @m, role => $role, content => "I am $role." });
	is $r->{status}, 201, "$role: created" or diag $r->{raw};
	push @m, $r->{json}{data};
	is_deeply [ @{ $m[-1] }{qw(page_id seq role content content_format is_hidden source)} ], [ $page, $#m, $role, "I am $role.", 'text', $no, undef ], "$role: its members";
	ok $m[-1]{token_count} > 0, "$role: tokens are counted";
	is_deeply get($m[-1]{id}), $m[-1], "$role: read as it was answered";
}
is $s->post('/messages', { page_id => $page, seq => 9, role => 'user', content => 'counted', token_count => 77, source => 'app', content_format => 'markdown', is_hidden => $yes })->{json}{data}{token_count},
	77, 'a client\'s own count is kept';
refused('place taken', $s->post('/messages', { page_id => $page, seq => 0, role => 'user', content => 'x' }), 409, 'conflict');
refused('unknown role', $s->post('/messages', { page_id => $page, seq => 10, role => 'tool', content => 'x' }), 400, 'validation_error');
refused('no text', $s->post('/messages', { page_id => $page, seq => 10, role => 'user', content => '' }), 400, 'validation_error');
is $s->get("/messages?page_id=$page")->{json}{meta}{total}, 5, 'list: by page';
is $s->get("/messages?page_id=$page&role=narrator")->{json}{meta}{total}, 1, 'list: by role';
is $s->get("/messages?page_id=$page&is_hidden=true")->{json}{meta}{total}, 1, 'list: hidden ones';
is_deeply [ map { $_->{seq} } @{ $s->get("/messages?page_id=$page&sort_by=seq&sort_order=asc&limit=2&offset=1")->{json}{data} } ], [ 1, 2 ], 'list: sorted, in pieces';

# ---- what is sent ----

respond($sid, 'Go on.');
is_deeply [ grep { /I am|Go on|counted/ } sent() ], [ 'user:I am user.', 'assistant:I am assistant.', 'system:I am system.', 'system:I am narrator.', 'user:Go on.' ],
	'four roles are sent, the narrator as system, the hidden one not';

# ---- patch ----

my $r = $s->patch("/messages/$m[0]{id}", { content => 'I am much more than one user.', content_format => 'markdown', source => 'edit', seq => 20 });
is $r->{status}, 200, 'patch' or diag $r->{raw};
is_deeply [ @{ $r->{json}{data} }{qw(content content_format source seq role)} ], [ 'I am much more than one user.', 'markdown', 'edit', 20, 'user' ], 'patch: members';
ok $r->{json}{data}{token_count} > $m[0]{token_count}, 'patch: tokens are counted anew';
is $s->patch("/messages/$m[1]{id}", { role => 'narrator' })->{json}{data}{role}, 'narrator', 'patch: role';
refused('patch: place taken', $s->patch("/messages/$m[1]{id}", { seq => 2 }), 409, 'conflict');
refused('patch: another page', $s->patch("/messages/$m[1]{id}", { page_id => 'other' }), 409, 'content_target_locked');
is $s->patch("/messages/$m[1]{id}", { page_id => $page })->{status}, 200, 'patch: its own page may be said';
is get($m[1]{id})->{seq}, 1, 'refused patches changed nothing';
my $next = respond($sid, 'And now?');
like join(' ', sent()), qr/system:I am system\. system:I am narrator\. user:I am much more than one user\./, 'patch: the prompt follows, by the new places';

# ---- committed floors: only hiding ----

my ($typed) = map { @{ $_->{messages} } } grep { $_->{page_kind} eq 'input' } map { @{ $_->{pages} } } grep { $_->{id} eq $next->{floor_id} } @{ $s->get("/sessions/$sid/timeline")->{json}{data}{floors} };
is $typed->{content}, 'And now?', 'a message of a committed floor';
my $input = get($typed->{id})->{page_id};
for my $change ({ content => 'x' }, { role => 'system' }, { seq => 5 }, { is_hidden => $yes, content => 'x' }, { token_count => 1 }) {
	refused('committed: ' . join(',', sort keys %$change), $s->patch("/messages/$typed->{id}", $change), 409, 'content_target_locked');
}
refused('committed: create', $s->post('/messages', { page_id => $input, seq => 7, role => 'user', content => 'x' }), 409, 'content_target_locked');
refused('committed: delete', $s->del("/messages/$typed->{id}"), 409, 'content_target_locked');
refused('committed: batch delete', $s->post('/messages/batch/delete', { ids => [ $m[2]{id}, $typed->{id} ] }), 409, 'content_target_locked');
is get($m[2]{id})->{content}, 'I am system.', 'committed: nothing of the batch was deleted';
is_deeply [ @{ get($typed->{id}) }{qw(content is_hidden role)} ], [ 'And now?', $no, 'user' ], 'committed: unchanged';
is $s->patch("/messages/$typed->{id}", { is_hidden => $yes })->{json}{data}{is_hidden}, $yes, 'committed: it can be hidden';
respond($sid, 'Third.');
unlike join(' ', sent()), qr/And now/, 'hidden: not sent';
like join(' ', sent()), qr/user:Go on\. assistant:Aye\. assistant:Aye\. user:Third\./, 'hidden: all else is';
is_deeply [ map { $_->{messages}[0]{content} } @{ $s->get("/sessions/$sid/timeline?limit=1&offset=2")->{json}{data}{floors} } ], ['Aye.'], 'hidden: nor does the timeline show it';
$r = $s->patch('/messages/batch/visibility', { ids => [ $typed->{id}, $m[0]{id}, 'nosuch', $typed->{id} ], is_hidden => $no });
is_deeply [ map { "$_->{index} $_->{action}" } @{ $r->{json}{data}{results} } ], [ '0 updated', '1 updated', '2 not_found' ], 'visibility: results';
is $r->{json}{data}{results}[0]{data}{is_hidden}, $no, 'visibility: with the message';
is_deeply $r->{json}{data}{meta}, { total => 3, updated => 2, not_found => 1, is_hidden => $no }, 'visibility: meta';
respond($sid, 'Fourth.');
like join(' ', sent()), qr/user:And now\?/, 'shown again: sent again';
is_deeply [ map { $_->{messages}[0]{content} } @{ $s->get("/sessions/$sid/timeline?limit=1&offset=2")->{json}{data}{floors} } ], ['And now?'], 'the timeline shows it';

# ---- delete ----

is $s->del("/messages/$m[3]{id}")->{json}{data}{deleted}, $yes, 'a message of a draft is deleted';
$r = $s->post('/messages/batch/delete', { ids => [ $m[0]{id}, 'nosuch' ] });
is_deeply $r->{json}{data}{meta}, { total => 2, deleted => 1, not_found => 1 }, 'batch delete';
respond($sid, 'Fifth.');
unlike join(' ', sent()), qr/I am narrator|much more/, 'deleted: not sent';

# ---- a big message ----

my $big = 'word ' x 150_000;
$r = $s->post('/messages', { page_id => $page, seq => 30, role => 'user', content => $big });
is $r->{status}, 201, 'a message of 750 kB';
is get($r->{json}{data}{id})->{content}, $big, 'is kept whole';
$s->del("/messages/$r->{json}{data}{id}");

# ---- a deleted session takes its messages along ----

$s->del("/sessions/$sid");
is $s->get("/messages/$typed->{id}")->{status}, 404, 'its messages are gone';
is $s->get("/messages?page_id=$input")->{json}{meta}{total}, 0, 'also from the list';
is $s->patch("/messages/$typed->{id}", { is_hidden => $yes })->{status}, 404, 'none can be changed';
is $s->patch('/messages/batch/visibility', { ids => [ $typed->{id} ], is_hidden => $yes })->{json}{data}{meta}{not_found}, 1, 'nor by a batch';
is $s->del("/messages/$m[2]{id}")->{status}, 404, 'or deleted';
is $s->post('/messages', { page_id => $page, seq => 40, role => 'user', content => 'x' })->{status}, 404, 'or written';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
