#!/usr/bin/env perl
# Model servers as they are: one that fails now and then is asked again before the reply begins, one behind TLS is trusted
# by the operator's own certificate authority and by no other.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use JSON::PP;
use Tavern::Stack;
use Test::More;
use Time::HiRes qw(time);

my $dir = tempdir(CLEANUP => 1);
my $sock = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 64, ReuseAddr => 1) or die $!;
my $base = 'http://127.0.0.1:' . $sock->sockport . '/v1';

# A server that answers by script: each line of $dir/script is taken by one request; without a line it replies.
sub note_line { open my $f, '>>', "$dir/log" or die $!; syswrite $f, "$_[0]\n" }
sub script { open my $f, '>', "$dir/script" or die $!; print $f map { "$_\n" } @_; close $f; unlink "$dir/log" }
sub asked { my @l; if (open my $f, '<', "$dir/log") { chomp(@l = <$f>) } return @l }
sub next_line {
	open my $f, '<', "$dir/script" or return '';
	my @l = <$f>;
	close $f;
	my $line = shift(@l) // '';
	open $f, '>', "$dir/script" or die $!;
	print $f @l;
	chomp $line;
	return $line;
}
sub serve {
	my ($c) = @_;
	my ($head, $body, $n) = ('', '', 0);

	while (my $l = <$c>) { $head .= $l; $n = $1 if $l =~ /^content-length: (\d+)/i; last if $l =~ /^\r?\n$/ }
	read $c, $body, $n if $n;
	open my $f, '>', "$dir/last" or die $!;
	print $f $head, $body;
	close $f;
	my $what = next_line();
	note_line("$what " . length $body);
	my $ok = '{"model":"m","choices":[{"index":0,"message":{"content":"Here I am."},"finish_reason":"stop"}]}';
	$ok = '{"type":"message","model":"m","content":[{"type":"text","text":"Here I am."}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4}}' if $head =~ m{^POST /v1/messages };
	$ok = '{"candidates":[{"content":{"parts":[{"text":"Here I am."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4}}' if $head =~ m{:generateContent };
	my $sse = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half \"}}]}\n\n";
	return if $what eq 'drop';
	if ($what eq 'half') { print $c "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n$sse"; return }
	if ($what =~ /^(\d{3})(?: (.*))?$/) { print $c "HTTP/1.1 $1 X\r\n" . ($2 ? "$2\r\n" : '') . "content-type: application/json\r\ncontent-length: 27\r\nconnection: close\r\n\r\n" . '{"error":{"message":"bad"}}'; return }
	my $reply = $what eq 'empty' ? '{"choices":[{"index":0,"message":{"content":""},"finish_reason":"stop"}]}' : $ok;
	print $c "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: " . length($reply) . "\r\nconnection: close\r\n\r\n$reply";
}
my $server = fork // die $!;
if (!$server) { local $SIG{PIPE} = 'IGNORE'; while (my $c = $sock->accept) { $c->autoflush(1); serve($c); close $c } exit 0 }
END { kill 'TERM', $server if $server }

my $s = Tavern::Stack->new(mock => 0, conf => { llm_provider => 'openai-compatible', llm_base_url => $base, llm_model => 'm', allow_private_base_url => 'true', llm_max_retries => 2 });
my $sid = $s->post('/sessions', { title => 'T' })->{json}{data}{id};
sub turn { return $s->post("/sessions/$sid/respond", { message => 'Hi.', @_ }) }

# ---- asked again ----

script('503', '429 retry-after-ms: 20');
my $r = turn();
is $r->{status}, 200, 'two failures that may pass, then a reply' or diag $r->{raw};
is scalar(my @l = asked()), 3, 'asked three times';
is scalar(keys %{ { map { (split)[-1] => 1 } @l } }), 1, 'with the same bytes';
is scalar @{ $s->get("/floors?session_id=$sid")->{json}{data} }, 1, 'one floor';
script('drop');
is turn()->{status}, 200, 'a lost connection';
script('empty');
is turn()->{status}, 200, 'an empty reply, once';
script('empty', 'empty');
is turn()->{status}, 502, 'an empty reply, twice: given up';
is scalar(asked()), 2, 'after the second';
script(('503 retry-after-ms: 1') x 5);
$r = turn();
is $r->{status}, 502, 'a server that stays down';
is scalar(asked()), 3, 'asked as often as the setting allows';
is $r->{json}{error}{details}{status}, 503, 'and its last word is told';

# ---- not asked again ----

script('401');
is turn()->{status}, 502, 'a refused key';
is scalar(asked()), 1, 'is not tried again';
script('503 x-should-retry: false');
turn();
is scalar(asked()), 1, 'nor what the server says not to';
script('503 retry-after: 3600');
my $t = time;
$r = turn();
is scalar(asked()), 1, 'nor with an hour to wait';
cmp_ok time - $t, '<', 5, 'which nobody does';
is $r->{json}{error}{details}{retry_after_ms}, 3600000, 'the client is told';
script('half');
turn(generation_params => { stream => JSON::PP::true });
is scalar(asked()), 1, 'nor when some of the reply was heard';

# ---- cancelled while it waits ----

script('503 retry-after: 30', '503 retry-after: 30');
$t = time;
my $stream = $s->stream('POST', "/sessions/$sid/respond/stream", { message => 'Wait.' });
$stream->next;
$s->wait_for('the first try', sub { asked() > 0 });
$stream->close;
$s->wait_for('the end of the run', sub { !$s->get("/sessions/$sid/active-run")->{json}{data}{active_run}{busy} }, 10);
cmp_ok time - $t, '<', 10, 'a client that leaves ends the waiting too';

# ---- servers of other vendors ----

sub last_request { open my $f, '<', "$dir/last" or die $!; local $/; my ($head, $body) = split /\r\n\r\n/, <$f>, 2; return ($head, JSON::PP->new->utf8->decode($body)) }
(my $root = $base) =~ s{/v1$}{};
my $card = $s->post('/import/character', { payload => { name => 'Ann', description => 'Tall.', first_mes => '' } })->{json}{data}{character_id};
for my $case (['anthropic', qr{^POST /v1/messages HTTP.*^x-api-key: sk-own\r.*}ms, sub { ($_[0]{system} ? 'system' : 'none', $_[0]{messages}[0]{role}, $_[0]{messages}[0]{content}[0]{text}) }],
	['google', qr{^POST /v1beta/models/m:generateContent HTTP.*^x-goog-api-key: sk-own\r}ms, sub { ($_[0]{systemInstruction} ? 'system' : 'none', $_[0]{contents}[0]{role}, $_[0]{contents}[0]{parts}[0]{text}) }]) {
	my ($provider, $looks, $take) = @$case;

	script();
	$s->configure(llm_provider => $provider, llm_base_url => $root, llm_api_key => 'sk-own');
	$s->stop_tavernd; $s->start;
	for my $field (0, 1) {
		my $preset = $s->post('/import/preset', { data => { use_sysprompt => $field ? JSON::PP::true : JSON::PP::false, prompts => [{ identifier => 'main', content => 'Be kind.', system_prompt => JSON::PP::true }, { identifier => 'chatHistory', marker => JSON::PP::true }] } })->{json}{data}{id};
		my $id = $s->post('/sessions', { title => 'T', preset_id => $preset })->{json}{data}{id};
		$r = $s->post("/sessions/$id/respond", { message => 'Hi.' });
		is $r->{json}{data}{generated_text}, 'Here I am.', "$provider: a reply" or diag $r->{raw};
		is_deeply $r->{json}{data}{total_usage}, { prompt_tokens => 3, completion_tokens => 4, total_tokens => 7 }, "$provider: its usage";
		my ($head, $body) = last_request();
		like $head, $looks, "$provider: path and key";
		my ($where, $role, $text) = $take->($body);
		is_deeply [$where, $role, $text], $field ? ['system', 'user', 'Hi.'] : ['none', 'user', 'Be kind.'], "$provider: system text " . ($field ? 'in its field' : 'in the first user turn');
	}
}
$s->configure(llm_provider => 'openai-compatible', llm_base_url => $base);

# ---- TLS ----

my $tls = $s->free_port;
sub openssl { system("cd $dir && openssl $_[0] >/dev/null 2>&1") == 0 or die "openssl $_[0]" }
openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=Own -keyout ca.key -out ca.pem");
openssl("req -newkey rsa:2048 -nodes -subj /CN=model -keyout m.key -out m.csr");
open my $f, '>', "$dir/ext" or die $!; print $f "subjectAltName=IP:127.0.0.1\n"; close $f;
openssl("x509 -req -in m.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out m.pem");
chmod 0755, $dir;
open $f, '>', "$dir/nginx.conf" or die $!;
print $f "pid $dir/nginx.pid; error_log $dir/nginx.log; worker_processes 1; daemon off; events {}\nhttp { access_log off; client_body_temp_path $dir/b; proxy_temp_path $dir/p; fastcgi_temp_path $dir/f; uwsgi_temp_path $dir/u; scgi_temp_path $dir/s;\n"
	. "server { listen 127.0.0.1:$tls ssl; ssl_certificate $dir/m.pem; ssl_certificate_key $dir/m.key; location / { proxy_pass http://127.0.0.1:" . $sock->sockport . "; } } }\n";
close $f;
my $nginx = fork // die $!;
if (!$nginx) { open STDERR, '>', '/dev/null'; exec 'nginx', '-e', "$dir/nginx.log", '-c', "$dir/nginx.conf"; exit 1 }
$s->wait_for('nginx', sub { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$tls") });

script();
$s->configure(llm_base_url => "https://127.0.0.1:$tls/v1", llm_max_retries => 0);
$s->stop_tavernd; $s->start;
$r = turn();
is $r->{status}, 502, 'an unknown certificate authority is not trusted' or diag $r->{raw};
is $r->{json}{error}{details}{code}, 'tls_failed', 'and the answer says why';
is scalar(asked()), 0, 'nothing was sent';
$s->configure(llm_ca_file => "$dir/ca.pem");
$s->stop_tavernd; $s->start;
$r = turn();
is $r->{status}, 200, 'with llm_ca_file it is' or diag $r->{raw};
is $r->{json}{data}{generated_text}, 'Here I am.', 'the reply came over TLS';
kill 'TERM', $nginx; waitpid $nginx, 0;

done_testing;
