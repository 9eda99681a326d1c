#!/usr/bin/env perl
# Chats in and out: SillyTavern's lines of several ages, TavernHeadless's .thchat, at once and as jobs; what comes out is what went in; an imported chat
# goes on; an import that breaks off leaves nothing (cases B07, B09, B37).
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $plain = JSON::PP->new->utf8;
my $s = Tavern::Stack->new(jobd => 1, conf => { chat_inline_floors => 300, chat_inline_bytes => '512k' });

sub import { my ($text, %more) = @_; utf8::decode($text); return $s->post('/import/chat', { data => $text, %more }) }
sub export { my ($id, $format) = @_; return $s->get("/export/chat/$id?format=$format") }
sub lines { return map { $json->decode($_) } split /\n/, $_[0] }
sub job { my ($id) = @_; return $s->get("/chat-transfer-jobs/$id")->{json}{data} }
sub job_ends { my ($id) = @_; $s->wait_for("job $id", sub { job($id)->{status} =~ /succeeded|dead_letter|cancelled/ }, 40); return job($id) }
sub timeline { my ($id, $branch) = @_; return sort { $a->{floor_no} <=> $b->{floor_no} } @{ $s->get("/sessions/$id/timeline?limit=200&branch_id=" . ($branch // 'main'))->{json}{data}{floors} } }
sub story { return map { $_->{content} } map { @{ $_->{messages} } } timeline(@_) }

# ---- a chat of today: names "unused", swipes with their infos, hidden lines, members that nobody knows ----

my $today = join '', map { "$_\n" }
	'{"chat_metadata":{"integrity":"3f0c","note_prompt":"Be brief.","note_interval":1,"variables":{"gold":3,"mood":"calm"},"x_ext":{"keep":[1,2.50]}},"user_name":"unused","character_name":"unused"}',
	'{"name":"Bo","is_user":false,"is_system":false,"send_date":"2026-01-02T03:04:05.678Z","mes":"Welcome, {{user}}.{{setvar::route::A}}","extra":{},"swipe_id":0,"swipes":["Welcome, {{user}}.{{setvar::route::A}}","Hi.{{setvar::route::B}}"],"swipe_info":[{"send_date":"2026-01-02T03:04:05.678Z","extra":{}},{"send_date":"2026-01-02T03:04:06.000Z","extra":{}}]}',
	'{"name":"Al","is_user":true,"is_system":false,"send_date":"2026-01-02T03:05:00.000Z","mes":"Hello <b>Bo</b> \"quoted\" \\\\ 日本","extra":{"isSmallSys":false},"force_avatar":"User Avatars/a.png"}',
	'{"name":"Bo","is_user":false,"is_system":false,"send_date":"2026-01-02T03:05:09.000Z","mes":"two","extra":{"api":"openai","model":"gpt-x","reasoning":"hm","token_count":1},"swipe_id":1,"swipes":["one","two","three"],"swipe_info":[{"extra":{}},{"extra":{"reasoning":"hm"}},{"extra":{}}],"title":"t","gen_started":"2026-01-02T03:05:01.000Z","gen_finished":"2026-01-02T03:05:09.000Z"}',
	'{"name":"System","is_user":false,"is_system":true,"send_date":"2026-01-02T03:06:00.000Z","mes":"a comment","extra":{"type":"comment","gen_id":17}}',
	'{"name":"System","is_user":false,"is_system":false,"send_date":"2026-01-02T03:06:01.000Z","mes":"Night falls.","extra":{"type":"narrator","gen_id":18}}',
	'{"name":"Cy","is_user":false,"is_system":false,"send_date":"2026-01-02T03:06:02.000Z","mes":"I am another member.","extra":{},"original_avatar":"cy.png","force_avatar":"/thumbnail?type=avatar&file=cy.png"}',
	'{"name":"Al","is_user":true,"is_system":false,"send_date":"2026-01-02T03:07:00.000Z","mes":"And I wait."}';
utf8::encode($today);
my $r = import($today);
is $r->{status}, 201, 'a SillyTavern chat is imported' or diag $r->{raw};
my $first = $r->{json}{data};
is $first->{format}, 'sillytavern_jsonl', 'by its lines';
is $first->{message_count}, 7, 'seven lines';
is $first->{floor_count}, 6, 'six floors: a reply joins the line that it answers';
is $first->{swipe_count}, 3, 'three alternatives';
is $first->{skipped_lines}, 0, 'none skipped';
is $first->{title}, 'Bo', 'named after the one who speaks, not "unused"';
my $id = $first->{session_id};
is_deeply [ story($id) ], [ 'Welcome, Al.', qq{Hello <b>Bo</b> "quoted" \\ 日本}, 'two', 'Night falls.', 'I am another member.', 'And I wait.' ],
	'the story in the order of the file, the greeting expanded';
is $s->sql(q{SELECT count(*) FROM tavern.message WHERE content = 'a comment' AND is_hidden AND active}), 1, 'a hidden line is there, hidden';
$r = export($id, 'st_jsonl');
is $r->{status}, 200, 'it is exported';
like $r->{headers}{'content-type'}, qr{^application/x-ndjson}, 'as lines';
like $r->{headers}{'content-disposition'}, qr{filename="Bo\.jsonl"}, 'with a name';
my @was = lines($today);
$was[7] = { %{ $was[7] } };
my @now = lines($r->{raw});
$now[0]{chat_metadata}{variables} = { map { $_ => $now[0]{chat_metadata}{variables}{$_} } qw(gold mood) } if $now[0]{chat_metadata}{variables}{route};
is_deeply \@now, \@was, 'each line is as it was, macros of the greeting included';
my $again = import($r->{raw});
is export($again->{json}{data}{session_id}, 'st_jsonl')->{raw}, $r->{raw}, 'and again: a fixed point, byte for byte';

# B09: only the greeting that is shown acts, once.
is $s->sql(q{SELECT count(*) FROM tavern.var_change c JOIN tavern.session s ON s.account_no = c.account_no AND s.no = c.session_no WHERE s.id = :'id' AND c.key = 'route' AND c.source = 'macro'}, id => $id), 1, 'one write by the greeting';
my %vars = map { $_->{key} => $_->{value} } @{ $s->get("/variables?scope=branch&scope_id=branch:$id:main")->{json}{data} };
is_deeply \%vars, { gold => 3, mood => 'calm', route => 'A' }, 'variables of the chat are the branch\'s';
my @pages = @{ $s->get("/pages?floor_id=" . (map { $_->{id} } grep { $_->{floor_no} == 1 } @{ $s->get("/floors?session_id=$id&limit=200")->{json}{data} })[0])->{json}{data} };
is scalar(grep { $_->{page_kind} eq 'output' } @pages), 3, 'every swipe is a page';
is scalar(grep { $_->{page_kind} eq 'output' && $_->{is_active} } @pages), 1, 'one of them is shown';
is $s->sql(q{SELECT bool_and(token_count > 0) FROM tavern.message}), 't', 'tokens are counted';

# It goes on at once, with the whole story in the prompt.
$r = $s->post("/sessions/$id/respond", { message => 'Go on.' });
is $r->{status}, 200, 'an imported chat goes on' or diag $r->{raw};
my @sent = map { $_->{content} } @{ $s->mock_last->{messages} };
is_deeply [ grep { my $m = $_; grep { $m eq $_ } 'Welcome, Al.', 'two', 'And I wait.', 'Go on.' } @sent ], [ 'Welcome, Al.', 'two', 'And I wait.', 'Go on.' ], 'in the order of the file';
ok !(grep { $_ eq 'a comment' || $_ eq 'three' } @sent), 'without hidden lines and other swipes';
my @after = lines(export($id, 'st_jsonl')->{raw});
is scalar @after, 10, 'two lines more in the next export';
is $after[8]{mes}, 'Go on.', 'with what was said';
is $after[8]{name}, 'Al', 'by whom';
ok $after[9]{send_date} > 1e12, 'and when';

# ---- old chats: B07 ----

my @dates = ('"June 19, 2023 2:20pm"', '1687184400000', '"2023-6-19@14h20m30s123ms"', '"2024-01-02T03:04:05+08:00"', '"2999-12-31T23:59:59Z"', '"in spring"', '1687184400000', undef);
my $old = qq({"user_name":"You","character_name":"Bo","create_date":"2023-6-19@14h20m30s"}\n) .
	join '', map { my $d = $dates[ $_ % @dates ]; sprintf qq({"name":"%s","is_user":%s,"is_name":true%s,"mes":"m%d"}\n), $_ % 2 ? 'Bo' : 'You', $_ % 2 ? 'false' : 'true', defined $d ? qq(,"send_date":$d) : '', $_ } 0 .. 49;
$r = import("\xEF\xBB\xBF" . $old . "\nbroken\n[1]\n");
is $r->{status}, 201, 'a chat of 2023' or diag $r->{raw};
is $r->{json}{data}{skipped_lines}, 2, 'lines that are none are counted';
my $oid = $r->{json}{data}{session_id};
is_deeply [ story($oid) ], [ map { "m$_" } 0 .. 49 ], 'the order is that of the file, whatever the dates say';
$r = export($oid, 'st_jsonl');
my @olds = lines($old); @now = lines($r->{raw});
is_deeply [ map { $_->{send_date} } @now[ 1 .. 50 ] ], [ map { $_->{send_date} } @olds[ 1 .. 50 ] ], 'dates come out as they were written';
$again = import($r->{raw});
is export($again->{json}{data}{session_id}, 'st_jsonl')->{raw}, $r->{raw}, 'a fixed point';

# ---- .thchat: ours ----

my $preset = $s->post('/import/preset', { name => 'P', data => { prompts => [], prompt_order => [] } })->{json}{data}{id};
my $made = $s->post('/sessions', { title => 'Löwe "1"', preset_id => $preset, metadata => { a => [1] }, character_snapshot => { name => 'Keeper', first_mes => 'Hi {{setvar::a::1}}you.' }, user_snapshot => { name => 'U' } })->{json}{data}{id};
$s->post("/sessions/$made/respond", { message => "turn $_" }) for 1 .. 3;
my @floors = sort { $a->{floor_no} <=> $b->{floor_no} } @{ $s->get("/floors?session_id=$made")->{json}{data} };
$r = $s->post("/floors/$floors[1]{id}/branch", { branch_id => 'alt' });
$r = $s->post("/sessions/$made/respond", { message => 'elsewhere', branch_id => 'alt' });
is $r->{status}, 200, 'a turn on another branch' or diag $r->{raw};
$s->put('/variables', { scope => 'chat', scope_id => $made, key => 'purse', value => { gold => 3 } });
$s->put('/variables', { scope => 'branch', scope_id => "branch:$made:alt", key => 'where', value => 'far' });
$r = export($made, 'thchat');
is $r->{status}, 200, '.thchat of a session with branches' or diag $r->{raw};
my $one = $json->decode($r->{raw});
is $one->{spec}, 'tavern_headless_chat', 'by its name';
is scalar @{ $one->{data}{floors} }, 5, 'every floor once';
is_deeply [ map { $_->{id} } @{ $one->{data}{tavernd}{branches} } ], [ 'main', 'alt' ], 'with its branches';
$again = import($r->{raw});
is $again->{status}, 201, 'it is imported again' or diag $again->{raw};
is $again->{json}{data}{format}, 'thchat', 'as what it is';
my $copy = $again->{json}{data}{session_id};
my $two = $json->decode(export($copy, 'thchat')->{raw});
isnt $two->{data}{floors}[0]{_original_id}, $one->{data}{floors}[0]{_original_id}, 'ids that are taken become new ones';
# What must be equal but for ids.
sub bare {
	my ($d) = @_;
	my $text = $json->encode($d);
	my %name; my $n = 0;
	$text =~ s/"(_original_id|parent_floor_id_ref|ref|page|scope_id_ref)":"([-\w]{21})"/my $k = $name{$2} \/\/= 'id' . $n++; qq("$1":"$k")/ge;
	return $json->decode($text);
}
is_deeply bare($two->{data}), bare($one->{data}), 'pages, branches, variables with their log, times: the same again';
is $s->post("/sessions/$copy/respond", { message => 'and on', branch_id => $_ })->{status}, 200, "it goes on, on $_" for qw(main alt);
is_deeply [ sort map { "$_->{key}=" . $json->allow_nonref->encode($_->{value}) } @{ $s->get("/variables?scope=branch&scope_id=branch:$copy:alt")->{json}{data} } ], [ 'a="1"', 'where="far"' ], 'variables of a branch';
is $s->del("/sessions/$made")->{status}, 200, 'the first one goes';

# ---- .thchat: TavernHeadless's, with what we do not know ----

my $theirs = { spec => 'tavern_headless_chat', spec_version => '1.0.0', exported_at => 1, data => { title => 'S', status => 'active', created_at => 1796041864216, updated_at => 1796041868571,
	character_snapshot => { name => 'Keeper', primaryGreeting => 'Welcome, {{user}}.', exampleDialogue => 'x' }, user_snapshot => { name => 'U' }, character_sync_policy => 'pin', preset_name => 'Q', prompt_mode => 'native', metadata => {},
	floors => [
		floor(0, 'main', undef, 'f0', [ page('output', 0, 1, 'Welcome, {{user}}.', 'greeting'), page('output', 0, 0, 'Hi.', 'greeting', 2) ]),
		floor(1, 'main', 'f0', 'f1', [ page('input', 0, 1, 'hello', 'api', 1, 'user'), page('output', 1, 1, 'new reply', 'narrator') ]),
		{ %{ floor(1, 'main', 'f0', 'f1old', [ page('input', 0, 1, 'hello', 'api', 1, 'user'), page('output', 1, 1, 'old reply', 'narrator') ]) }, superseded_at => 5, superseded_by_floor_id_ref => 'f1' },
		floor(2, 'alt', 'f1', 'f2a', [ page('input', 0, 1, 'on alt', 'api', 1, 'user'), page('output', 1, 1, 'alt reply', 'narrator') ]),
		floor(2, 'main', 'f1', 'f2', [ page('input', 0, 1, 'on main', 'api', 1, 'user'), page('output', 1, 1, 'main reply', 'narrator') ]),
	],
	variables => [ { scope => 'chat', scope_id_ref => undef, key => 'purse', value => { gold => 3 }, updated_at => 7 }, { scope => 'branch', scope_id_ref => 'alt', key => 'mood', value => 'sad', updated_at => 8 },
		{ scope => 'floor', scope_id_ref => 'f1', key => 'seen', value => JSON::PP::true, updated_at => 9 } ],
	memories => { items => [ { _original_id => 'm1', content => 'The visitor came.' } ], edges => [] } } };
my $ids = 0;
sub page { my ($kind, $no, $active, $text, $source, $version, $role) = @_; $ids++; return { page_no => $no, page_kind => $kind, is_active => $active ? JSON::PP::true : JSON::PP::false, version => $version // 1, checksum => undef, created_at => 10, updated_at => 11, _original_id => "p$ids",
	messages => [ { seq => 0, role => $role // 'assistant', content => $text, content_format => 'text', token_count => 3, is_hidden => JSON::PP::false, source => $source, created_at => 12, _original_id => "x$ids", odd => 'kept' } ] } }
sub floor { my ($no, $branch, $parent, $id, $pages) = @_; return { floor_no => $no, branch_id => $branch, parent_floor_id_ref => $parent, state => 'committed', token_in => 1, token_out => 2, metadata => { k => $no }, superseded_at => undef, superseded_by_floor_id_ref => undef, created_at => 20, updated_at => 21, _original_id => $id, pages => $pages } }
$r = import($json->encode($theirs));
is $r->{status}, 201, 'a file of the original server' or diag $r->{raw};
my $tid = $r->{json}{data}{session_id};
is_deeply [ story($tid) ], [ 'Welcome, U.', 'hello', 'new reply', 'on main', 'main reply' ], 'its main branch';
is_deeply [ story($tid, 'alt') ], [ 'Welcome, U.', 'hello', 'new reply', 'on alt', 'alt reply' ], 'its other branch';
is $s->sql(q{SELECT count(*) FROM tavern.message m JOIN tavern.page p ON p.account_no = m.account_no AND p.no = m.page_no WHERE m.content = 'old reply' AND NOT p.active}), 1, 'a replaced reply is a page of the one that took its place';
is $s->post("/sessions/$tid/respond", { message => 'go on' })->{status}, 200, 'it goes on';
is $s->get('/floors/f1')->{json}{data}{id}, 'f1', 'ids that are free stay';
$one = $json->decode(export($tid, 'thchat')->{raw});
is_deeply $one->{data}{memories}, $theirs->{data}{memories}, 'what we do not know comes out again';
is $one->{data}{preset_name}, 'Q', 'the preset\'s name too';
is_deeply [ map { $_->{metadata}{k} } grep { defined $_->{metadata} } sort { $a->{floor_no} <=> $b->{floor_no} || $a->{branch_id} cmp $b->{branch_id} } @{ $one->{data}{floors} } ], [ 0, 1, 2, 2 ], 'and the floors\' members';
is $one->{data}{floors}[0]{pages}[0]{messages}[0]{odd}, 'kept', 'and the messages\'';

# ---- refused, whole ----

for ([ '{"spec":"tavern_headless_chat","spec_version":"2.0.0","data":{"floors":[]}}', 'import_unsupported_version' ], [ substr($json->encode($theirs), 0, -40), 'import_parse_error' ],
	[ '{"user_name":"a","character_name":"b"}', 'import_empty' ], [ 'hello', 'import_parse_error' ], [ '{"entries":{}}', 'import_parse_error' ],
	[ '{"spec":"tavern_headless_chat","spec_version":"1.0.0","data":{"floors":[{"floor_no":0,"_original_id":"q1","pages":[]},7]}}', 'import_parse_error' ]) {
	my $before = $s->get('/sessions')->{json}{meta}{total};
	$r = import($_->[0]);
	is $r->{status}, 400, "$_->[1]: refused" or diag $r->{raw};
	is $r->{json}{error}{code}, $_->[1], 'by its code';
	is $s->get('/sessions')->{json}{meta}{total}, $before, 'nothing of it is seen';
}
is import($today, character_id => 'none')->{json}{error}{code}, 'character_not_found', 'a character that is not there';
is $s->get('/export/chat/none')->{status}, 404, 'no such session';

# ---- the operator's program: the same, of any size ----

my ($status, $text) = $s->tavernctl('export', 'chat', $tid, "$s->{dir}/log/out.thchat");
is $status, 0, 'tavernctl export chat' or diag $text;
open my $fh, '<', "$s->{dir}/log/out.thchat" or die $!;
my $file = do { local $/; <$fh> };
is_deeply $json->decode($file)->{data}, $one->{data}, 'the file is that of the route';
isnt +($s->tavernctl('export', 'chat', $tid, "$s->{dir}/log/out.thchat"))[0], 0, 'a file that is there stays';
isnt +($s->tavernctl('export', 'chat', 'none', "$s->{dir}/log/none"))[0], 0, 'no such session';
ok !-e "$s->{dir}/log/none", 'makes no file';
($status, $text) = $s->tavernctl('import', 'chat', "$s->{dir}/log/out.thchat", '--title', 'By hand');
is $status, 0, 'tavernctl import chat' or diag $text;
$r = $json->decode($text);
is $s->get("/sessions/$r->{session_id}")->{json}{data}{title}, 'By hand', 'is a session';
is_deeply [ story($r->{session_id}, 'alt') ], [ story($tid, 'alt') ], 'with the same story, its ids being taken';
is_deeply $json->decode(export($r->{session_id}, 'thchat')->{raw})->{data}{variables}[-1]{key}, 'seen', 'and its variables';
is $s->sql(q{SELECT f.session_no = s.no FROM tavern.variable v JOIN tavern.session s ON s.account_no = v.account_no AND s.no = v.session_no
	JOIN tavern.floor f ON f.account_no = v.account_no AND f.id = v.scope_id WHERE s.id = :'id' AND v.key = 'seen'}, id => $r->{session_id}), 't', 'a floor\'s variable is its own floor\'s';
is $s->sql(q{SELECT count(*) FROM tavern.floor f JOIN tavern.session s ON s.account_no = f.account_no AND s.no = f.session_no LEFT JOIN tavern.floor p
	ON p.account_no = f.account_no AND p.id = f.parent_id WHERE s.id = :'id' AND f.floor_seq > 0 AND p.session_no IS DISTINCT FROM s.no}, id => $r->{session_id}), 0, 'and each floor\'s parent';
($status, $text) = $s->tavernctl('export', 'chat', $id, '--format', 'st_jsonl');
is $text, export($id, 'st_jsonl')->{raw}, 'lines to the standard output';
for ([ 'import', 'chat' ], [ 'import', 'card', 'x' ], [ 'export', 'chat', $id, '--format', 'zip' ], [ 'import', 'chat', "$s->{dir}/log/nothing" ], [ 'import', 'chat', "$s->{dir}/log" ]) {
	isnt +($s->tavernctl(@$_))[0], 0, "refused: @$_[0, 1]";
}

# ---- jobs ----

my $long = qq({"user_name":"You","character_name":"Bo","chat_metadata":{}}\n) . join '', map { sprintf qq({"name":"%s","is_user":%s,"is_system":false,"send_date":%d,"mes":"line %d %s"}\n), $_ % 2 ? 'Bo' : 'You', $_ % 2 ? 'false' : 'true', 1700000000000 + $_, $_, 'word ' x 200 } 0 .. 999;
$r = import($long);
is $r->{status}, 413, 'a long one is not imported at once';
like $r->{json}{error}{message}, qr{/import/chat/jobs}, 'and the answer says how';
$r = $s->post('/import/chat/jobs', { data => $long, title => 'Long' });
is $r->{status}, 202, 'but as a job';
like $r->{json}{data}{job_id}, qr/^chat-transfer-job:import_chat:[-\w]{12}$/, 'whose id has the form of the original';
my $j = job_ends($r->{json}{data}{job_id});
is $j->{status}, 'succeeded', 'it succeeds' or diag $json->encode($j), $s->log('jobd');
is $j->{phase}, 'completed', 'and is complete';
is $j->{result}{floor_count}, 500, 'with its counts';
my $lid = $j->{result_session_id};
is $s->get("/sessions/$lid")->{json}{data}{title}, 'Long', 'the session is there';
is export($lid, 'thchat')->{status}, 409, 'it is too long to be exported at once';
for my $format (qw(thchat st_jsonl)) {
	$r = $s->post("/export/chat/$lid/jobs", { format => $format });
	is $r->{status}, 202, "$format as a job";
	$j = job_ends($r->{json}{data}{job_id});
	is $j->{status}, 'succeeded', 'it succeeds' or diag $json->encode($j);
	my $file = $s->get("/chat-transfer-jobs/$j->{id}/file");
	is $file->{status}, 200, 'its file can be fetched';
	is length $file->{raw}, $j->{result}{byteLength}, 'whole';
	is $file->{raw}, $long, 'and is what was imported' if $format eq 'st_jsonl';
	is scalar @{ $json->decode($file->{raw})->{data}{floors} }, 500, 'with every floor' if $format eq 'thchat';
}
is_deeply [ map { $_->{job_kind} } @{ $s->get("/chat-transfer-jobs?requested_session_id=$lid&format=st_jsonl")->{json}{data} } ], ['export_chat'], 'jobs are found by what they are about';
is $s->get('/chat-transfer-jobs?status=succeeded&job_kind=import_chat')->{json}{meta}{total}, 1, 'and by their state';
$s->sql(q{UPDATE tavern.job SET file_until = 5 WHERE id = :'id'}, id => $j->{id});
$r = $s->get("/chat-transfer-jobs/$j->{id}/file");
is $r->{status}, 410, 'a file whose time is over';
is $r->{json}{error}{code}, 'artifact_expired', 'says so';
is $s->post("/chat-transfer-jobs/$j->{id}/cancel")->{status}, 409, 'what is over cannot be cancelled';
is $s->post("/chat-transfer-jobs/$j->{id}/retry")->{status}, 409, 'nor what succeeded tried again';
is $s->get('/chat-transfer-jobs/none/file')->{status}, 404, 'no such job';

$r = $s->post('/import/chat/jobs', { data => 'no chat' });
$j = job_ends($r->{json}{data}{job_id});
is $j->{status}, 'dead_letter', 'a file that is none is dead at once';
is $j->{attempt_count}, 1, 'after one try';
like $j->{last_error}, qr/no chat/, 'with the reason';
is $s->post("/chat-transfer-jobs/$j->{id}/retry")->{json}{data}{status}, 'pending', 'it can be tried again';
is job_ends($j->{id})->{status}, 'dead_letter', 'and fails again';

# ---- kill -9 in the middle: the lease ends, the next one takes it, nothing is there twice ----

my $huge = $long . join '', map { sprintf qq({"name":"%s","is_user":%s,"is_system":false,"mes":"more %d %s"}\n), $_ % 2 ? 'Bo' : 'You', $_ % 2 ? 'false' : 'true', $_, 'word ' x 100 } 0 .. 15999;
my $sessions = $s->get('/sessions')->{json}{meta}{total};
my $jid = $s->post('/import/chat/jobs', { data => $huge, title => 'Huge' })->{json}{data}{job_id};
ok $s->wait_for('the middle', sub { my $x = job($jid); $x->{status} eq 'running' && $x->{phase} eq 'publishing' && $x->{progress_current} > 0 }, 30), 'an import is under way';
$s->stop_jobd('KILL');
is $s->get('/sessions')->{json}{meta}{total}, $sessions, 'nothing of it is seen';
is $s->sql(q{SELECT count(*) FROM tavern.session WHERE title = 'Huge' AND deleted_at > tavern.now_ms()}), 1, 'it is hidden';
$s->sql(q{UPDATE tavern.job SET lease_until = 5 WHERE id = :'id'}, id => $jid);
$s->start_jobd;
$s->wait_for('the second try', sub { job($jid)->{attempt_count} == 2 }, 20);
$j = job_ends($jid);
is $j->{status}, 'succeeded', 'the next one does it' or diag $json->encode($j);
is $j->{attempt_count}, 2, 'at the second try';
is $s->get('/sessions')->{json}{meta}{total}, $sessions + 1, 'once';
$s->sql(q{UPDATE tavern.session SET deleted_at = 5 WHERE title = 'Huge' AND deleted_at IS NOT NULL});
is $s->stop_jobd, 0, 'jobd ends in order';
$s->start_jobd;
ok $s->wait_for('the removal', sub { $s->sql(q{SELECT count(*) FROM tavern.session WHERE title = 'Huge'}) == 1 }, 30), 'the broken one is removed when its time is over';

# ---- cancel ----

$jid = $s->post("/export/chat/$j->{result_session_id}/jobs", {})->{json}{data}{job_id};
$s->wait_for('the start', sub { job($jid)->{status} eq 'running' }, 20);
is $s->post("/chat-transfer-jobs/$jid/cancel")->{json}{data}{status}, 'cancelled', 'a running job is cancelled';
is job($jid)->{status}, 'cancelled', 'and is so';
is $s->get("/chat-transfer-jobs/$jid/file")->{json}{error}{code}, 'artifact_not_ready', 'it has no file';

done_testing;
