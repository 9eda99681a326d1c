#!/usr/bin/env perl
# kill -9 of tavern-jobd at every stage of an import, an export and the removal of a session, and of tavern-eventd while clients listen:
# a job is done once in the end, and who comes back with the last id misses nothing and hears nothing twice.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(sleep time);

my $s = Tavern::Stack->new(jobd => 1, eventd => 1, conf => { chat_inline_floors => 10, chat_inline_bytes => '2k' });
my $json = JSON::PP->new->utf8->canonical;
my $lines = join '', map { "$_\n" } '{"chat_metadata":{},"user_name":"Al","character_name":"Bo"}',
	map { $json->encode({ name => $_ % 2 ? 'Al' : 'Bo', is_user => $_ % 2 ? JSON::PP::true : JSON::PP::false, is_system => JSON::PP::false, send_date => '2026-01-02T03:04:05.678Z', mes => "Line $_. " . 'word ' x 400 }) } 0 .. 299;

sub one { scalar $s->sql(@_) }
sub job { return $s->get("/chat-transfer-jobs/$_[0]")->{json}{data} }
sub succeeds { my ($id) = @_; $s->wait_for("job $id", sub { job($id)->{status} =~ /succeeded|dead_letter|cancelled/ }, 20); return job($id) }
sub import_job { return $s->post('/import/chat/jobs', { data => $lines, title => $_[0] })->{json}{data}{job_id} }
sub export_job { return $s->post("/export/chat/$_[0]/jobs", { format => 'st_jsonl' })->{json}{data}{job_id} }

# ---- what makes a stage last ----

$s->sql(<<'EOT');
CREATE TABLE public.hold (stage text);
CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
DECLARE
	what text := TG_ARGV[0] || TG_TABLE_NAME || ' ' || lower(TG_OP);
BEGIN
	IF TG_TABLE_NAME = 'job' THEN
		what := TG_ARGV[0] || CASE WHEN NEW.state = 'done' THEN 'done' WHEN OLD.state = 'queued' AND NEW.state = 'running' THEN 'claim' ELSE 'progress' END;
	END IF;
	WHILE EXISTS (SELECT FROM hold h WHERE h.stage = what) LOOP
		PERFORM pg_sleep(0.01);
	END LOOP;
	RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
EOT
for my $on (['job', 'UPDATE'], ['job_file', 'INSERT'], ['floor', 'INSERT'], ['floor', 'DELETE'], ['session', 'DELETE']) {
	my ($table, $op) = @$on;
	$s->sql("CREATE TRIGGER hold_$op BEFORE $op ON tavern.$table FOR EACH ROW EXECUTE FUNCTION public.hold('');
		CREATE CONSTRAINT TRIGGER hold_end_$op AFTER $op ON tavern.$table DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hold('end of ')");
}
sub held { one(q{SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename LIKE 'tavern%' AND wait_event = 'PgSleep'}) }

# ---- tavern-jobd ----

my $first = succeeds(import_job('Whole'));
my $session = $first->{result_session_id};
my $floors = one(q{SELECT count(*) FROM tavern.floor f JOIN tavern.session s ON s.no = f.session_no WHERE s.id = :'id'}, id => $session);
my $file = $s->get('/chat-transfer-jobs/' . succeeds(export_job($session))->{id} . '/file')->{raw};
cmp_ok $floors, '>', 100, 'a chat of many floors';
cmp_ok length $file, '>', 500_000, 'and its file';

sub import_is_whole {
	my ($title, $id) = @_;
	my $job = succeeds($id);

	is $job->{status}, 'succeeded', "$title: it succeeds";
	is_deeply [ map { $_->[0] } $s->sql(q{SELECT count(f.no) FROM tavern.session s JOIN tavern.floor f ON f.session_no = s.no WHERE s.title = :'t' AND s.deleted_at IS NULL GROUP BY s.no}, t => $title) ],
		[$floors], "$title: one session, and the whole of it";
}
sub export_is_whole {
	my ($title, $id) = @_;

	is succeeds($id)->{status}, 'succeeded', "$title: it succeeds";
	ok $s->get("/chat-transfer-jobs/$id/file")->{raw} eq $file, "$title: the same file";
}
sub removal_is_whole {
	my ($title, $id) = @_;

	ok $s->wait_for($title, sub { one(q{SELECT count(*) FROM tavern.session WHERE id = :'id'}, id => $id) == 0 }, 20), "$title: the session goes";
}
sub removed { my ($title) = @_; my $id = succeeds(import_job($title))->{result_session_id}; $s->stop_jobd; $s->del("/sessions/$id"); $s->start_jobd; return $id }

# what is done, what begins it, the stage, what must hold afterwards
my @jobs = (
	(map { [ 'import', \&import_job, $_, \&import_is_whole ] } 'claim', 'end of claim', 'progress', 'floor insert', 'end of floor insert', 'done', 'end of done'),
	(map { [ 'export', sub { export_job($session) }, $_, \&export_is_whole ] } 'claim', 'progress', 'job_file insert', 'end of job_file insert', 'done', 'end of done'),
	(map { [ 'removal', \&removed, $_, \&removal_is_whole ] } 'floor delete', 'end of floor delete', 'session delete', 'end of session delete'),
);
for my $row (@jobs) {
	my ($what, $begin, $stage, $whole) = @$row;
	my $title = "$what killed in: $stage";

	$s->sql(q{INSERT INTO public.hold VALUES (:'stage')}, stage => $stage);
	my $id = $begin->($title);
	ok $s->wait_for($title, \&held, 10), "$title: there";
	$s->stop_jobd('KILL');
	$s->sql('DELETE FROM public.hold');
	ok $s->wait_for('its transaction', sub { one(q{SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename LIKE 'tavern%' AND state = 'active'}) == 0 }, 10), "$title: over";
	$s->sql("UPDATE tavern.job SET lease_until = 0 WHERE state = 'running'");    # a minute later
	$s->start_jobd;
	$whole->($title, $id);
}
is one(q{SELECT count(*) FROM tavern.job WHERE state <> 'done'}), 0, 'no job is left';
is_deeply [$s->invariants], [], 'nothing is half';

# ---- tavern-eventd ----

my $id = $s->post('/sessions', { title => 'T', model_name => 'm?n=30&i=10' })->{json}{data}{id};
sub hear { my ($last) = @_; return $s->stream('GET', "/events?session_id=$id", undef, headers => { $last ? ('last-event-id' => $last) : () }) }
sub say { return $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.' }) }
sub until_event { my ($l, $name, $heard) = @_; while (my $e = $l->next(10)) { push @$heard, $e->{id} // (); return 1 if $e->{event} eq $name } return 0 }

my @heard;
my $listener = hear();
say()->rest;
ok until_event($listener, 'floor.committed', \@heard), 'a turn is heard';
for my $when ('nothing happens', 'floor.created', 'generation.started', 'generation.chunk', 'floor.committed', 'it replays') {
	my $turn = $when eq 'nothing happens' ? undef : say();

	if ($when eq 'it replays') {
		$turn->rest;
		$listener->close;
		$listener = hear($heard[0]);
		my @again;
		ok until_event($listener, 'floor.committed', \@again), "$when: from an old id";
		is_deeply \@again, [ @heard[1 .. @again] ], "$when: the same again";
	} elsif ($turn) {
		ok until_event($listener, $when, \@heard), "$when: there";
	}
	$s->stop_eventd('KILL');
	push @heard, map { $_->{id} // () } $listener->rest unless $when eq 'it replays';
	if ($turn) { $turn->rest } else { say()->rest }
	$s->start_eventd;
	$listener = hear($heard[-1]);
	say()->rest;
}
my $last = one(q{SELECT f.id FROM tavern.floor f JOIN tavern.session s ON s.no = f.session_no WHERE s.id = :'id' ORDER BY f.no DESC LIMIT 1}, id => $id);
while (my $e = $listener->next(10)) {
	push @heard, $e->{id} // ();
	last if $e->{event} eq 'floor.committed' && $e->{json}{data}{floor}{id} eq $last;
}
my $all = hear($heard[0]);
my @replayed = ($heard[0]);
while (my $e = $all->next(10)) {
	push @replayed, $e->{id} // ();
	last if $e->{event} eq 'floor.committed' && $e->{json}{data}{floor}{id} eq $last;
}
is_deeply \@heard, \@replayed, 'heard over all kills: everything, once, in order';
is scalar(grep { /\S/ } @heard), scalar(keys %{ { map { $_ => 1 } @heard } }), 'no id twice';
is_deeply [$s->invariants], [], 'nothing is half';

done_testing;
