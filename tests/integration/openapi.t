#!/usr/bin/env perl
# /openapi.json against the protocol this server speaks (tests/golden/reference-api.json: facts only, one operation a line:
# query parameters, body and answer members as paths, r = required, e = values of an enum). Each intended difference is a
# line of tests/golden/api-differences.txt: OPERATION | place | reason.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Tavern::Stack;
use Test::More;

my $json = JSON::PP->new->utf8->canonical;
my $golden = "$FindBin::Bin/../golden";
my $s = Tavern::Stack->new(mock => 0);

sub slurp { my ($path) = @_; open my $f, '<:raw', $path or die "$path: $!"; local $/; return scalar <$f> }

my (%intended, %used);
for (split /\n/, slurp("$golden/api-differences.txt")) {
	next if /^\s*(#|$)/;
	my ($op, $place, $reason) = map { s/^\s+|\s+$//gr } split /\|/, $_, 3;
	ok defined $reason && length $reason, "difference has a reason: $op $place" unless defined $reason && length $reason;
	$intended{"$op|$place"} = $reason;
}

# Members of a schema as paths; the same flattening as the golden file's.
sub flat {
	my ($schema, $path, $out) = @_;

	return unless ref $schema eq 'HASH';
	flat($_, $path, $out) for map { @{ $schema->{$_} // [] } } qw(anyOf oneOf allOf);
	my %need = map { $_ => 1 } @{ $schema->{required} // [] };
	for my $key (keys %{ $schema->{properties} // {} }) {
		my $p = $schema->{properties}{$key};
		my $entry = $out->{"$path/$key"} //= {};
		$entry->{r} = 1 if $need{$key};
		$entry->{e} = [ sort map { "$_" } grep { defined } @{ $p->{enum} } ] if $p->{enum};
		flat($p, "$path/$key", $out);
	}
	flat($schema->{items}, "$path/*", $out) if $schema->{items};
}

my $doc = $s->get('/openapi.json')->{json};
my %ours;
for my $path (keys %{ $doc->{paths} }) {
	for my $method (keys %{ $doc->{paths}{$path} }) {
		next if $method eq 'parameters';
		my $op = $doc->{paths}{$path}{$method};
		my %o = (query => {}, body => {}, answer => {});
		for my $p (grep { $_->{in} eq 'query' } @{ $op->{parameters} // [] }) {
			$o{query}{ $p->{name} } = { $p->{required} ? (r => 1) : (), $p->{schema}{enum} ? (e => [ sort @{ $p->{schema}{enum} } ]) : () };
		}
		flat($op->{requestBody}{content}{'application/json'}{schema}, '', $o{body}) if $op->{requestBody};
		for my $status (grep { /^2/ } keys %{ $op->{responses} }) {
			flat($op->{responses}{$status}{content}{'application/json'}{schema}, '', $o{answer});
		}
		(my $name = $path) =~ s/\{(\w+)\}/{}/g;
		$ours{ uc($method) . " $name" } = \%o;
	}
}

# A difference is either intended or a failure.
sub differ {
	my ($op, $place, $what) = @_;
	my ($key) = grep { exists $intended{$_} } "$op|$place", "$op|*", "*|$place";

	return $used{$key} = 1 if $key;
	fail "$op $place: $what";
}

sub compare {
	my ($op, $part, $want, $got) = @_;
	my $faults = 0;

	for my $key (sort keys %$want) {
		my $w = ref $want->{$key} ? $want->{$key} : {};
		my $g = $got->{$key};
		(my $place = "$part $key") =~ s/  / /;
		if (!$g) { differ($op, $place, 'missing'); next }
		differ($op, $place, 'is required in the protocol, not here') if $part ne 'answer' && $w->{r} && !$g->{r};
		differ($op, $place, 'is required here, not in the protocol') if $part ne 'answer' && $g->{r} && !$w->{r};
		if ($w->{e}) {
			my %have = map { $_ => 1 } @{ $g->{e} // [] };
			differ($op, $place, "lacks the value $_") for grep { !$have{$_} } @{ $w->{e} };
		}
	}
}

my @reference = @{ $json->decode(slurp("$golden/reference-api.json")) };
for my $want (@reference) {
	(my $name = $want->{op}) =~ s/\{(\w+)\}/{}/g;
	my $got = $ours{$name};
	if (!$got) { differ($want->{op}, 'operation', 'missing'); next }
	compare($want->{op}, $_, $want->{$_} // {}, $got->{$_}) for qw(query body answer);
	pass $want->{op};
}
ok $used{$_}, "difference is still one: $_" for sort keys %intended;
is $doc->{openapi}, '3.0.3', 'version of OpenAPI';

done_testing;
