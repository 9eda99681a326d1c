#!/usr/bin/env perl
# kill -9 of PostgreSQL at every stage of turns of every kind (Tavern/Kill.pm): whole or failed, once for a key; a reply that was there is
# committed when the database is back, and a session that talks meanwhile goes on.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Tavern::Kill qw(@stages);
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(own_pg => 1, mock_args => ['-n', 3, '-i', 1],
	conf => { run_lease => '40s', db_lock_timeout => '30s', db_connections => 24, llm_first_byte_timeout => '4s', llm_idle_timeout => '4s' });
my $k = Tavern::Kill->new($s, $s->port);
my $id = $s->post('/sessions', { title => 'T', model_name => 'long?n=20000&i=20' })->{json}{data}{id};
my $other = $s->stream('POST', "/sessions/$id/respond/stream", { message => 'Hi.', on_disconnect => 'continue' });
my $floor = $other->next->{json}{floor_id};

for my $stage (@stages) {
	$k->play($stage, $s->port, 1, sub {
		$s->kill_postgres;
		$s->start_postgres;
		$s->wait_for('the service', sub { $s->get('/health')->{status} == 200 }, 20);
	});
}
$k->afterwards;
is $s->post("/floors/$floor/cancel")->{status}, 200, 'a reply went on all the time';
my @heard = $other->rest;
is $heard[-1]{json}{code}, 'generation_cancelled', 'until it was stopped';
my $kept = $s->sql(q{SELECT m.content FROM tavern.message m JOIN tavern.page p ON p.no = m.page_no JOIN tavern.floor f ON f.no = p.floor_no WHERE f.id = :'f' AND p.state = 'failed'}, f => $floor);
is $kept, join('', map { $_->{json}{chunk} // '' } @heard), 'and all that was heard is kept';

done_testing;
