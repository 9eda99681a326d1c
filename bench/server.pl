#!/usr/bin/env perl
# server.pl: what the whole stack costs. CPU = user + system of nginx, tavernd and PostgreSQL with their children, durable
# commits on; the load clients and the mock model are not counted. Wall-clock figures are the median of three runs and stand
# beside a run straight to the mock. Prints a line per figure: name, value, unit, bound. Started by `make bench`.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../tests/lib";
use File::Temp qw(tempdir);
use IO::Handle;
use JSON::PP;
use POSIX ();
use Tavern::Stack;
use Time::HiRes qw(sleep time);

my $json = JSON::PP->new->utf8->canonical;
my $seconds = $ENV{BENCH_SECONDS} // 4;
my %only = map { $_ => 1 } @ARGV;      # names of parts; none = all
my $tmp = tempdir(CLEANUP => 1);
my $tick = POSIX::sysconf(&POSIX::_SC_CLK_TCK);
STDOUT->autoflush(1);

my $s = Tavern::Stack->new(own_pg => 1, pg_settings => ['fsync=on', 'shared_buffers=256MB'], workers => 2, mock_args => ['-n', 100, '-i', 20],
	conf => { worker_threads_max => 1200, worker_streams_max => 1100, worker_threads_reserved => 32, account_streams_max => 0, log_level => 'warn' });
print "# fsync=", scalar $s->sql('SHOW fsync'), " synchronous_commit=", scalar $s->sql('SHOW synchronous_commit'), " full_page_writes=",
	scalar $s->sql('SHOW full_page_writes'), " workers=2 cores=", scalar(() = qx(nproc) =~ /\d+/g), "\n";

sub part { return !%only || $only{ $_[0] } }
sub figure { my ($name, $value, $unit, $bound) = @_; printf "%-44s %10.3f %-4s %s\n", $name, $value, $unit, $bound // '' }
sub median { my @v = sort { $a <=> $b } @_; return $v[ @v / 2 ] }

# ---- CPU and memory of process trees ----

sub tree { my ($pid) = @_; my @kids = map { split } grep { defined } map { read_file("/proc/$pid/task/$_/children") } tasks($pid); return ($pid, map { tree($_) } @kids) }
sub tasks { my ($pid) = @_; opendir my $d, "/proc/$pid/task" or return; return grep { /^\d/ } readdir $d }
sub read_file { my ($path) = @_; open my $f, '<', $path or return; local $/; return scalar <$f> }
sub roots { return ($s->{pid}{nginx}, $s->{pid}{tavernd}, $s->{pid}{postgres}) }
sub cpu {
	my $ticks = 0;
	for my $pid (map { tree($_) } roots()) {
		my $stat = read_file("/proc/$pid/stat") // next;
		my @f = split ' ', $stat =~ s/^.*\) //sr;
		$ticks += $f[11] + $f[12] + $f[13] + $f[14];
	}
	return $ticks / $tick;
}
sub pss { my $kb = 0; for my $pid (map { tree($_) } @_) { my $r = read_file("/proc/$pid/smaps_rollup") // next; $kb += $1 if $r =~ /^Pss:\s+(\d+)/m } return $kb }

sub wrk {
	my ($path, $conns, $secs) = @_;
	my $before = cpu();
	my $out = qx(wrk -t1 -c$conns -d${secs}s http://127.0.0.1:$s->{port}$path 2>&1);
	my ($n) = $out =~ /(\d+) requests in/;
	my ($bad) = $out =~ /Non-2xx or 3xx responses: (\d+)/;
	warn "$path: $out" if $bad || !$n;
	return ((cpu() - $before) / ($n || 1) * 1000, ($n // 0) / $secs); # ms CPU each, per second
}

sub load { # [{method, path, body}], connections -> {rps, …}, ms CPU each
	my ($plan, $conns) = @_;
	open my $f, '>', "$tmp/plan.json" or die $!;
	print $f $json->encode($plan);
	close $f;
	my $before = cpu();
	my $r = $json->decode(scalar qx(node $FindBin::Bin/httpload.mjs --base http://127.0.0.1:$s->{port} --conns $conns --seconds $seconds --warm 0 --plan $tmp/plan.json));
	warn "bad answers: $r->{bad} ", $json->encode($r->{codes}) if $r->{bad};
	return ($r, (cpu() - $before) / ($r->{ok} || 1) * 1000);
}

# The machine: CPU of pgbench and its backend for a transaction of four round trips (BEGIN, enter, a session, COMMIT). The bounds below
# were set where it took 58 us; on a slower or busier machine every figure grows with it.
sub machine {
	my $id = $s->sql('SELECT id FROM tavern.session LIMIT 1');
	open my $f, '>', "$tmp/machine.sql" or die $!;
	print $f "BEGIN;\nSELECT a.no, set_config('tavern.account_no', a.no::text, true) FROM tavern.account a WHERE a.id = 'default-admin';\n",
		"SELECT s.no, s.status, s.prompt_mode FROM tavern.session s WHERE s.account_no = tavern.acct() AND s.id = '$id' AND s.deleted_at IS NULL;\nCOMMIT;\n";
	close $f;
	my $before = cpu() + (times)[2] + (times)[3];
	my $out = qx(@{[$s->_pg_bin]}/pgbench -h $s->{pg_socket} -U tavern_app -n -M prepared -c 1 -T 2 -f $tmp/machine.sql $s->{database} 2>&1);
	my ($n) = $out =~ /actually processed: (\d+)/ or die "pgbench: $out";
	return (cpu() + (times)[2] + (times)[3] - $before) / $n * 1e6;
}

# ---- data ----

figure('idle, fresh: master + workers, PSS', pss($s->{pid}{tavernd}) / 1024, 'MB', '<= 15') if part('idle');

print "# seeding\n";
my $t0 = time;
my @sessions = map { $s->post('/sessions', { title => "Session $_", model_name => 'm?n=1&i=0' })->{json}{data}{id} } 1 .. 1000;
my $long = $sessions[0];
for (1 .. 200) { my $r = $s->post("/sessions/$long/respond", { message => "Turn $_: what does the keeper write into the ledger tonight?" }); die $r->{raw} if $r->{status} != 200 }
$s->sql('VACUUM ANALYZE');
printf "# seeded in %.0f s\n", time - $t0;

figure('after 1,200 requests: master + workers, PSS', pss($s->{pid}{tavernd}) / 1024, 'MB') if part('idle');
figure('machine: a transaction of four round trips', median(map { machine() } 1 .. 3), 'us', '(58 where the bounds were set)');

if (part('health')) {
	wrk('/health', 16, 1);
	my (@health, @static);
	for (1 .. 3) { push @health, (wrk('/health', 16, 2))[1]; push @static, (wrk('/docs/', 16, 2))[1] }
	figure('GET /health / nginx static file', median(@health) / median(@static), 'x', '>= 0.35');
	figure('GET /health', median(@health), '/s');
}
if (part('sessions')) {
	wrk('/sessions?limit=20', 8, 1);
	figure('GET /sessions?limit=20 of 1000, CPU', median(map { (wrk('/sessions?limit=20', 8, $seconds))[0] } 1 .. 3), 'ms', '<= 0.3');
}
if (part('timeline')) {
	my $path = "/sessions/$long/timeline?limit=200";
	wrk($path, 4, 1);
	figure('GET timeline?limit=200, CPU', median(map { (wrk($path, 4, $seconds))[0] } 1 .. 3), 'ms', '<= 3');
}
if (part('respond')) {
	my @plan = map { { method => 'POST', path => "/sessions/$_/respond", body => { message => 'Hello there.' } } } @sessions[1 .. 256];
	load(\@plan, 32);
	my (@cpu, @rps);
	for (1 .. 3) { my ($r, $cpu) = load(\@plan, 32); push @cpu, $cpu; push @rps, $r->{rps} }
	figure('POST respond, instant model, committed, CPU', median(@cpu), 'ms', '<= 1.5');
	figure('POST respond, 32 connections', median(@rps), '/s', '>= 500');
}

# ---- dry run: a preset of 100 nodes, a book of 500 entries, a context of 8,192 tokens; 100, 1,000 and 20,000 floors ----

# A chat of $n committed floors; made in the database, for 20,000 turns through the API would take minutes.
sub story {
	my ($session, $n) = @_;
	my $said = 'The keeper turns the lamp once more and writes the hour into the ledger, slowly, because the ink is nearly gone. ' x 4;
	$s->sql(q{
		SELECT set_config('tavern.account_no', account_no::text, false) FROM tavern.session WHERE id = :'session';
		CREATE TEMP TABLE b AS SELECT b.* FROM tavern.branch b JOIN tavern.session s ON s.account_no = b.account_no AND s.no = b.session_no WHERE s.id = :'session';
		WITH f AS (
			INSERT INTO tavern.floor (id, session_no, segment_no, floor_seq, branch_id, state, committed_at, created_at, updated_at)
			SELECT :'session' || '-f' || i, b.session_no, b.segs[1], i, 'main', 'committed', i, i, i FROM b, generate_series(0, :n - 1) i ORDER BY i
			RETURNING no, floor_seq
		), p AS (
			INSERT INTO tavern.page (id, floor_no, kind, page_seq, active, created_at, updated_at)
			SELECT :'session' || '-p' || k.side || '-' || f.floor_seq, f.no, k.kind, k.side / 2, true, f.floor_seq, f.floor_seq
			  FROM f, (VALUES (0, 'input'), (2, 'output')) k (side, kind) ORDER BY f.floor_seq, k.side
			RETURNING no, kind, created_at AS floor_seq
		)
		INSERT INTO tavern.message (id, page_no, segment_no, floor_seq, side, seq, active, role, content, token_count, created_at)
		SELECT :'session' || '-m' || p.no, p.no, b.segs[1], p.floor_seq, CASE p.kind WHEN 'input' THEN 0 ELSE 2 END, 0, true,
		       CASE p.kind WHEN 'input' THEN 'user' ELSE 'assistant' END, CASE p.kind WHEN 'input' THEN 'What does the ledger say tonight?' ELSE :'said' END,
		       CASE p.kind WHEN 'input' THEN 8 ELSE 96 END, p.floor_seq
		  FROM p, b ORDER BY p.no;
		UPDATE tavern.branch SET head_seq = :n - 1, his[1] = :n - 1 FROM b WHERE branch.account_no = b.account_no AND branch.no = b.no;
		DROP TABLE b}, session => $session, n => $n, said => $said);
}
# What a preset author and a world builder bring; with rows that write variables, or rows that read them.
my %bound;
sub bound {
	my ($row) = @_;
	return %{ $bound{$row} } if $bound{$row};
	my @nodes = map { { identifier => "node-$_", name => "Node $_", role => 'system', system_prompt => JSON::PP::false, content =>
		"Rule $_: {{char}} never answers for {{user}}; the tower is quiet at night. {{// kept}}" . $row =~ s/N/$_/r } } 1 .. 99;
	my $preset = $s->post('/import/preset', { name => "Bench $row", data => { openai_max_context => 8192, openai_max_tokens => 512,
		prompts => [@nodes, { identifier => 'chatHistory', name => 'Chat History', marker => JSON::PP::true }],
		prompt_order => [{ character_id => 100001, order => [map { { identifier => $_->{identifier}, enabled => JSON::PP::true } } @nodes, { identifier => 'chatHistory' }] }] } });
	die $preset->{raw} if $preset->{status} != 201;
	my $book = $s->post('/import/worldbook', { name => "Bench $row", data => { entries => { map { $_ => { uid => $_, key => ["beacon$_", "harbour$_"],
		content => "Entry $_ about the coast.", order => $_, comment => "e$_" } } 0 .. 498, } } });
	die $book->{raw} if $book->{status} != 201;
	return %{ $bound{$row} = { preset_id => $preset->{json}{data}{id}, worldbook_profile_id => $book->{json}{data}{id} } };
}
sub told { # a session with $n floors
	my ($n, $row) = @_;
	my $id = $s->post('/sessions', { title => "Story $n", model_name => 'm?n=1&i=0', bound($row) })->{json}{data}{id};
	story($id, $n);
	return $id;
}
if (part('dryrun')) {
	my %cpu;
	for my $n (100, 1000, 20000) {
		my $id = told($n, '{{setvar::ruleN::1}}');
		$s->sql('ANALYZE');
		my @plan = ({ method => 'POST', path => "/sessions/$id/respond/dry-run", body => { message => 'And what about beacon7?' } });
		my $first = $s->post($plan[0]{path}, $plan[0]{body});
		die $first->{raw} if $first->{status} != 200;
		printf "# dry run at %d floors: %d messages, %d tokens, %d bytes\n", $n, scalar @{ $first->{json}{data}{messages} }, $first->{json}{data}{token_estimate},
			length $first->{raw};
		load(\@plan, 4);
		$cpu{$n} = median(map { (load(\@plan, 4))[1] } 1 .. 3);
		figure("POST dry-run at $n floors, CPU", $cpu{$n}, 'ms', '<= 2.5');
	}
	my ($low, undef, $high) = sort { $a <=> $b } values %cpu;
	figure('dry-run, dearest / cheapest of the three', $high / $low, 'x', '<= 1.2');
}

# ---- turns with that preset and book, in a context that is full at floor 100 ----

if (part('turns')) {
	my $plan = sub { [map { { method => 'POST', path => "/sessions/$_/respond", body => { message => 'And what about beacon7?' } } } @_] };
	my $row = '{{if {{getvar::mood}} == happy}}Keep it light.{{else}}Keep it tense.{{/if}}';
	my @young = map { told(100, $row) } 1 .. 256;
	my @old = map { told(20000, $row) } 1 .. 4;
	$s->sql('VACUUM ANALYZE');
	load($plan->(@young), 32);
	my (@cpu, @rps);
	for (1 .. 3) { my ($r, $cpu) = load($plan->(@young), 32); push @cpu, $cpu; push @rps, $r->{rps} }
	figure('POST respond, preset and book bound, CPU', median(@cpu), 'ms', '<= 2');
	figure('POST respond, preset and book bound', median(@rps), '/s', '>= 400');
	load($plan->(@old), 4);
	my ($high, $low) = map { my $of = $_; median(map { (load($plan->(@$of), 4))[1] } 1 .. 3) } \@old, [@young[0 .. 3]];
	figure('what a turn\'s explanation takes', $s->sql('SELECT max(octet_length(explain::text)) FROM tavern.turn_record') / 1024, 'KB', '<= 16');
	figure('POST respond at floor 20,000 / at floor 100', $high / $low, 'x', '<= 1.2');
}

# ---- a chat of 20,000 floors with 60 branch variables, each written hundreds of times: forks in its middle, values of then, search ----

if (part('forks')) {
	my $id = told(20000, 'x');
	my $took = sub { my ($n, $ask) = @_; my @t; my $cpu = cpu(); for my $i (1 .. $n) { my $t = time; my $r = $ask->($i); die $r->{raw} if $r->{status} >= 300; push @t, (time - $t) * 1000 } $cpu = (cpu() - $cpu) * 1000 / $n; return wantarray ? ($cpu, sprintf 'ms CPU; median %.2f ms, best %.2f ms', median(@t), (sort { $a <=> $b } @t)[0]) : $cpu };
	$s->put('/variables/batch', { items => [map { { scope => 'branch', session_id => $id, branch_id => 'main', key => "v$_", value => { at => 0, text => 'x' x 40 } } } 1 .. 60] });
	$s->sql(q{INSERT INTO tavern.var_change (account_no, id, session_no, segment_no, floor_seq, scope, scope_no, key, new_value, source, created_at)
		SELECT b.account_no, 'l' || i || '-' || k, b.session_no, b.segs[1], i, 'branch', b.no, 'v' || (1 + (i * 2 + k) % 60), '{"at":' || i || '}', 'macro', i
		  FROM tavern.branch b JOIN tavern.session s ON s.account_no = b.account_no AND s.no = b.session_no, generate_series(0, 19999) i, generate_series(0, 1) k WHERE s.id = :'session'}, session => $id);
	$s->sql('VACUUM ANALYZE');
	my $fork = sub { $s->post("/floors/$id-f10000/branch", { branch_id => "b$_[0]" }) };
	$took->(12, sub { $fork->("warm$_[0]") });
	figure('POST fork at floor 10,000, 60 variables, warm', $took->(60, $fork), '<= 5 ms best');
	figure('GET variables as of floor 10,000', $took->(60, sub { $s->get("/variables/as-of?session_id=$id&floor_no=10000") }));
	figure('DELETE a fork', $took->(60, sub { $s->del("/branches/b$_[0]?session_id=$id") }));
	$s->sql('UPDATE tavern.message SET content = content || \' The needle lies here.\' WHERE no % 2000 = 0');
	my $messages = $s->sql('SELECT count(*) FROM tavern.message'); # those of other parts, too
	my $began = time;
	my $before = cpu();
	$s->start_jobd;
	$s->wait_for('the words', sub { sleep 0.2; $s->sql('SELECT coalesce(max(upto), 0) = (SELECT max(no) FROM tavern.message) FROM tavern.search_mark') eq 't' }, 120);
	figure("words of $messages messages, by jobd", time - $began, 's');
	figure('words of 40,000 messages, CPU', (cpu() - $before) * 40000 / $messages, 's', '<= 5');
	$s->stop_jobd;
	$s->sql('VACUUM ANALYZE');
	figure('GET search, 20 of 40,000 messages', $took->(31, sub { $s->get("/messages?q=needle&session_id=$id") }), '<= 10 ms CPU');
	figure('GET search, 20,000 of 40,000 messages', $took->(5, sub { $s->get("/messages?q=keeper&session_id=$id") }), '<= 50 ms CPU');
}

# ---- a chat of 20,000 floors out of the database and into it, in both formats, as jobs ----

sub ticks { my ($pid) = @_; my $cpu = 0; for (tree($pid)) { my @f = split ' ', (read_file("/proc/$_/stat") // next) =~ s/^.*\) //sr; $cpu += $f[11] + $f[12] + $f[13] + $f[14] } return $cpu / $tick }
sub transfer { # what is queued, and how it is called
	my ($path, $body, $name, $bound, %more) = @_;
	my ($jobd, $postgres) = @{ $s->{pid} }{qw(jobd postgres)};
	my $idle = pss($jobd);
	my ($ours, $theirs, $began, $most) = (ticks($jobd), ticks($postgres), time, 0);
	my $queued = $s->post($path, $body, %more);
	my $job;

	die $queued->{raw} if $queued->{status} != 202;
	while (1) {
		my $now = pss($jobd);

		$most = $now if $now > $most;
		$job = $s->get("/chat-transfer-jobs/$queued->{json}{data}{job_id}")->{json}{data};
		last if $job->{finished_at};
		sleep 0.1;
	}
	die $json->encode($job) if $job->{status} ne 'succeeded';
	figure("$name, wall", time - $began, 's');
	figure("$name, CPU of jobd", ticks($jobd) - $ours, 's', $bound);
	figure("$name, CPU of PostgreSQL", ticks($postgres) - $theirs, 's');
	figure("$name, memory over idle", ($most - $idle) / 1024, 'MB', '<= 32');
	return $job;
}
if (part('chats')) {
	my $id = told(20000, 'x');

	$s->start_jobd;
	sleep 1;
	for my $format (qw(thchat st_jsonl)) {
		my $job = transfer("/export/chat/$id/jobs", { format => $format }, "export of 20,000 floors, $format", '<= 2');
		my $file = $s->get("/chat-transfer-jobs/$job->{id}/file")->{raw};
		my $form = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"x\"\r\ncontent-type: application/octet-stream\r\n\r\n$file\r\n--b--\r\n";

		printf "# a file of %.1f MB\n", length($file) / 2**20;
		transfer('/import/chat/jobs', $form, "import of 20,000 floors, $format", '<= 5', type => 'multipart/form-data; boundary=b');
	}
	$s->stop_jobd;
}

# ---- streams ----

sub sseload { my (@args) = @_; my $out = qx($s->{tools}/sseload @args); return $json->decode($out =~ /(\{.*\})/s ? $1 : '{}') }
sub streams { # count, beginning of the sessions' ids: through the server
	my ($n, $ids, @more) = @_;
	return sseload('-n', $n, '-r', 1000, '-e', "'event: done'", '-d', q('{"message":"Go on."}'), '-H', "'content-type: application/json'", @more,
		"http://127.0.0.1:$s->{port}/sessions/$ids-%d/respond/stream");
}
if (part('streams') || part('memory')) {
	# 2,000 sessions by number, so that a load client can name them.
	my $have = $s->sql('SELECT count(*) FROM tavern.session');
	$s->post('/sessions', { title => "Session $_" }) for $have .. 1999;
	$s->sql("UPDATE tavern.session SET id = 'bench-' || i, model_name = 'm?n=100&i=20', preset_id = NULL, worldbook_profile_id = NULL
		FROM (SELECT no AS n, row_number() OVER (ORDER BY no) - 1 AS i FROM tavern.session) x WHERE no = x.n");
}
# ---- 500 readers come back at once to a turn that runs: from the id to the first text behind it, all of them ----

if (part('resume')) {
	my $id = $s->post('/sessions', { title => 'resume', model_name => 'm?n=1500&i=10' })->{json}{data}{id};
	my $turn = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Go on.', on_disconnect => 'continue' });
	my ($last, @took);
	for (my $chunks = 0; $chunks < 100;) { my $e = $turn->next; $last = $e->{id}; $chunks++ if $e->{event} eq 'chunk' }
	my ($floor) = split /:/, $last;
	$turn->close;
	for (1 .. 3) {
		my $began = time;
		my $r = sseload('-n', 500, '-r', 0, '-m', 'GET', '-k', 1, '-H', "'last-event-id: $last'", "http://127.0.0.1:$s->{port}/floors/$floor/stream");
		push @took, time - $began;
		print '# ', $json->encode($r), "\n";
	}
	figure('500 readers resume a running turn', median(@took), 's', '<= 1');
	$s->post("/floors/$floor/cancel");
}

if (part('streams')) {
	my (@ttfb, @p99, @direct_ttfb, @direct_p99);
	for (1 .. 3) {
		my $direct = sseload('-n', 200, '-r', 1000, '-d', q('{"model":"m?n=100&i=20","stream":true,"messages":[]}'), $s->mock_url('/v1/chat/completions'));
		my $ours = streams(200, 'bench', '-k', 99); # the last one comes together with `done`, which repeats all stamps: stop before it
		print '# direct ', $json->encode($direct), "\n# ours   ", $json->encode($ours), "\n";
		push @ttfb, $ours->{ttfb_ms}{p50};
		push @direct_ttfb, $direct->{ttfb_ms}{p50};
		push @p99, $ours->{lat_ms}{p99};
		push @direct_p99, $direct->{lat_ms}{p99};
	}
	figure('200 streams: first byte p50 over the mock\'s', median(@ttfb) - median(@direct_ttfb), 'ms', '<= 10');
	figure('200 streams: chunk delay p99', median(@p99), 'ms', '<= 10');
	figure('200 streams: chunk delay p99, mock alone', median(@direct_p99), 'ms');
}
# Worker memory of each of $n streams that begin together, KB over what the workers held before; and one request's bytes.
sub held {
	my ($n, $ids) = @_;
	my $before = pss($s->{pid}{tavernd});
	my $open = 0;
	my $pid = fork;

	if ($pid == 0) { my $r = streams($n, $ids, '-r', 8000, '-t', 90); print '# ', $json->encode($r), "\n"; POSIX::_exit(0) }
	for (1 .. 60) { sleep 0.5; $open = $s->mock_stats->{active}; last if $open >= $n }
	sleep 1;
	my $each = (pss($s->{pid}{tavernd}) - $before) / ($open || 1);
	waitpid $pid, 0;
	return ($open, $each, $s->mock_stats->{last_body_bytes} / 1024);
}
if (part('memory')) {
	$s->sql("UPDATE tavern.session SET model_name = 'm?n=60&i=500'");
	my ($open, $each) = held(2000, 'bench');
	figure('2000 streams: open at once', $open, '');
	figure('2000 streams: worker memory each, PSS', $each, 'KB', '<= 60');
	my @long = map { $s->post('/sessions', { title => 'Long', model_name => 'm?n=60&i=500' })->{json}{data}{id} } 0 .. 199;
	$s->sql("UPDATE tavern.session SET id = 'long-$_' WHERE id = '$long[$_]'") for 0 .. 199;
	story("long-$_", 320) for 0 .. 199; # 32,000 tokens
	my @before = $s->workers;
	$s->reload; # their heaps are those of two thousand
	$s->wait_for('new workers', sub { !grep { kill 0, $_ } @before });
	($open, $each, my $request) = held(200, 'long');
	printf "# %d streams with requests of %.0f KB\n", $open, $request;
	figure('prompts of 32,000 tokens: each, over its request', $each - $request, 'KB', '<= 60');
}

# ---- those who listen ----

# 5,000 idle listeners, and how long after its commit a turn is heard by another one. Through nginx, as clients come.
sub events {
	my (@idle, @lag);
	my $session = $s->post('/sessions', { title => 'heard' })->{json}{data}{id};

	$s->start_eventd or die 'eventd';
	for my $i (1 .. 5000) {
		my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $s->{port}) or die "connect: $!";
		print {$socket} "GET /ws?session_id=$session HTTP/1.1\r\nHost: 127.0.0.1:$s->{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
			. "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
		push @idle, $socket;
	}
	for my $socket (@idle) {
		my $head = '';

		sysread $socket, $head, 4096;
		$head =~ /^HTTP\/1.1 101/ or die "no handshake: $head";
	}
	sleep 2;
	figure('events: 5000 idle listeners, memory', pss($s->{pid}{eventd}) / 1024, 'MB', '<= 20');
	@idle = ();
	sleep 1;
	my $other = $s->post('/sessions', { title => 'heard alone' })->{json}{data}{id};
	$s->sql("UPDATE tavern.session SET model_name = 'm?n=1&i=0' WHERE id = :'id'", id => $other);
	my $listener = $s->stream('GET', "/events?session_id=$other");
	for (1 .. 200) {
		$s->post("/sessions/$other/respond", { message => 'x' });
		while (my $event = $listener->next(5)) {
			next if $event->{event} ne 'floor.committed';
			push @lag, $event->{at} * 1000 - $event->{json}{timestamp};
			last;
		}
	}
	@lag = sort { $a <=> $b } @lag;
	figure('events: commit to listener, median', $lag[@lag / 2], 'ms', '');
	figure('events: commit to listener, 99th of 100', $lag[@lag * 0.99], 'ms', '');
	$s->stop_eventd;
}
events() if part('events');
