#!/usr/bin/env perl
# tavern-jobd as a process: it starts and ends in order, several share one queue, the age of things removes them.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(mock => 0, jobd => 1, conf => { event_keep_hours => 1, job_keep_hours => 1 });

ok $s->wait_for('the start of jobd', sub { $s->log('jobd') =~ /jobd\.started/ }), 'jobd starts';
is $s->stop_jobd, 0, 'and ends in order on SIGTERM';
like $s->log('jobd'), qr/jobd\.ended.*busy=0/, 'with nothing running';

# ---- what is old goes ----

my $account = $s->sql(q{SELECT no FROM tavern.account WHERE is_default});
$s->sql(q{INSERT INTO tavern.event (account_no, name, data, created_at) SELECT :'a', 'x', '{}', 5 FROM generate_series(1, 3000)}, a => $account);
$s->sql(q{INSERT INTO tavern.event (account_no, name, data, created_at) SELECT :'a', 'x', '{}', tavern.now_ms() FROM generate_series(1, 3000)}, a => $account);
$s->sql(q{INSERT INTO tavern.job (account_no, id, kind, state, available_at, created_at, updated_at, completed_at) SELECT :'a', 'old' || n, 'x', 'done', 1, 1, 1, 5 FROM generate_series(1, 250) n}, a => $account);
$s->sql(q{INSERT INTO tavern.job (account_no, id, kind, available_at, created_at, updated_at) VALUES (:'a', 'unknown', 'no_such_kind', 1, 1, 1)}, a => $account);
$s->start_jobd;
ok $s->wait_for('the sweep', sub { $s->sql(q{SELECT count(*) FROM tavern.job}) == 1 && $s->sql(q{SELECT count(*) FROM tavern.event WHERE name <> 'swept'}) == 3000 }), 'old events and jobs go, young ones stay';
is $s->sql(q{SELECT state FROM tavern.job WHERE id = 'unknown'}), 'queued', 'a kind that nobody knows waits';

# ---- deleted sessions ----

my ($kept, $gone) = map { my $r = $s->post('/sessions', { title => $_, character_snapshot => { name => 'C', first_mes => 'Hi {{setvar::a::1}}there.' } }); $r->{json}{data}{id} } qw(kept gone);
is $s->post("/sessions/$_/respond", { message => 'hello' })->{status}, 200, 'a turn' for $kept, $gone;
is $s->del("/sessions/$gone")->{status}, 200, 'one session is deleted';
is $s->stop_jobd, 0, 'jobd ends';
$s->start_jobd;
ok $s->wait_for('the removal', sub { $s->sql(q{SELECT count(*) FROM tavern.session}) == 1 }), 'its row goes';
is $s->sql(q{SELECT count(*) FROM tavern.floor}), 2, 'and its floors' or diag $s->log('jobd');
is $s->sql(q{SELECT count(*) FROM tavern.var_change}), 1, 'and its log';
is $s->get("/sessions/$kept")->{status}, 200, 'the other one stays';

# ---- the configuration is the same file ----

my ($status, $out) = (0, '');
$out = `$s->{app}/sbin/tavern-jobd -t -c $s->{dir}/tavernd.conf 2>&1`;
like $out, qr/configuration is fine/, '-t checks the configuration';
$out = `$s->{app}/sbin/tavern-jobd -t -o job_workers=0 -c $s->{dir}/tavernd.conf 2>&1`;
isnt $?, 0, 'a fault is refused';
like $out, qr/job_workers/, 'by its name';
done_testing;
