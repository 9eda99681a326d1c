# tavern-eventd: who hears what, in which order, and what it hears again after its connection, the daemon or the database went away.
use strict;
use warnings;

use Cwd ();
use JSON::PP;
use Tavern::Socket;
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $json = JSON::PP->new->utf8;
my $s = Tavern::Stack->new(eventd => 1, own_pg => 1, mock_args => ['-n', 40, '-i', 20],
	conf => { auth_mode => 'api_key', account_mode => 'multi', admin_keys => 'admin-key', api_keys => 'key-a:a, key-b:b', api_key_pepper => 'pepper' });
for my $account (qw(a b)) {
	my ($status, $out) = $s->tavernctl('account', 'create', $account);
	is($status, 0, "account $account") or diag $out;
}

sub as { return (headers => { 'x-api-key' => "key-$_[0]" }) }
sub session { my ($who) = @_; return $s->post('/sessions', { title => 's' }, as($who))->{json}{data}{id} }

sub sse { my ($query, %headers) = @_; return $s->stream('GET', "/events$query", undef, headers => { 'x-api-key' => 'key-a', %headers }) }
sub ws { my ($query, $key) = @_; return Tavern::Socket->new(port => $s->port, path => "/ws$query", headers => { 'x-api-key' => $key // 'key-a' }) }
sub say { my ($session, $who) = @_; return $s->post("/sessions/$session/respond", { message => 'hello' }, as($who // 'a'))->{json}{data} }

my $sa = session('a');
my $sb = session('b');
ok($sa && $sb, 'two accounts have a session each');

# --- who may ---

my @refused = (
	['/events', 'b', 403, 'ws_forbidden'], ["/events?session_id=$sb", 'a', 404, 'not_found'], ['/events?session_id=none', 'a', 404, 'not_found'],
	["/events?session_id=$sa&last_event_id=x", 'a', 400, 'invalid_request'],
);
for my $r (@refused) {
	my ($path, $who, $status, $code) = @$r;
	my $answer = $s->get($path, as($who));

	is_deeply([$answer->{status}, $answer->{json}{error}{code}], [$status, $code], "$path as $who: $status $code");
}
is($s->get("/events?session_id=$sa")->{status}, 401, 'without a key: 401');
is($s->get("/events?session_id=$sa", headers => { 'x-api-key' => 'wrong' })->{status}, 403, 'with a wrong one: 403');
is($s->get("/events?session_id=$sa", as('a'), headers => { 'x-api-key' => 'key-a', origin => 'https://elsewhere.example' })->{json}{error}{code}, 'origin_forbidden', 'a page of another origin');
is($s->post("/events?session_id=$sa", {}, as('a'))->{status}, 405, 'only GET');
is($s->get("/ws?session_id=$sa", as('a'))->{status}, 426, 'a WebSocket is asked for as one');

# A key that is taken back; it is asked for at the end, when its time is up. Its session is a quiet one: who is far behind gets no farewell.

my (undef, $created) = $s->tavernctl('account', 'key', 'create', 'a');
my ($key) = $created =~ /(tvk_\w+)/;
ok($key, 'a stored key') or diag $created;
my $keyed = ws('?session_id=' . $s->post('/sessions', { title => 'quiet' }, as('a'))->{json}{data}{id}, $key);
is($keyed->status, 101, 'listens');
$s->sql(q{UPDATE tavern.api_key SET revoked_at = 1});

# --- a turn, heard live ---

my $hear = $s->stream('GET', "/events?session_id=$sa", undef, as('a'));
is($hear->status, 200, 'a listener');
my $other = $s->stream('GET', "/events?session_id=$sb", undef, as('b'));
my $account = $s->stream('GET', '/events?scope=account', undef, as('a'));
my $admin = $s->stream('GET', '/events', undef, headers => { 'x-api-key' => 'admin-key' });
sleep 0.3;
my $turn = $s->stream('POST', "/sessions/$sa/respond/stream", { message => 'hello' }, as('a'));
my @said = $turn->rest;
is($said[-1]{event}, 'done', 'a turn');
my $floor = $said[-1]{json}{floor_id};

sub until_committed { my ($l) = @_; return $l->rest(sub { $_[0]{event} eq 'floor.committed' }) }
sub names { return map { $_->{event} } @_ }
sub payload { my ($name, @list) = @_; return map { ($_->{json} // $json->decode($_->{data}))->{data} } grep { $_->{event} eq $name } @list }

my @all = until_committed($hear);
my @chunks = payload('generation.chunk', @all);
my ($completed) = payload('generation.completed', @all);
is(join('', map { $_->{chunk} } @chunks), $said[-1]{json}{generated_text}, 'the pieces make the reply');
is($completed->{text}, $said[-1]{json}{generated_text}, 'which is told as a whole too');
cmp_ok(scalar @chunks, '>=', 4, 'in pieces');
cmp_ok(scalar @chunks, '<=', 25, 'of which there are not too many');
is($chunks[-1]{accumulatedLength}, length $completed->{text}, 'with the length so far');
my @order = grep { $_ !~ /^(?:floor\.run\.updated|generation\.chunk)$/ } names(@all);
is_deeply(\@order, [qw(floor.created floor.stateChanged generation.started generation.completed floor.stateChanged floor.committed)], 'in the order of the wire');
is((payload('floor.run.updated', @all))[0]{status}, 'running', 'the run goes on …');
is((payload('floor.run.updated', @all))[-1]{status}, 'completed', '… and ends');
is_deeply([map { "$_->{previousState} $_->{newState}" } payload('floor.stateChanged', @all)], ['draft generating', 'generating committed'], 'states');
my ($committed) = payload('floor.committed', @all);
is_deeply([@{ $committed->{floor} }{qw(id sessionId state floorNo branchId)}], [$floor, $sa, 'committed', 0, 'main'], 'the floor');
is_deeply([grep { $_->{json}{type} ne 'event' || $_->{json}{event} ne $_->{event} || $_->{json}{timestamp} !~ /^\d{13}$/ } @all], [], 'the envelope of all');
is_deeply([names(until_committed($account))], [names(@all)], 'a listener to the account hears the same');
is_deeply([names(until_committed($admin))], [names(@all)], 'the administrator too');
is($other->next(0.5), undef, 'another account hears nothing');

# --- again by id ---

my @kept = grep { defined $_->{id} } @all;
is_deeply([names(@kept)], [qw(generation.completed floor.run.updated floor.stateChanged floor.committed)], 'what is kept has an id');
for my $i (0 .. $#kept) {
	my $again = $s->stream('GET', "/events?session_id=$sa", undef, headers => { 'x-api-key' => 'key-a', 'last-event-id' => $kept[$i]{id} });
	my @rest = map { $again->next($_) // () } (5) x ($#kept - $i);

	is_deeply([map { $_->{id} } @rest], [map { $_->{id} } @kept[$i + 1 .. $#kept]], 'behind the ' . ($i + 1) . '. event comes the rest');
	is($again->next(0.2), undef, '… and nothing twice');
}

# --- WebSocket ---

$s->patch("/sessions/$sa", { model_name => 'm?n=4&i=10' }, as('a'));
sub closed_with {
	my ($client, $seconds) = @_;

	while (my $frame = $client->next($seconds // 5)) {
		return $frame->{code} if $frame->{op} == 8;
	}
	return;
}

my $ws = ws("?session_id=$sa");
is($ws->status, 101, 'a WebSocket');
like($ws->head, qr/^sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r?$/mi, 'its handshake');
is(ws('')->status, 403, 'without a session: for administrators');
is(ws('', 'admin-key')->status, 101, 'such as this one');
is(ws("?session_id=$sb")->status, 404, 'not for a stranger\'s session');
is(Tavern::Socket->new(port => $s->port, path => "/ws?session_id=$sa&api_key=key-a")->status, 101, 'a browser names its key in the query');
is(Tavern::Socket->new(port => $s->port, path => "/ws?session_id=$sa&token=key-a")->status, 101, '… or token');
$ws->send_frame(0x89, 'are you there');
is_deeply([@{ $ws->next }{qw(op text)}], [10, 'are you there'], 'a ping is answered');
$ws->send_frame(0x01, 'x' x 70000);
$ws->send_frame(0x80, 'nobody reads this');
say($sa);
my @ws;
while (my $event = $ws->event(5)) {
	push @ws, $event;
	last if $event->{event} eq 'floor.committed';
}
is_deeply([grep { $_ !~ /^(?:floor\.run\.updated|generation\.chunk)$/ } map { $_->{event} } @ws], \@order, 'a turn that is not streamed');
my ($resumed) = ws("?session_id=$sa&last_event_id=$ws[-2]{id}");
is($resumed->event(5)->{id}, $ws[-1]{id}, 'resumed by id');
$ws->send_frame(0x88, pack('n', 1000));
is($ws->next->{code}, 1000, 'a close is answered');
is($ws->next(5), undef, 'and ends it');
ok($ws->ended, 'indeed');
for my $bad (["\x81\x05hello", 1002, 'a frame without mask'], ["\xF1\x80\0\0\0\0", 1002, 'reserved bits'], ["\x09\x80\0\0\0\0", 1002, 'a ping in pieces'],
	["\x82\xFF\0\0\0\1\0\0\0\0\0\0\0\0", 1009, 'four gigabytes'], ["\x88\x83\0\0\0\0\x03\xE8\xFF", 1007, 'a reason that is no text']) {
	my $client = ws("?session_id=$sa");

	$client->send_bytes($bad->[0]);
	is(($client->next // {})->{code}, $bad->[1], "$bad->[2]: closed with $bad->[1]");
}

# --- order: who commits late is heard late, and nobody is passed over ---

my $ordered = sse("?session_id=$sa");
my $long = $s->psql_open;
$long->(q{BEGIN; SELECT pg_current_xact_id();});
$s->wait_for('the transaction', sub { $s->sql(q{SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND usename = 'postgres' AND backend_xid IS NOT NULL}) });
my @floors = map { say($sa)->{floor_id} } 1 .. 3;
my @early;
while (my $event = $ordered->next(0.4)) { push @early, $event->{event} }
is_deeply([grep { $_ eq 'floor.committed' } @early], [], 'events wait for an older transaction that writes');
$long->('COMMIT;');
$long->(undef);
is_deeply([map { (payload('floor.committed', until_committed($ordered)))[0]{floor}{id} } 1 .. 3], \@floors, 'and come in order');

# --- a client's own write; a reader that takes its time ---

my $slow = ws("?session_id=$sa");
my $quick = sse("?session_id=$sa");
sleep 0.3;
is($s->put('/variables', { scope => 'chat', scope_id => $sa, key => 'mood', value => { warm => 1 } }, as('a'))->{status}, 201, 'a client writes a variable') ;
my $set = $quick->next(5) // {};
is_deeply([$set->{event}, $set->{json}{data}{sessionId}, @{ $set->{json}{data}{entry} // {} }{qw(scope scopeId key value)}],
	['variable.set', $sa, 'chat', $sa, 'mood', { warm => 1 }], 'which is told');
for my $round (1 .. 10) {
	$s->sql(q{INSERT INTO tavern.event (account_no, session_id, name, data, created_at)
		SELECT a.no, :'session', 'test.big', json_build_object('n', g, 'text', repeat('x', 4000)), tavern.now_ms()
		  FROM tavern.account a, generate_series(:from::int, :to::int) g WHERE a.id = 'a' ORDER BY g}, session => $sa, from => $round * 300 - 299, to => $round * 300);
}
$_->{plain} = 1 for $quick, $slow;    # decoding would take longer than everything else here
my @big = map { ($quick->next(10) // {})->{data} =~ /"n" ?: ?(\d+)/ } 1 .. 3000;
is_deeply(\@big, [1 .. 3000], 'a quick reader hears 12 MB');
sub text_frame { my ($l) = @_; while (my $frame = $l->next(10)) { return $frame->{text} if $frame->{op} == 1 } return '' }
like(text_frame($slow), qr/"variable\.set"/, 'a slow one the first of it');
@big = map { text_frame($slow) =~ /"n" ?: ?(\d+)/ } 1 .. 3000;
is_deeply(\@big, [1 .. 3000], 'and all of it, once, in order, when it takes it');

# --- what a turn promotes is told with it ---

{
	my $id = session('a');
	$s->patch("/sessions/$id", { model_name => 'm?err=500', settings => { variable_promotion => 'branch' } }, as('a'));
	$s->post("/sessions/$id/respond", { message => 'hello' }, as('a'));
	$s->put('/variables', { session_id => $id, key => 'mark', value => 1 }, as('a'));
	$s->patch("/sessions/$id", { model_name => 'm' }, as('a'));
	my $heard = sse("?session_id=$id");
	my ($failed) = @{ $s->get("/floors?session_id=$id", as('a'))->{json}{data} };
	is($s->post("/floors/$failed->{id}/retry", {}, as('a'))->{status}, 200, 'a failed floor is committed');
	is($s->post("/sessions/$id/regenerate", {}, as('a'))->{status}, 200, 'and has another page');
	$s->put('/variables', { scope => 'chat', scope_id => $id, key => 'end', value => 1 }, as('a'));
	my @heard = $heard->rest(sub { $_[0]{event} eq 'variable.set' });
	is_deeply([map { [@$_{qw(key fromScope toScope value)}] } payload('variable.promoted', @heard)], [['mark', 'page', 'floor', 1], ['mark', 'floor', 'branch', 1]], 'what was promoted, once');
	is_deeply([map { scalar @{ $_->{promotedVariables} } } payload('floor.committed', @heard)], [2, 0], 'with the commit that did it');
}

# --- what is done to sessions and branches, each once ---

{
	my $heard = sse('?scope=account');
	my $id = session('a');
	my $floor = say($id)->{floor_id};
	my @done = (
		['session.created', { sessionId => $id, title => 's', status => 'active' }],
		$s->post("/floors/$floor/branch", { branch_id => 'fork' }, as('a'))->{status} == 201 ? ['branch.created', { sessionId => $id, branchId => 'fork', forkedFromBranchId => 'main', forkedAtFloorNo => 0 }] : (),
		$s->post("/sessions/$id/respond", { message => 'there', branch_id => 'asked', source_floor_id => $floor }, as('a'))->{status} == 200 ? ['branch.created', { sessionId => $id, branchId => 'asked', forkedAtFloorNo => 0 }] : (),
		$s->patch("/sessions/$id", { title => 'new' }, as('a'))->{status} == 200 ? ['session.updated', { sessionId => $id, title => 'new', status => 'active' }] : (),
		$s->patch('/sessions/batch/status', { ids => [$id, 'none'], status => 'archived' }, as('a'))->{status} == 200 ? ['session.updated', { title => 'new', status => 'archived' }] : (),
		$s->del('/branches/fork', as('a'))->{status} == 200 ? ['branch.deleted', { sessionId => $id, branchId => 'fork' }] : (),
	);
	my $gone = $s->post('/sessions/batch/delete', { ids => ['none', $id] }, as('a'));
	is_deeply($gone->{json}{data}{meta}, { total => 2, deleted => 1, not_found => 1, conflicts => 0 }, 'a batch is deleted');
	push @done, ['session.deleted', { sessionId => $id, title => 'new' }];
	is($s->post('/floors/' . say($sa)->{floor_id} . '/branch', { branch_id => 'main' }, as('a'))->{status}, 409, 'a fork that is refused');
	my $file = $s->post('/import/chat', { data => join("\n", map { $json->encode($_) } { user_name => 'U', character_name => 'C' }, { name => 'U', is_user => JSON::PP::true, mes => 'Hi.' }) }, as('a'));
	my $imported = $file->{json}{data}{session_id};
	ok($imported, 'a chat is imported') or diag $file->{raw};
	push @done, ['session.created', { sessionId => $imported, status => 'active' }];
	my $direct = session('a');
	is($s->del("/sessions/$direct", as('a'))->{status}, 200, 'one session is deleted');
	push @done, ['session.created', { sessionId => $direct }], ['session.deleted', { sessionId => $direct }];
	my @heard = grep { $_->{event} =~ /^(?:session|branch)\./ } $heard->rest(sub { $_[0]{event} eq 'session.deleted' && $_[0]{json}{data}{sessionId} eq $direct });
	is_deeply([map { my ($e, $want) = ($_, $done[$_]); $e = $heard[$_]; [$e->{event}, { map { $_ => $e->{json}{data}{$_} } keys %{ $want ? $want->[1] : {} } }] } 0 .. $#heard], \@done, 'sessions and branches, in order, each once');
	is(scalar(grep { !defined $_->{id} } @heard), 0, 'all of them are kept');
}

is(closed_with($keyed, 45), 1008, 'a revoked key ended it within a minute');

# --- faults ---

sub committed_ids { my ($l, $n) = @_; return map { (payload('floor.committed', until_committed($l)))[0]{floor}{id} } 1 .. $n }
my $last = $kept[-1]{id};
my $before = sse("?session_id=$sa", 'last-event-id' => $last);
my @seen = committed_ids($before, 4);
$before->{plain} = 1;    # the big ones come now
is($seen[-1], $floors[-1], 'from an old id to now');
my $at = (map { $before->next(0.2) // () } 1)[0];
my $resume_id = $s->sql(q{SELECT xid || '.' || no FROM tavern.event WHERE name = 'floor.committed' ORDER BY xid DESC, no DESC LIMIT 1});
$s->stop_eventd('KILL');
$before->rest;
ok(!$before->{socket}, 'eventd is killed: the stream ends');
my @missed = map { say($sa)->{floor_id} } 1 .. 2;
is($s->get("/events?session_id=$sa", as('a'))->{status}, 503, 'nobody tells');
ok($s->start_eventd, 'it is started again');
my $after = sse("?session_id=$sa", 'last-event-id' => $resume_id);
$after->{plain} = 1;
push @missed, say($sa)->{floor_id};
is_deeply([committed_ids($after, 3)], \@missed, 'what happened meanwhile is heard, once');

$s->kill_postgres('KILL');
sleep 0.6;
$s->start_postgres;
ok($s->wait_for('a turn', sub { $s->get("/sessions/$sa", as('a'))->{status} == 200 }), 'the database is back');
my $next = say($sa)->{floor_id};
is_deeply([committed_ids($after, 1)], [$next], 'the same stream goes on after the database was killed');

my $reloaded = ws("?session_id=$sa");
kill 'HUP', $s->{pid}{eventd};
is(closed_with($reloaded), 1012, 'SIGHUP: come back');
ok($s->wait_for('eventd', sub { ws("?session_id=$sa")->status == 101 }), 'it is there, with the same pid') && ok($s->alive('eventd'), 'alive');

my $old = sse("?session_id=$sa", 'last-event-id' => '1.1');
$s->sql(q{UPDATE tavern.event SET name = 'swept', data = '{}' WHERE (xid, no) = (SELECT xid, no FROM tavern.event ORDER BY xid, no LIMIT 1)});
is((sse("?session_id=$sa", 'last-event-id' => '1.1')->next(5) // {})->{event}, 'gap', 'an id that is no longer kept');

SKIP: {
	my $npm = $ENV{TAVERN_NPM} // '';
	my $top = Cwd::abs_path(__FILE__ =~ s{/[^/]*$}{/../..}r);
	skip 'no packages from npm: run ./check', 4 unless -d "$npm/node_modules/eventsource";
	my $pid = open my $fh, '-|', "printf '%s\n' floor.created floor.committed generation.completed generation.chunk | node '$top/tests/npm/listen.mjs' '@{[ $s->url ]}' '?session_id=$sa' key-a floor.committed 2 2>&1";
	like(scalar <$fh>, qr/^listening/, 'ws and eventsource listen');
	say($sa) for 1 .. 2;
	my $heard = eval { $json->decode(scalar <$fh>) } // {};
	is(scalar(grep { $_->{event} eq 'floor.committed' } @{ $heard->{ws} // [] }), 2, 'ws hears two turns');
	is(scalar(grep { $_->{event} eq 'floor.committed' } @{ $heard->{sse} // [] }), 2, 'eventsource too');
	is($heard->{sse}[-1]{lastEventId}, $heard->{ws}[-1]{id}, 'under the same id');
}

my $end = ws("?session_id=$sa");
is($s->stop_eventd('TERM'), 0, 'SIGTERM ends it well');
is(closed_with($end), 1001, 'after a goodbye');
done_testing;
