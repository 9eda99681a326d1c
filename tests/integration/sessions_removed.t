#!/usr/bin/env perl
# What a deleted session leaves is removed in bounded steps by the system's role; nothing of another session goes, nothing
# of a session that lives can.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new;

my %sql = do { local (@ARGV, $/) = "$FindBin::Bin/../../sql/queries/session_remove.sql"; map { /^(\w+)\n(.*)/s ? ($1 => $2) : () } split /^-- name: /m, <> };
my @tables = qw(session segment branch floor page message variable var_change run turn_record);

sub one { scalar $s->sql(@_) }
sub rows { return join ' ', map { "$_=" . one("SELECT count(*) FROM tavern.$_") } @tables }

# A statement as the system's role runs it; the number of rows that it affects or answers.
sub run {
	my ($name, @arg) = @_;
	my $call = @arg ? '(' . join(', ', @arg) . ')' : '';
	my $text = $sql{$name} =~ s/\s*;\s*\z//r;
	my @out = $s->sql("SET ROLE tavern_sys; SET search_path = tavern; PREPARE x AS $text; EXECUTE x$call");

	return ref $out[0] ? @{ $out[0] } : ();
}

sub story {
	my $sid = $s->post('/sessions', { title => 'T' })->{json}{data}{id};
	my @floor = map { $s->post("/sessions/$sid/respond", { message => "m$_" })->{json}{data}{floor_id} } 0 .. 4;

	$s->post("/floors/$floor[2]/branch", { branch_id => 'alt' });
	$s->put('/variables', { scope => 'branch', session_id => $sid, branch_id => $_, key => 'k', value => 1 }) for qw(main alt);
	$s->put('/variables', { scope => 'chat', scope_id => $sid, key => "k$_", value => 1 }) for 1 .. 5;
	return $sid;
}

my $stays = story();
my $alone = rows();
my $goes = story();
my ($account, $no) = map { one("SELECT $_ FROM tavern.session WHERE id = :'s'", s => $goes) } qw(account_no no);
my $all = rows();

run($_, $account, $no, 100) for qw(session_remove_floors session_remove_log session_remove_variables);
run('session_remove', $account, $no);
is rows(), $all, 'a session that lives loses nothing';
is_deeply [run('session_remove_next', time * 1000 + 60_000)], [], 'and is not found';
is $s->del("/sessions/$goes")->{status}, 200, 'deleted';
is rows(), $all, 'its rows are there until they are removed';
is_deeply [run('session_remove_next', 1000)], [], 'not found before its time';
is_deeply [run('session_remove_next', time * 1000 + 60_000)], [ $account, $no ], 'then it is';
run('session_remove_floors', $account, $no, 2);
is one("SELECT count(*) FROM tavern.floor WHERE session_no = $no"), 3, 'no more floors than asked for';
run('session_remove', $account, $no);
is one("SELECT count(*) FROM tavern.session WHERE no = $no"), 1, 'the session itself goes last';
run('session_remove_floors', $account, $no, 100);
run('session_remove_log', $account, $no, 3);
is one("SELECT count(*) FROM tavern.var_change WHERE session_no = $no"), 4, 'the log in steps';
run('session_remove_variables', $account, $no, 100);
is one("SELECT count(*) FROM tavern.variable WHERE session_no = $no"), 0, 'the variables';
run('session_remove', $account, $no);
is rows(), $alone, 'nothing is left, and nothing of the other is gone';
is $s->post("/sessions/$stays/respond", { message => 'on' })->{status}, 200, 'which goes on';

done_testing;
