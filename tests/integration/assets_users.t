#!/usr/bin/env perl
# User cards through the API: create, read, change, delete, lists, batch routes, guards.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $s = Tavern::Stack->new(mock => 0);
my ($true, $false) = (JSON::PP::true, JSON::PP::false);

sub create { $s->post('/users', { snapshot => $_[0] })->{json}{data} }
sub names { [sort map { $_->{name} } @{ $s->get("/users?$_[0]")->{json}{data} }] }

my $r = $s->post('/users', { snapshot => { name => ' Iven ', description => '{{user}} is a courier.', extra => { kept => [1, 2] } } });
is $r->{status}, 201, 'create' or diag $r->{raw};
my $u = $r->{json}{data};
is $u->{name}, 'Iven', 'create: name without blanks';
is $u->{status}, 'active', 'create: active';
is_deeply $u->{snapshot}, { name => ' Iven ', description => '{{user}} is a courier.', extra => { kept => [1, 2] } }, 'create: the card as it came';
is_deeply $s->get("/users/$u->{id}")->{json}{data}, $u, 'read: the same';
is $s->post('/users', { snapshot => { description => 'x' } })->{json}{error}{details}[0]{path}, '/snapshot/name', 'create: needs a name';
is $s->post('/users', {})->{status}, 400, 'create: needs a card';
is $s->post('/users', { snapshot => { name => 'x' x 201 } })->{status}, 400, 'create: name of a sane length';
is $s->post('/users', { snapshot => { name => 'Iven' } })->{status}, 409, 'create: no second of that name';

$r = $s->patch("/users/$u->{id}", { snapshot => { name => 'Iven', description => 'New.' }, expected_revision => $u->{revision} });
is $r->{status}, 200, 'patch' or diag $r->{raw};
is $r->{json}{data}{snapshot}{description}, 'New.', 'patch: the card';
ok $r->{json}{data}{revision} > $u->{revision}, 'patch: revision';
$r = $s->patch("/users/$u->{id}", { snapshot => { name => 'Iven' }, expected_revision => $u->{revision} });
is_deeply [$r->{status}, $r->{json}{error}{code}], [409, 'user_conflict'], 'patch: guarded';
is $s->patch("/users/$u->{id}", { status => 'disabled' })->{json}{data}{status}, 'disabled', 'patch: status';
my $revision = $s->get("/users/$u->{id}")->{json}{data}{revision};
is $s->patch("/users/$u->{id}", { expected_revision => $revision })->{json}{data}{status}, 'disabled', 'patch: a guard alone changes nothing';
is $s->patch("/users/$u->{id}", { expected_revision => $revision - 1 })->{status}, 409, 'patch: and is compared';
is $s->patch("/users/$u->{id}", { status => 'deleted' })->{status}, 400, 'patch: not to deleted';
is $s->patch('/users/nope', { status => 'active' })->{status}, 404, 'patch: unknown';
is $s->get('/users/nope')->{status}, 404, 'read: unknown';

# ---- lists ----

my %id = map { $_ => create({ name => $_ })->{id} } qw(Anna Bert Carl);
$r = $s->get('/users?limit=2&sort_by=name&sort_order=asc');
is_deeply [map { $_->{name} } @{ $r->{json}{data} }], [qw(Anna Bert)], 'list: sorted, a page';
is_deeply $r->{json}{meta}, { total => 4, limit => 2, offset => 0, has_more => $true, sort_by => 'name', sort_order => 'asc' }, 'list: meta';
is_deeply names('keyword=AR'), ['Carl'], 'list: part of a name, in any case';
is_deeply names('status=disabled'), ['Iven'], 'list: by status';

# ---- many ----

$r = $s->patch('/users/batch/status', { ids => [$id{Anna}, 'nope', $id{Bert}, $id{Anna}], status => 'disabled' });
is $r->{status}, 200, 'batch status' or diag $r->{raw};
is_deeply $r->{json}{data}{meta}, { total => 3, updated => 2, not_found => 1, status => 'disabled' }, 'batch status: counts';
is_deeply names('status=disabled'), [qw(Anna Bert Iven)], 'batch status: done';
is $s->patch('/users/batch/status', { ids => [], status => 'active' })->{status}, 400, 'batch status: validated';
$r = $s->post('/users/batch/delete', { ids => [$id{Anna}, 'nope'] });
is_deeply $r->{json}{data}{results}, [{ index => 0, id => $id{Anna}, action => 'deleted' }, { index => 1, id => 'nope', action => 'not_found' }], 'batch delete';
is $s->post('/users/batch/delete', { ids => [map { "u$_" } 0 .. 100] })->{status}, 400, 'batch delete: at most 100';

# ---- delete ----

$r = $s->del("/users/$id{Bert}");
is_deeply [@{ $r->{json}{data} }{qw(id deleted)}], [$id{Bert}, $true], 'delete';
is $s->get("/users/$id{Bert}")->{status}, 404, 'deleted: gone';
is $s->patch("/users/$id{Bert}", { status => 'active' })->{status}, 404, 'deleted: a change does not bring it back';
is $s->del("/users/$id{Bert}")->{status}, 404, 'deleted: once';
$r = $s->request('DELETE', "/users/$id{Carl}", { expected_revision => 99 });
is $r->{status}, 409, 'delete: guarded';
is_deeply names(''), [qw(Carl Iven)], 'list: without them';
is_deeply names('include_deleted=true'), [qw(Anna Bert Carl Iven)], 'list: with them';
is $s->post('/users', { snapshot => { name => 'Bert' } })->{status}, 201, 'deleted: the name is free';
is scalar $s->sql(q{SELECT count(*) FROM tavern.asset_version v JOIN tavern.asset a ON a.no = v.asset_no WHERE a.id = :'id'}, id => $u->{id}), 2, 'versions stay';

done_testing;
