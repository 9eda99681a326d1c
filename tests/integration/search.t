#!/usr/bin/env perl
# GET /messages?q=: words and their beginnings, scripts without spaces, where to look, what does not count, excerpts, order,
# pages; the same whether words are filled in already or not; never another account's.
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

binmode Test::More->builder->$_, ':utf8' for qw(output failure_output);
my $s = Tavern::Stack->new(conf => { auth_mode => 'api_key', account_mode => 'multi', api_keys => 'key-alice:alice,key-bob:bob,key-admin' });
my ($yes, $no) = (JSON::PP::true, JSON::PP::false);
my %as = map { $_ => { headers => { 'x-api-key' => "key-$_" } } } qw(alice bob admin);
$s->post('/accounts', { id => $_, name => $_ }, %{ $as{admin} }) for qw(alice bob);

sub one { scalar $s->sql(@_) }
sub esc { my ($t) = @_; utf8::encode($t); return $t =~ s/([^A-Za-z0-9_.-])/sprintf '%%%02X', ord $1/ger }
sub find { my ($q, $more, $who) = @_; return $s->get('/messages?q=' . esc($q) . ($more ? "&$more" : ''), %{ $as{ $who // 'alice' } }) }
sub texts { my $r = find(@_); is $r->{status}, 200, "search: $_[0]" or diag $r->{raw}; return [ map { $_->{content} } @{ $r->{json}{data} } ] }
sub marked { join '', map { $_->{match} ? "[$_->{text}]" : $_->{text} } @{ $_[0]{found}{excerpt} } }
sub made { my ($path, $body, $who) = @_; my $r = $s->post($path, $body, %{ $as{ $who // 'alice' } }); ok $r->{status} =~ /^20/, "made: $path" or diag $r->{raw}; return $r->{json}{data} }

# Turns whose texts we choose: drafts of a client.
sub story {
	my ($who, $sid, @texts) = @_;
	my $at = $s->get("/sessions/$sid/branches", %{ $as{$who} })->{json}{data}[0]{latest_floor_no};
	my $n = defined $at ? $at + 1 : 0;
	my @ids;

	for my $text (@texts) {
		my $f = made('/floors', { session_id => $sid, branch_id => 'main', floor_no => $n++ }, $who)->{id};
		my $p = made('/pages', { floor_id => $f, page_kind => 'input', page_no => 0 }, $who)->{id};
		push @ids, made('/messages', { page_id => $p, seq => 0, role => 'user', content => $text }, $who)->{id};
		$s->sql("UPDATE tavern.floor SET state = 'committed' WHERE id = :'f'", f => $f);
	}
	return @ids;
}

my $card = made('/import/character', { payload => { spec => 'chara_card_v2', spec_version => '2.0', data => { name => 'C', first_mes => 'The harbour is quiet.' } } })->{character_id};
my $sid = made('/sessions', { title => 'S', character_id => $card })->{id};
my @id = story('alice', $sid, 'Where is the Lighthouse keeper?', 'The keeper sleeps; the LAMP of the lighthouse is out.', '昔々、灯台のそばに老人が住んでいました。', '我们在东京塔下见面。', 'Das Kätzchen ÜBER dem Haus', "It's 100% done: C:\\temp 'quoted'", 'สวัสดีครับ คุณเป็นอย่างไร');
my $other = made('/sessions', { title => 'T' })->{id};
story('alice', $other, 'Another lighthouse, far away.');
my $bobs = made('/sessions', { title => 'B' }, 'bob')->{id};
story('bob', $bobs, 'A lighthouse that belongs to bob.');

# The runner of jobs fills in what is there.
sub filled {
	my ($label) = @_;

	$s->start_jobd;
	ok $s->wait_for($label, sub { one('SELECT (SELECT count(*) FROM tavern.message_words) = (SELECT count(*) FROM tavern.message)') eq 't' }, 20), $label;
	$s->stop_jobd;
}

sub looks {
	my ($label) = @_;

	subtest $label => sub {
		is scalar @{ texts('lighthouse') }, 3, 'words in any case';
		is_deeply texts('LAMP keeper'), ['The keeper sleeps; the LAMP of the lighthouse is out.'], 'every word must be there';
		is scalar @{ texts('light') }, 3, 'the beginning of a word';
		is_deeply texts('ighthouse'), [], 'not its middle';
		is_deeply texts('灯台'), ['昔々、灯台のそばに老人が住んでいました。'], 'two characters of a script without spaces';
		is_deeply texts('老人が住ん'), ['昔々、灯台のそばに老人が住んでいました。'], 'a run of them';
		is_deeply texts('老人住ん'), [], 'not a run that is not there';
		is_deeply texts('塔'), ['我们在东京塔下见面。'], 'one of them';
		is_deeply texts('東京'), [], 'not another character';
		is_deeply texts('über kätz'), ['Das Kätzchen ÜBER dem Haus'], 'letters beyond ASCII in any case';
		is_deeply texts('สวัสดี'), ['สวัสดีครับ คุณเป็นอย่างไร'], 'Thai';
		is_deeply texts("it's 100"), ["It's 100% done: C:\\temp 'quoted'"], 'a quote';
		is_deeply texts("C:\\temp 'quoted'"), ["It's 100% done: C:\\temp 'quoted'"], 'what a query could trip over';
		is_deeply texts("quoted & !lamp | (x"), [], 'operators are no operators';
		is_deeply texts('harbour'), ['The harbour is quiet.'], 'a greeting';
		is_deeply texts('bob'), [], 'nothing of another account';
		is_deeply texts('lighthouse', '', 'bob'), ['A lighthouse that belongs to bob.'], 'who finds their own';
	};
}

is one('SELECT count(*) FROM tavern.message_words'), 0, 'no turn fills words in';
looks('nothing is filled in');
is one('SELECT count(*) FROM tavern.message_words'), 0, 'nor a search, for so few';
filled('each has its words, from tavern-jobd');
looks('words are filled in');
story('alice', $other, 'A lighthouse again.');
is scalar @{ texts('lighthouse') }, 4, 'old and new ones together';

# ---- where ----

is scalar @{ texts('lighthouse', "session_id=$sid") }, 2, 'in a session';
is scalar @{ texts('lighthouse', "character_id=$card") }, 2, 'in the chats with a character';
is scalar @{ texts('lighthouse', "character_id=nobody") }, 0, 'of nobody';
is scalar @{ texts('lighthouse', "character_id=$card&session_id=$other") }, 0, 'of a character in a chat with somebody else';
$s->sql("UPDATE tavern.session SET character_name = 'C' WHERE id = :'s'", s => $other);
is scalar @{ texts('lighthouse', "character_id=$card") }, 4, 'and in those that brought a card of its name along';
$s->sql("UPDATE tavern.session SET character_name = NULL WHERE id = :'s'", s => $other);
is_deeply texts('harbour', "session_id=$other"), [], 'not in another';
is scalar @{ texts('lighthouse', 'role=assistant') }, 0, 'of a role';
is_deeply texts('harbour', 'role=assistant'), ['The harbour is quiet.'], 'of another one';
my ($first) = grep { $_->{floor_no} == 1 } @{ $s->get("/floors?session_id=$sid", %{ $as{alice} })->{json}{data} };
made("/floors/$first->{id}/branch", { branch_id => 'alt' });
is scalar @{ texts('lighthouse', "session_id=$sid&branch_id=alt") }, 1, 'in a branch: what it shows';
is scalar @{ texts('lighthouse', "session_id=$sid&branch_id=main") }, 2, 'and main';
is scalar @{ texts('lighthouse', "session_id=$sid") }, 2, 'what two branches show is found once';

# ---- what counts ----

my ($m) = @{ find('lamp')->{json}{data} };
$s->sql("UPDATE tavern.page SET active = false WHERE id = :'p'", p => $m->{page_id});
$s->sql("UPDATE tavern.message SET active = false WHERE id = :'m'", m => $m->{id});
is_deeply texts('lamp'), [], 'a page that does not count is not found';
is scalar @{ texts('lamp', 'include_inactive=true') }, 1, 'unless asked for';
is $s->patch("/messages/$id[0]", { is_hidden => $yes }, %{ $as{alice} })->{status}, 200, 'a message is hidden';
is_deeply texts('where'), [], 'and not found';
is scalar @{ texts('where', 'include_hidden=true') }, 1, 'unless asked for';
$s->patch("/messages/$id[0]", { is_hidden => $no }, %{ $as{alice} });

# ---- a text that changes ----

my $draft = made('/floors', { session_id => $other, branch_id => 'main', floor_no => 2 })->{id};
my $page = made('/pages', { floor_id => $draft, page_kind => 'input', page_no => 0 })->{id};
my $msg = made('/messages', { page_id => $page, seq => 0, role => 'user', content => 'a marmalade cat' })->{id};
filled('a draft, too');
is scalar @{ texts('marmalade') }, 1, 'a draft is found';
is $s->patch("/messages/$msg", { content => 'a tortoise' }, %{ $as{alice} })->{status}, 200, 'its text changes';
is_deeply texts('marmalade'), [], 'the old word is forgotten';
is_deeply texts('tortoise'), ['a tortoise'], 'the new one found';
is scalar @{ texts('tortoise', "role=user&session_id=$other&branch_id=main") }, 1, 'where it was';
is $s->patch("/messages/$msg", { role => 'narrator' }, %{ $as{alice} })->{status}, 200, 'its role changes';
is_deeply [ map { scalar @{ texts('tortoise', "role=$_") } } qw(user narrator) ], [ 0, 1 ], 'and it is found by it';
is $s->del("/messages/$msg", %{ $as{alice} })->{status}, 200, 'it is deleted';
is_deeply texts('tortoise'), [], 'and gone';

# ---- answers ----

my $r = find('lighthouse keeper', "session_id=$sid&include_inactive=true");
is_deeply [ sort map { marked($_) } @{ $r->{json}{data} } ], [ 'The [keeper] sleeps; the LAMP of the [lighthouse] is out.', 'Where is the [Lighthouse] [keeper]?' ], 'excerpts mark what was found';
is_deeply $r->{json}{meta}, { total => 2, limit => 50, offset => 0, has_more => $no, sort_by => 'relevance', sort_order => 'desc', complete => $yes }, 'meta';
my $hit = $r->{json}{data}[0];
is_deeply [ sort keys %$hit ], [qw(content content_format created_at found id is_hidden page_id role seq source token_count)], 'a message, and where it was found';
is $hit->{found}{session_id}, $sid, 'its session';
is $s->get("/floors/$hit->{found}{floor_id}", %{ $as{alice} })->{json}{data}{floor_no}, $hit->{found}{floor_no}, 'its floor';
like marked(find('老人')->{json}{data}[0]), qr/に\[老人\]が/, 'excerpt of a script without spaces';
story('alice', $other, ('word ' x 100) . 'needle' . (' word' x 100));
like marked(find('needle')->{json}{data}[0]), qr/^….{50,70}\[needle\].{100,200}…$/, 'excerpt out of the middle of a long text';
story('alice', $other, map { "pearl $_" } 1 .. 5);
is_deeply [ map { $_->{content} } @{ find('pearl', 'sort_by=created_at&sort_order=asc&limit=2&offset=1')->{json}{data} } ], [ 'pearl 2', 'pearl 3' ], 'in order and in pages';
is_deeply [ @{ find('pearl', 'limit=2')->{json}{meta} }{qw(total has_more)} ], [ 5, $yes ], 'and counted';
is_deeply [ @{ find('pearl', 'offset=9')->{json}{meta} }{qw(total has_more)} ], [ 5, $no ], 'also behind the end';
story('alice', $other, 'pearl pearl pearl');
is texts('pearl')->[0], 'pearl pearl pearl', 'what holds a word more often comes first';

for my $bad ([ 'q=' . esc('…!'), '/q' ], [ 'q=' . 'x' x 201, '/q' ], [ 'q=', '/q' ], [ 'q=x&branch_id=main', '/session_id' ], [ 'character_id=x', '/q' ]) {
	$r = $s->get("/messages?$bad->[0]", %{ $as{alice} });
	is_deeply [ $r->{status}, $r->{json}{error}{details}[0]{path} ], [ 400, $bad->[1] ], 'refused: ' . substr $bad->[0], 0, 30;
}
is $s->get("/messages?session_id=$other&limit=1", %{ $as{alice} })->{json}{meta}{total}, 9, 'without words a session narrows the list';

# A very long text and one that is all of one dense script.
story('alice', $other, join('', map { chr(0x4e00 + $_ % 20000) } 1 .. 70000), join(' ', map { "w$_" } 1 .. 70000));
is find('w60')->{json}{meta}{total}, 1, 'very long texts, not filled in';
filled('and when they are');
is find('w60')->{json}{meta}{total}, 1, 'very long texts';

# Without a runner of jobs a search fills in what has become much. A message that is committed later with a smaller number is not passed over.
$s->sql(q{INSERT INTO tavern.message (account_no, id, page_no, segment_no, floor_seq, side, seq, active, role, content, created_at)
	SELECT m.account_no, m.id || '-' || i, m.page_no, m.segment_no, m.floor_seq, m.side, i, true, m.role, 'Herring number ' || i, 1 FROM tavern.message m, generate_series(1, 1200) i WHERE m.id = :'id'},
	id => find('pearl')->{json}{data}[0]{id});
is find('herring')->{json}{meta}{total}, 1200, 'all are found';
is find('herring number')->{json}{meta}{total}, 1200, 'and again';
cmp_ok one(q{SELECT count(*) FROM tavern.message_words w JOIN tavern.message m ON m.account_no = w.account_no AND m.no = w.message_no WHERE m.content LIKE 'Herring%'}), '>=', 1000, 'most by their words';

# Of more than are looked at, the newest or the oldest; each place on its own. All in zones of 4,096.
$s->sql(q{INSERT INTO tavern.message (account_no, id, page_no, segment_no, floor_seq, side, seq, active, role, content, created_at)
	SELECT m.account_no, m.id || '+' || i, m.page_no, m.segment_no, m.floor_seq, m.side, 10000 + i, true, CASE WHEN i % 3000 = 0 THEN 'system' ELSE m.role END,
	       CASE WHEN i % 1000 = 0 THEN 'Sardine kipper ' ELSE 'Sardine ' END || i, 1 FROM tavern.message m, generate_series(1, 9000) i WHERE m.id = :'id'},
	id => find('pearl')->{json}{data}[0]{id});
filled('sardines');
my ($sid2) = map { $_->{found}{session_id} } find('pearl')->{json}{data}[0];
for my $statistics ('as they are', 'known') {
	$r = find('sardine', 'sort_by=created_at&limit=2');
	is_deeply [ map { $_->{content} } @{ $r->{json}{data} } ], [ 'Sardine kipper 9000', 'Sardine 8999' ], "the newest, statistics $statistics";
	is_deeply [ @{ $r->{json}{meta} }{qw(total has_more complete)} ], [ 2000, $yes, $no ], 'and not all were looked at';
	$r = find('sardine', 'sort_by=created_at&sort_order=asc&limit=1&offset=1999');
	is_deeply [ [ map { $_->{content} } @{ $r->{json}{data} } ], @{ $r->{json}{meta} }{qw(has_more complete)} ], [ ['Sardine kipper 2000'], $no, $no ], 'from the oldest on, the last page';
	is find("sardine kipper", "session_id=$sid2")->{json}{meta}{total}, 9, 'what is rare among them: all';
	is_deeply [ @{ find('sardine', 'role=system')->{json}{meta} }{qw(total complete)} ], [ 3, $yes ], 'of a role: all';
	is find('marmalade tortoise pearl', '')->{json}{meta}{total}, 0, 'nothing';
	$s->sql('ANALYZE tavern.message_words, tavern.message');
}

# A deleted session is not found.
is $s->del("/sessions/$sid", %{ $as{alice} })->{status}, 200, 'the session is deleted';
is_deeply texts('keeper'), [], 'nothing of it is found';

done_testing;
