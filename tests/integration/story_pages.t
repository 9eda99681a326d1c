#!/usr/bin/env perl
# Pages: versions of a floor's input and output; one of each kind counts; those of committed floors are read-only.
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
sub page { my (%more) = @_; my $r = $s->post('/pages', { page_kind => 'output', page_no => 0, %more }); is $r->{status}, 201, 'page is created' or diag $r->{raw}; return $r->{json}{data} }
sub message { my ($page, $text, %more) = @_; my $r = $s->post('/messages', { page_id => $page, seq => 0, role => 'assistant', content => $text, %more }); is $r->{status}, 201, "message: $text" or diag $r->{raw}; return $r->{json}{data} }
sub get { my ($id) = @_; return $s->get("/pages/$id")->{json}{data} }
sub prompt { my ($sid) = @_; return join ' ', map { $_->{content} } @{ $s->post("/sessions/$sid/respond/dry-run", { message => 'end' })->{json}{data}{messages} } }

my $sid = $s->post('/sessions', { title => 'T' })->{json}{data}{id};
my $floor = $s->post('/floors', { session_id => $sid, branch_id => 'main', floor_no => 0 })->{json}{data}{id};

# ---- create, list ----

my $first = page(floor_id => $floor, checksum => 'abc');
is_deeply [ @$first{qw(floor_id page_no page_kind is_active version checksum)} ], [ $floor, 0, 'output', $yes, 1, 'abc' ], 'its members';
is_deeply get($first->{id}), $first, 'read as it was answered';
my $second = page(floor_id => $floor, page_no => 1, is_active => $no);
is $second->{is_active}, $no, 'an inactive one';
my $input = page(floor_id => $floor, page_kind => 'input', version => 3);
is $input->{version}, 3, 'a version';
is get($first->{id})->{is_active}, $yes, 'each kind has its own active page';
refused('place and version taken', $s->post('/pages', { floor_id => $floor, page_kind => 'output', page_no => 0 }), 409, 'conflict');
is $s->get("/pages?floor_id=$floor")->{json}{meta}{total}, 3, 'list: by floor';
is $s->get("/pages?floor_id=$floor&page_kind=output")->{json}{meta}{total}, 2, 'list: by kind';
is $s->get("/pages?floor_id=$floor&is_active=true")->{json}{meta}{total}, 2, 'list: active ones';
is_deeply [ map { $_->{page_no} } @{ $s->get("/pages?floor_id=$floor&page_kind=output&sort_by=page_no&sort_order=asc")->{json}{data} } ], [ 0, 1 ], 'list: sorted';
is $s->get("/pages?floor_id=nosuch")->{json}{meta}{total}, 0, 'list: an unknown floor has none';

# ---- which one counts ----

message($input->{id}, 'question', role => 'user');
message($first->{id}, 'first answer');
message($second->{id}, 'second answer');
like prompt($sid), qr/question first answer end$/, 'the active pages are the story';
my $r = $s->patch("/pages/$second->{id}/activate");
is $r->{status}, 200, 'the other is activated' or diag $r->{raw};
is $r->{json}{data}{is_active}, $yes, 'and is active';
is get($first->{id})->{is_active}, $no, 'the first is not';
is get($input->{id})->{is_active}, $yes, 'the other kind is untouched';
like prompt($sid), qr/question second answer end$/, 'the prompt follows';
is $s->patch("/pages/$second->{id}/activate")->{status}, 200, 'activating it again changes nothing';
is $s->patch("/pages/$first->{id}", { is_active => $yes })->{json}{data}{is_active}, $yes, 'a patch activates too';
like prompt($sid), qr/question first answer end$/, 'and the prompt follows';
is $s->patch("/pages/$first->{id}", { is_active => $no })->{json}{data}{is_active}, $no, 'a patch deactivates';
like prompt($sid), qr/question end$/, 'then none counts';
my $third = page(floor_id => $floor, page_no => 2);
is $third->{is_active}, $yes, 'a new page is active by default';
message($third->{id}, 'third answer');
like prompt($sid), qr/question third answer end$/, 'and counts';

# ---- patch ----

$r = $s->patch("/pages/$first->{id}", { page_no => 9, version => 4, checksum => 'def' });
is_deeply [ @{ $r->{json}{data} }{qw(page_no version checksum is_active)} ], [ 9, 4, 'def', $no ], 'patch: members';
refused('patch: place taken', $s->patch("/pages/$first->{id}", { page_no => 1, version => 1 }), 409, 'conflict');
refused('patch: another floor', $s->patch("/pages/$first->{id}", { floor_id => 'other' }), 409, 'content_target_locked');
is $s->patch("/pages/$first->{id}", { floor_id => $floor })->{status}, 200, 'patch: its own floor may be said';
is get($first->{id})->{page_no}, 9, 'refused patches changed nothing';
$r = $s->patch("/pages/$third->{id}", { page_kind => 'input', page_no => 5 });
refused('patch: an active page becomes a second active one of its kind', $r, 409, 'conflict') if $r->{status} != 200;
is $s->get("/pages?floor_id=$floor&page_kind=input&is_active=true")->{json}{meta}{total}, 1, 'one active page of a kind';

# ---- delete ----

is $s->del("/pages/$second->{id}")->{json}{data}{deleted}, $yes, 'a page is deleted';
is $s->get("/messages?page_id=$second->{id}")->{json}{meta}{total}, 0, 'with its messages';
$r = $s->post('/pages/batch/delete', { ids => [ $first->{id}, 'nosuch', $first->{id} ] });
is_deeply [ map { "$_->{index} $_->{action}" } @{ $r->{json}{data}{results} } ], [ '0 deleted', '1 not_found' ], 'batch: each once';
is_deeply $r->{json}{data}{meta}, { total => 2, deleted => 1, not_found => 1 }, 'batch: meta';

# ---- committed floors ----

my $done = $s->post("/sessions/$sid/respond", { message => 'go on' })->{json}{data};
my ($out) = grep { $_->{page_kind} eq 'output' } @{ $s->get("/pages?floor_id=$done->{floor_id}")->{json}{data} };
refused('committed: create', $s->post('/pages', { floor_id => $done->{floor_id}, page_kind => 'output', page_no => 7 }), 409, 'content_target_locked');
refused('committed: patch', $s->patch("/pages/$out->{id}", { page_no => 7 }), 409, 'content_target_locked');
refused('committed: delete', $s->del("/pages/$out->{id}"), 409, 'content_target_locked');
refused('committed: batch delete', $s->post('/pages/batch/delete', { ids => [ $input->{id}, $out->{id} ] }), 409, 'content_target_locked');
is $s->get("/pages/$input->{id}")->{status}, 200, 'committed: and nothing of the batch was deleted';
is $s->patch("/pages/$out->{id}/activate")->{status}, 200, 'committed: the active page of the head can be activated';
refused('below the head: activate', $s->patch("/pages/$third->{id}/activate"), 409, 'content_target_locked');
$s->post("/floors/$done->{floor_id}/branch", { branch_id => 'alt' });
is $s->patch("/pages/$out->{id}/activate")->{json}{data}{id}, $out->{id}, 'shared head: the page that counts already changes nothing';
is $s->get("/pages/$out->{id}/variables/staged")->{json}{data}{page_id}, $out->{id}, 'staged writes of a page';
is_deeply $s->get("/pages/$out->{id}/variables/promotions")->{json}{data}{items}, [], 'promotions of a page';

# ---- a deleted session takes its pages along ----

$s->del("/sessions/$sid");
is $s->get("/pages/$out->{id}")->{status}, 404, 'its pages are gone';
is $s->get("/pages?floor_id=$done->{floor_id}")->{json}{meta}{total}, 0, 'also from the list';
is $s->patch("/pages/$out->{id}/activate")->{status}, 404, 'none can be activated';
is $s->del("/pages/$input->{id}")->{status}, 404, 'or deleted';
is $s->post('/pages', { floor_id => $floor, page_kind => 'mixed', page_no => 7 })->{status}, 404, 'or made';
is $s->get("/pages/$out->{id}/variables/staged")->{status}, 404, 'nor are their writes seen';

is_deeply [$s->invariants], [], 'invariants hold';
done_testing;
