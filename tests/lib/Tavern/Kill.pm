# Tavern::Kill: turns of every kind, brought to a named stage at once, so that one kill -9 meets all of them there; afterwards each
# of them is asked for again under its key. The product has no hooks for that: a stage is made to last by what it waits for: the
# model, a lock, a trigger that sleeps in the statement or in COMMIT, a standby that never answers.
package Tavern::Kill;

use strict;
use warnings;

use Carp qw(croak);
use Exporter qw(import);
use IO::Select;
use IO::Socket::INET;
use JSON::PP;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(@stages);
my $json = JSON::PP->new->utf8->canonical;

# ---- the kinds of turns ----

# name, what there is before, route, body, committed floors afterwards. A story begins with the floor "First.".
my @kinds = (
	[ 'respond',                  undef,     sub { "/sessions/$_[0]{id}/respond" },                           { message => 'Hi.' }, 2 ],
	[ 'respond, streamed',        undef,     sub { "/sessions/$_[0]{id}/respond/stream" },                    { message => 'Hi.' }, 2 ],
	[ 'respond behind a failure', \&failure, sub { "/sessions/$_[0]{id}/respond" },                           { message => 'Hi.' }, 2 ],
	[ 'regenerate',               undef,     sub { "/sessions/$_[0]{id}/regenerate" },                        {},                   1 ],
	[ 'regenerate, streamed',     undef,     sub { "/sessions/$_[0]{id}/regenerate/stream" },                 {},                   1 ],
	[ 'retry',                    undef,     sub { "/floors/$_[0]{floor}/retry" },                            {},                   1 ],
	[ 'retry of a failed floor',  \&failure, sub { "/floors/$_[0]{floor}/retry" },                            {},                   2 ],
	[ 'regenerate a shared head', \&fork_it, sub { "/sessions/$_[0]{id}/regenerate" },                        {},                   2 ],
	[ 'edit',                     undef,     sub { "/messages/$_[0]{message}/edit-and-regenerate" },          { content => 'Hi.' }, 2 ],
	[ 'edit, streamed',           undef,     sub { "/messages/$_[0]{message}/edit-and-regenerate/stream" },   { content => 'Hi.' }, 2 ],
);

sub failure {
	my ($k, $x) = @_;

	$k->model($x, 'm?err=500');
	$k->post($x, "/sessions/$x->{id}/respond", { message => 'Failed.' });
	$x->{floor} = (sort { $b->{floor_no} <=> $a->{floor_no} } @{ $k->{s}->get("/floors?session_id=$x->{id}", port => $k->{safe})->{json}{data} })[0]{id};
}
sub fork_it { my ($k, $x) = @_; $k->post($x, "/floors/$x->{floor}/branch", { branch_id => 'fork' }) }

# ---- the stages ----

# name, what the model does, what is held before, true when all have come to it, what lets go; the state of the runs in the end when the
# worker was killed, and when PostgreSQL was: a reply that is there when it goes is committed when it is back; model calls so far.
# Stages that leave runs to the sweeper when PostgreSQL goes come first: their leases are over when the others have been through.
our @stages = (
	[ 'in the transaction that fails it', '?err=500', hold('in fail'), held('PgSleep'), \&release, 'failed', 'failed', 1 ],
	[ 'in the COMMIT of a failure', '?err=500', hold('end of fail'), held('PgSleep'), \&release, 'failed', 'failed', 1 ],
	[ 'reading what the turn needs', '', \&lock_table, held('relation'), \&unlock_table, 'none', 'none', 0 ],
	[ 'in the transaction that opens it', '', hold('in open'), held('PgSleep'), \&release, 'none failed', 'none', 0 ],
	[ 'in the COMMIT of that', '', hold('end of open'), held('PgSleep'), \&release, 'none failed', 'none', 0 ],
	[ 'the model was asked', '?f=20000', undef, mock_has(0, 1), undef, 'failed', 'failed', 1 ],
	[ 'the first piece of the reply', '?n=50&stall=1', undef, heard(1), undef, 'failed', 'failed', 1 ],
	[ 'in the middle of the reply', '?n=150&i=20', undef, \&persisted, undef, 'failed', 'completed', 1 ],
	[ 'the last piece of the reply', '?n=5&i=60&stall=5', undef, heard(5), undef, 'failed', 'failed', 1 ],
	[ 'in the transaction that commits it', '', hold('in commit'), held('PgSleep'), \&release, 'completed failed', 'completed', 1 ],
	[ 'in the COMMIT of the reply', '', hold('end of commit'), held('PgSleep'), \&release, 'completed', 'completed', 1 ],
	[ 'committed, not answered', '', hold('end of commit'), \&at_standby, \&standby_off, 'completed', 'completed', 1 ],
);

sub hold {
	my ($what) = @_;

	return sub { my ($k) = @_; $k->{s}->sql(q{INSERT INTO public.hold SELECT :'what', unnest(string_to_array(:'ids', ','))}, what => $what, ids => join ',', map { $_->{id} } @{ $k->{now} }) };
}
sub release { my ($k) = @_; $k->{s}->sql('SET synchronous_commit = local; DELETE FROM public.hold') }
# They look again and again whether they may go on, so they are not all asleep at the same moment.
sub held {
	my ($event) = @_;

	return sub {
		my ($k) = @_;
		$k->{met}{$event}{ $_->[0] } = 1 for $k->{s}->sql("SELECT pid FROM pg_stat_activity WHERE usename = 'tavern_app' AND wait_event = '$event'");
		return keys %{ $k->{met}{$event} // {} } >= @{ $k->{now} };
	};
}

# Every turn reads the table; nobody else has to.
sub lock_table {
	my ($k) = @_;

	$k->{locker} = fork // die "fork: $!";
	if ($k->{locker} == 0) {
		eval { $k->{s}->sql('BEGIN; LOCK TABLE tavern.active_preset; SELECT pg_sleep(60)') };
		POSIX::_exit(0);
	}
	$k->{s}->wait_for('the lock', sub { @{ $k->lockers } });
}
sub lockers { my ($k) = @_; return [ map { $_->[0] } $k->{s}->sql(q{SELECT pid FROM pg_locks WHERE relation = 'tavern.active_preset'::regclass AND mode = 'AccessExclusiveLock' AND granted}) ] }
sub unlock_table {
	my ($k) = @_;

	$k->{s}->sql("SELECT pg_terminate_backend($_)") for @{ $k->lockers };
	waitpid delete $k->{locker}, 0 if $k->{locker};
}

sub mock_has { my ($what, $n) = @_; return sub { my ($k) = @_; my $calls = $k->{s}->mock_calls; return !grep { ($calls->{ $_->{model} } // [0, 0])->[$what] < $n } @{ $k->{now} } } }
sub heard {
	my ($n) = @_;
	my $sent = mock_has(1, $n);

	return sub { my ($k) = @_; read_all($k); return $sent->($k) && !grep { $_->{streamed} && (() = $_->{raw} =~ /^event: chunk/mg) < $n } @{ $k->{now} } };
}
sub persisted { my ($k) = @_; return $k->{s}->sql('SELECT count(DISTINCT t.run_no) FROM tavern.run_text t JOIN tavern.run r ON r.no = t.run_no JOIN tavern.session s ON s.no = r.session_no WHERE s.id = ANY (string_to_array(:\'ids\', \',\'))',
	ids => join ',', map { $_->{id} } @{ $k->{now} }) >= @{ $k->{now} } }

# Who commits now has written it down, and waits for a standby that is not there: nobody else sees it, and nobody is told.
sub at_standby {
	my ($k) = @_;

	if (!$k->{standby}) {
		held('PgSleep')->($k) or return 0;
		$k->{s}->sql(q{ALTER SYSTEM SET synchronous_standby_names = 'nobody'});
		$k->{s}->sql('SELECT pg_reload_conf()');
		$k->{s}->wait_for('the setting', sub { $k->{s}->sql('SHOW synchronous_standby_names') eq 'nobody' });
		release($k);
		$k->{standby} = 1;
	}
	return held('SyncRep')->($k);
}
sub standby_off {
	my ($k) = @_;

	delete $k->{standby};
	$k->{s}->sql('ALTER SYSTEM RESET synchronous_standby_names');
	$k->{s}->sql('SELECT pg_reload_conf()');
}

# ---- clients that wait, and are not waited for ----

sub ask {
	my ($k, $x, $port) = @_;
	my $body = $json->encode($x->{body});

	$x->{raw} = '';
	$x->{socket} = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or croak "connect: $!";
	$x->{socket}->autoflush(1);
	$x->{socket}->print("POST $x->{path} HTTP/1.1\r\nHost: 127.0.0.1:$port\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ", length $body,
		"\r\nIdempotency-Key: $x->{key}\r\n\r\n$body");
}

# What has come so far; true when something may still come.
sub read_all {
	my ($k, @x) = @_;
	my $open = 0;

	for my $x (@x ? @x : @{ $k->{now} }) {
		while ($x->{socket} && IO::Select->new($x->{socket})->can_read(0)) {
			sysread $x->{socket}, $x->{raw}, 65536, length $x->{raw} or delete $x->{socket};
		}
		$open ||= $x->{socket};
	}
	return $open;
}

# ---- one stage ----

# new(STACK, port that survives): installs what holds.
sub new {
	my ($class, $s, $safe) = @_;

	$s->sql(<<'EOT');
CREATE TABLE public.hold (stage text, session_id text);
CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$
DECLARE
	sid text;
	what text := TG_ARGV[0];
BEGIN
	IF TG_TABLE_NAME = 'run' THEN
		sid := (SELECT id FROM tavern.session WHERE no = NEW.session_no AND account_no = NEW.account_no);
		what := what || ' open';
	ELSE
		sid := NEW.session_id;
		what := what || CASE NEW.name WHEN 'floor.committed' THEN ' commit' WHEN 'floor.failed' THEN ' fail' WHEN 'run.failed' THEN ' fail' ELSE '' END;
	END IF;
	WHILE EXISTS (SELECT FROM public.hold h WHERE h.stage = what AND h.session_id = sid) LOOP
		PERFORM pg_sleep(0.02);
	END LOOP;
	RETURN NEW;
END $$;
CREATE TRIGGER hold BEFORE INSERT ON tavern.run FOR EACH ROW EXECUTE FUNCTION public.hold('in');
CREATE TRIGGER hold BEFORE INSERT ON tavern.event FOR EACH ROW EXECUTE FUNCTION public.hold('in');
CREATE CONSTRAINT TRIGGER hold_end AFTER INSERT ON tavern.run DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hold('end of');
CREATE CONSTRAINT TRIGGER hold_end AFTER INSERT ON tavern.event DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.hold('end of');
EOT
	return bless { s => $s, safe => $safe, all => [], n => 0 }, $class;
}

sub model { my ($k, $x, $name) = @_; return $k->{s}->patch("/sessions/$x->{id}", { model_name => $name }, port => $k->{safe}) }
sub post { my ($k, $x, $path, $body, %headers) = @_; return $k->{s}->post($path, $body, port => $k->{safe}, headers => \%headers) }

sub prepare {
	my ($k, $stage, $kind) = @_;
	my ($name, $before, $path, $body, $floors) = @$kind;
	my %x = (key => 'key ' . ++$k->{n}, model => "k$k->{n}", name => "$stage->[0]: $name",
		body => { %$body, generation_params => { stream => JSON::PP::true } }, streamed => scalar($name =~ /streamed/), floors => $floors);

	# /health may remember a second of before the kill
	$x{id} = $k->{s}->wait_for("a session for $x{name}", sub { $k->{s}->post('/sessions', { title => $x{name} }, port => $k->{safe})->{json}{data}{id} }, 20)
		// die "no session for $x{name}";
	$x{floor} = $k->post(\%x, "/sessions/$x{id}/respond", { message => 'First.' })->{json}{data}{floor_id} // die "no floor for $x{name}";
	$before->($k, \%x) if $before;
	if ($name =~ /^edit/) {
		my ($page) = @{ $k->{s}->get("/pages?floor_id=$x{floor}&page_kind=input", port => $k->{safe})->{json}{data} };
		$x{message} = $k->{s}->get("/messages?page_id=$page->{id}", port => $k->{safe})->{json}{data}[0]{id};
	}
	$x{path} = $path->(\%x);
	$k->model(\%x, $x{model} . $stage->[1]);
	return \%x;
}

# play(STAGE, port of who is asked, VICTIM (0 = worker, 1 = PostgreSQL), what kills; what lets go comes after it).
sub play {
	my ($k, $stage, $port, $victim, $kill) = @_;
	my ($name, $model, $before, $there, $after, @want) = @$stage;

	$k->{met} = {};
	$k->{now} = [ map { prepare($k, $stage, $_) } @kinds ];
	$before->($k) if $before;
	ask($k, $_, $port) for @{ $k->{now} };
	ok $k->{s}->wait_for($name, sub { $there->($k) }, 20), "$name: all are there" or $k->explain_wait;
	$kill->();
	$after->($k) if $after && $after != \&release;
	release($k) if $after;
	for my $x (@{ $k->{now} }) {
		$x->{want} = $want[$victim];
		$x->{asked} = $want[2];
	}
	push @{ $k->{all} }, @{ $k->{now} };
}

sub explain_wait {
	my ($k) = @_;

	read_all($k);
	diag map { "$_->{name}: $_->{raw}\n" } grep { length $_->{raw} } @{ $k->{now} };
	diag map { join(' | ', @$_) . "\n" } $k->{s}->sql(q{SELECT usename, state, wait_event_type, wait_event, pg_blocking_pids(pid), left(query, 60) FROM pg_stat_activity WHERE usename LIKE 'tavern%'});
}

# ---- afterwards ----

# One row for each turn: which of its kind ran how often.
sub look {
	my ($k) = @_;

	return map { $_->[0] => { run => $_->[1], completed => $_->[2], floors => $_->[3], text => $_->[4] } } $k->{s}->sql(<<'EOT');
SELECT s.id, coalesce((SELECT r.state FROM tavern.idempotency k JOIN tavern.run r ON r.no = k.run_no WHERE r.session_no = s.no), 'none'),
       (SELECT count(*) FROM tavern.run r WHERE r.session_no = s.no AND r.state = 'completed'),
       (SELECT count(*) FROM tavern.floor f WHERE f.session_no = s.no AND f.state = 'committed'),
       (SELECT count(*) FROM tavern.page p JOIN tavern.floor f ON f.no = p.floor_no JOIN tavern.message m ON m.page_no = p.no WHERE f.session_no = s.no AND p.state = 'failed' AND m.content <> '')
  FROM tavern.session s
EOT
}

# What a call under the key of X gives, and how often a model was asked for it.
sub again {
	my ($k, $x) = @_;
	my $before = ($k->{s}->mock_calls->{"$x->{model}r"} // [0])->[0];
	my ($status, $data, $replayed);

	if ($x->{streamed}) {
		my $stream = $k->{s}->stream('POST', $x->{path}, $x->{body}, port => $k->{safe}, headers => { 'idempotency-key' => $x->{key} });
		my $last = ($stream->rest)[-1];
		($status, $data, $replayed) = ($stream->status, $last && $last->{event} eq 'done' ? $last->{json} : undef, $stream->header('idempotent-replayed'));
	} else {
		my $r = $k->post($x, $x->{path}, $x->{body}, 'idempotency-key' => $x->{key});
		($status, $data, $replayed) = ($r->{status}, $r->{json}{data}, $r->{headers}{'idempotent-replayed'});
	}
	return { status => $status, data => $data, replayed => $replayed, calls => ($k->{s}->mock_calls->{"$x->{model}r"} // [0])->[0] - $before };
}

# Who was killed is back (a session named T goes on talking all the time): each turn is whole or has failed, and is asked for again.
sub afterwards {
	my ($k) = @_;
	my ($s, @all) = ($k->{s}, @{ $k->{all} });

	ok $s->wait_for('the end of all', sub { !read_all($k, @all) }, 20), 'everybody was answered or cut off';
	$s->sql(q{UPDATE tavern.run r SET lease_until = tavern.now_ms() FROM tavern.session s WHERE s.no = r.session_no AND r.state = 'running' AND s.title <> 'T'});    # nobody has them: some time later
	ok $s->wait_for('the sweeper', sub { $s->sql("SELECT count(*) FROM tavern.run r JOIN tavern.session s ON s.no = r.session_no WHERE r.state = 'running' AND s.title <> 'T'") == 0 }, 40), 'nothing is stuck'
		or diag map { join(' | ', @$_) . "\n" } $s->sql('SELECT no, type, lease_until - tavern.now_ms(), worker FROM tavern.run WHERE state = \'running\'');
	is_deeply [$s->invariants], [], 'nothing is half';
	my %seen = look($k);
	my $calls = $s->mock_calls;
	for my $x (@all) {
		my $seen = $seen{ $x->{id} };
		my $answered = $x->{raw} =~ m{\AHTTP/1\.1 200 .*?\r\n\r\n}s && ($x->{streamed} ? $x->{raw} =~ /^event: done/m : 1);
		like $seen->{run}, qr/^(?:@{[ join '|', split ' ', $x->{want} ]})$/, "$x->{name}: the run: $x->{want}" or diag grep { /\Q$x->{id}\E/ } split /^/, $s->log('tavernd');
		is $calls->{ $x->{model} }[0] // 0, $x->{asked}, "$x->{name}: model calls before";
		ok !$answered || $seen->{run} eq 'completed', "$x->{name}: nobody was told of what is not there";
		ok $seen->{text} > 0, "$x->{name}: what had been said is kept" if $x->{name} =~ /middle/ && $seen->{run} eq 'failed';
		$x->{was} = $seen->{run};
		$k->model($x, "$x->{model}r?n=2&i=1");
		my @again = map { again($k, $x) } 1 .. 2;
		is_deeply [ map { [ @$_{qw(status replayed calls)} ] } @again ],
			[ [ 200, $x->{was} eq 'completed' ? ('true', 0) : (undef, 1) ], [ 200, 'true', 0 ] ], "$x->{name}: again, and again" or diag explain \@again, $x;
		is_deeply $again[1]{data}, $again[0]{data}, "$x->{name}: the same answer";
		$x->{answer} = $again[0]{data} // {};
	}
	%seen = look($k);
	for my $x (@all) {
		is_deeply [ @{ $seen{ $x->{id} } }{qw(run completed floors)} ], [ 'completed', 2, $x->{floors} ], "$x->{name}: happened once" or diag explain $seen{ $x->{id} };
		my $floor = $x->{answer}{floor_id} // 'none';
		is $s->get("/floors/$floor/result", port => $k->{safe})->{json}{data}{generated_text}, $x->{answer}{generated_text}, "$x->{name}: as it was answered";
		is $k->post($x, "/sessions/$x->{id}/respond", { message => 'Well?', branch_id => $x->{answer}{branch_id} })->{status}, 200, "$x->{name}: the branch goes on";
		my $sent = join ' ', map { "<$_->{content}>" } grep { $_->{role} eq 'user' } @{ $s->mock_last->{messages} };
		my $said = $x->{path} =~ m{^/sessions/.*/respond} ? '<First.> <Hi.>' : $x->{name} =~ /failed floor/ ? '<First.> <Failed.>' : $x->{path} =~ /edit/ ? '<Hi.>' : '<First.>';
		is $sent, "$said <Well?>", "$x->{name}: the story has it once";
	}
	is_deeply [$s->invariants], [], 'nor is anything half after that';
}

1;
