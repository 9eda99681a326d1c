#!/usr/bin/env perl
# What an operator's monitoring sees: /metrics in both formats, as promtool reads them; numbers that are right, of all workers
# together, and stay when a worker dies; traceparent in and out, and where the time of a turn went.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Temp qw(tempdir);
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(workers => 2, eventd => 1, jobd => 1);
my $open = { Accept => 'application/openmetrics-text; version=1.0.0' };

sub page { return $s->get('/metrics', headers => $open)->{raw} }

# The value of a sample; undef = there is none.
sub sample { my ($name, $text) = (@_, page()); return $text =~ /^\Qtavernd_$name\E (\S+)$/m ? $1 : undef }

sub promtool {
	my ($what, $text, @args) = @_;
	my $dir = tempdir(CLEANUP => 1);

	open my $f, '>', "$dir/page" or die $!;
	print {$f} $text;
	close $f;
	my $out = qx(cd $dir && promtool @args <page 2>&1);
	is $? >> 8, 0, $what or diag $out;
}

# ---- two formats ----

my $r = $s->get('/metrics');
is $r->{status}, 200, 'plain text';
like $r->{headers}{'content-type'}, qr{^text/plain; version=0\.0\.4}, 'plain: its type';
promtool('plain: promtool finds no fault', $r->{raw}, 'check', 'metrics');
$r = $s->get('/metrics', headers => $open);
like $r->{headers}{'content-type'}, qr{^application/openmetrics-text; version=1\.0\.0}, 'OpenMetrics: its type';
like $r->{raw}, qr/# EOF\n\z/, 'OpenMetrics: its end';
# Its reader of OpenMetrics wants times, which a page of the present has none of.
(my $timed = $r->{raw}) =~ s/^([^#\n].*)$/$1 1700000000/mg;
promtool('OpenMetrics: promtool reads it', $timed, 'tsdb', 'create-blocks-from', 'openmetrics', 'page', 'blocks');

# ---- the numbers ----

my $before = sample('requests_total{status="4xx"}');
is $s->get('/sessions/nowhere')->{status}, 404, 'a refusal';
is sample('requests_total{status="4xx"}'), $before + 1, 'is counted as one';
my $session = $s->post('/sessions', { title => 'Counted' })->{json}{data}{id};
my $trace = '0af7651916cd43dd8448eb211c80319c';
for my $i (1 .. 6) {
	$r = $s->post("/sessions/$session/respond", { message => "turn $i", debug_options => { include_runtime_trace => JSON::PP::true } },
		headers => { traceparent => "00-$trace-b7ad6b7169203331-01", tracestate => 'vendor=one' });
	is $r->{status}, 200, "turn $i" or diag $r->{raw};
}
is sample('turns_total{state="completed"}'), 6, 'turns of all workers are counted';
is sample('turn_seconds_count'), 6, 'and timed';
is sample("turn_${_}_seconds_count"), 6, "turns: $_" for qw(wait gather assembly lore regex open model commit);
is sample('first_token_seconds_count'), 6, 'time to the first token';
is sample('turns_active'), 0, 'no turn is open';
cmp_ok sample('tokens_total{kind="completion"}'), '>', 0, 'tokens';
cmp_ok sample('db_units_total'), '>', 12, 'units of database work';
cmp_ok sample('db_wait_seconds_count'), '>', 12, 'waits for a connection';
is sample('jobs{state="queued"}'), 0, 'what the database knows';
is sample('runs'), 0, 'no run is left';
$s->kill_mock;
isnt $s->post("/sessions/$session/respond", { message => 'nobody there' })->{status}, 200, 'a turn without a model fails';
is sample('turns_total{state="failed"}'), 1, 'and is counted';
is sample('model_calls_total{result="error"}'), 1, 'as a failed call';
$s->start_mock;

# ---- a stream in hand ----

$s->patch("/sessions/$session", { model_name => 'm?n=40&i=25' });
my $stream = $s->stream('POST', "/sessions/$session/respond/stream", { message => 'slowly' });
$s->wait_for('a reader is seen', sub { sample('stream_readers') == 1 });
is sample('turns_active'), 1, 'a turn is open';
$stream->rest;
$s->wait_for('the reader is gone', sub { sample('stream_readers') == 0 });
is sample('turns_active'), 0, 'the turn is over';
my $gaps = sample('chunk_gap_seconds_count');
ok $gaps > 0 && $gaps <= 39, 'the gaps between its 40 pieces, of which some may arrive together';

# ---- the other programs of the host ----

my $listener = $s->stream('GET', "/events?session_id=$session");
$s->wait_for('a listener is seen', sub { sample('event_clients') == 1 });
is $s->post("/sessions/$session/respond", { message => 'heard' })->{status}, 200, 'a turn that is listened to';
$s->wait_for('it was told, and how late', sub { sample('event_lag_seconds_count') > 0 });
cmp_ok sample('events_sent_total'), '>', 0, 'by events';
$listener->close;
$s->wait_for('the listener is gone', sub { sample('event_clients') == 0 });
is $s->post("/export/chat/$session/jobs", {})->{status}, 202, 'a job';
$s->wait_for('it is counted', sub { sample('job_tries_total{result="done"}') == 1 });
is sample('job_seconds_count'), 1, 'and timed';

# ---- what was counted stays, what was in hand does not ----

my $turns = sample('turns_total{state="completed"}');
my $requests = sample('requests_total{status="2xx"}');
$s->kill_worker($_) for $s->workers;
$s->wait_for('new workers serve', sub { $s->get('/health')->{status} == 200 });
is sample('turns_total{state="completed"}'), $turns, 'after kill -9 of all workers no turn is forgotten';
cmp_ok sample('requests_total{status="2xx"}'), '>=', $requests, 'and no request';
$s->wait_for('nothing seems to be in hand but the question itself', sub { sample('requests_active') <= 1 });

# ---- traces ----

$r = $s->post("/sessions/$session/respond", { message => 'traced', debug_options => { include_runtime_trace => JSON::PP::true } },
	headers => { traceparent => "00-$trace-b7ad6b7169203331-01", tracestate => 'vendor=one' });
my $timing = $r->{json}{data}{runtime_trace}{timing};
like $timing->{traceparent}, qr/^00-$trace-(?!b7ad6b7169203331)[0-9a-f]{16}-01$/, 'the trace goes on, with a span of ours';
like $s->mock_last_head, qr/^traceparent: \Q$timing->{traceparent}\E\r?$/m, 'to the model too';
like $s->mock_last_head, qr/^tracestate: vendor=one\r?$/m, 'with the state of others';
is_deeply [map { $_->{stage} } @{$timing->{stages}}], [qw(wait gather assemble assemble.lore assemble.regex open first_text model)], 'the waterfall, to the commit that the answer is part of';
cmp_ok $timing->{stages}[-1]{start_ms} + $timing->{stages}[-1]{ms}, '<', 60000, 'in milliseconds since the request';
like $s->log('tavernd'), qr/path=\/sessions\/$session\/respond .*trace=$trace/, 'the log names the trace';
$s->post("/sessions/$session/respond", { message => 'not traced' }, headers => { traceparent => 'nonsense' });
like $s->mock_last_head, qr/^traceparent: 00-(?!$trace)[0-9a-f]{32}-[0-9a-f]{16}-00\r?$/m, 'without a trace one begins';

$s->finish;
done_testing;
