#!/usr/bin/perl
# lint: what no compiler checks: which layer may include which, where a library may be known, functions nobody should
# call, SQL outside its place, comments, names, lengths. (That a statement names its account is checked by scripts/stmt.awk.)
# `lint.pl [TREE]` prints file:line: message; warnings begin with "warning:". Ends with "N passed, N failed" over files.
use strict;
use warnings;

my $top = $ARGV[0] // '.';
chdir $top or die "$top: $!\n";

# Directory => the directories it may include (besides itself). Archives link in the same direction.
my %below = (
	base => '', db => 'base', loop => 'base', stream => 'base loop', http => 'base loop stream', peer => 'base loop',
	macro => 'base', regex => 'base', token => 'base', card => 'base', lore => 'base macro regex',
	prompt => 'base macro regex lore token card', llm => 'base loop', auth => 'base db llm', store => 'base db',
	event => 'base db loop peer auth http', turn => 'base db loop stream macro regex lore token card prompt llm store event',
	chat => 'base db store token card prompt macro turn',
);
my $all = join ' ', sort keys %below;
$below{job} = "$all memory";
$below{api} = "$all job";
$below{''} = "$all job api";    # the mains
my %pure = map { $_ => 1 } qw(macro regex lore token card prompt);

# Header => the directories that may know the library.
my %library = (
	qr{^libpq-fe\.h$} => 'db', qr{^fcgi(app|_stdio|os)?\.h$} => 'http', qr{^curl/} => 'llm', qr{^json-c/} => 'base',
	qr{^pcre2\.h$} => 'regex', qr{^jwt\.h$} => 'auth', qr{^archive} => 'card', qr{^zlib\.h$} => 'card',
	qr{^openssl/} => 'base auth', qr{^utf8proc\.h$} => 'base',
);
my %forbidden = (
	(map { $_ => 'has no bound' } qw(strcpy strcat sprintf vsprintf gets stpcpy scanf)),
	(map { $_ => 'keeps hidden state: use the _r form or base/' } qw(strtok asctime ctime localtime gmtime rand srand random)),
	(map { $_ => 'cannot report a fault: use str_int or str_double' } qw(atoi atol atoll atof)),
	(map { $_ => 'runs a shell' } qw(system popen)),
	(map { $_ => 'is unsafe' } qw(alloca mktemp tmpnam setjmp longjmp)),
);
my $impure = qr/\b(?:time|clock_gettime|gettimeofday|getrandom|getenv|rng_system|fopen|open|socket|pthread_create|log_\w+)\s*\(/;
my $limit = qr/CLOCK_THREAD_CPUTIME_ID|CLOCK_MONOTONIC_COARSE/;    # measured to bound work; no input of a result
my $statement = qr/"\s*(?:SELECT\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET|DELETE\s+FROM\s|WITH\s+\w+\s+AS\s*\(|CREATE\s+(?:TABLE|INDEX)|ALTER\s+TABLE)/;
my ($files, $bad, $warnings, %bad_file) = (0, 0, 0);

sub fault { my ($file, $line, $text) = @_; print "$file:$line: $text\n"; $bad_file{$file} = 1 }
sub warning { my ($file, $line, $text) = @_; print "warning: $file:$line: $text\n"; $warnings++ }

sub text_of {
	my ($file) = @_;

	open my $fh, '<', $file or die "$file: $!\n";
	local $/;
	return <$fh> // '';
}

# The text with comments and strings blanked, lines kept.
sub code_of {
	my ($text) = @_;

	$text =~ s{(/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')}{
		my $piece = $1; my $quoted = $piece =~ /^["']/; $piece =~ s/[^\n]//g; $quoted ? "\"\"$piece" : $piece }gse;
	return $text;
}

sub check_text {
	my ($file, $text) = @_;
	my $number = 0;

	$files++;
	for my $line (split /\n/, $text) {
		$number++;
		fault($file, $number, 'blanks at the end of the line') if $line =~ /[ \t\r]$/ && $file !~ /\.md$/;
		fault($file, $number, 'unfinished work') if $line =~ /\b(?:TO\DO|FIX\DME|XX\DX)\b/;
	}
	fault($file, $number, 'no line break at the end') if length $text && $text !~ /\n\z/;
}

sub check_includes {
	my ($file, $dir, $text) = @_;
	my $number = 0;

	for my $line (split /\n/, $text) {
		$number++;
		next unless $line =~ /^\s*#\s*include\s+["<]([^">]+)[">]/;
		my $name = $1;
		if ($name =~ m{^(\w+)/} && -d "src/$1") {
			fault($file, $number, "$dir/ may not include $1/ (tests/lint/lint.pl has the table)")
				unless $1 eq $dir || grep { $_ eq $1 } split ' ', $below{$dir};
		}
		for my $pattern (keys %library) {
			fault($file, $number, "<$name> is known to src/{$library{$pattern}} only")
				if $name =~ $pattern && !grep { $_ eq $dir } split ' ', $library{$pattern};
		}
	}
}

sub check_code {
	my ($file, $dir, $text, $code) = @_;
	my $number = 0;

	for my $line (split /\n/, $code) {
		$number++;
		while ($line =~ /(?<![\w.>])(\w+)\s*\(/g) {
			fault($file, $number, "$1 $forbidden{$1}") if $forbidden{$1};
		}
		fault($file, $number, 'goto: use an arena and arena_defer') if $line =~ /\bgoto\s+\w+\s*;/;
		fault($file, $number, 'a pure layer asks the world: make it an input') if $pure{$dir} && $line =~ $impure && $line !~ $limit;
		fault($file, $number, 'exit below main') if $dir ne '' && $line =~ /(?<!\w)_?exit\s*\(/ && $dir !~ /^(?:base|http)$/;
		fault($file, $number, 'getenv: settings come through conf') if $line =~ /\bgetenv\s*\(/ && $dir ne 'base'
			&& $file ne 'src/listen.c';    # what a supervisor passes is no setting
	}
	return if $dir eq 'db';
	$number = 0;
	for my $line (split /\n/, $text) {
		$number++;
		fault($file, $number, 'SQL belongs into sql/queries') if $line =~ $statement;
	}
}

sub check_lengths {
	my ($file, $code) = @_;
	my @lines = split /\n/, $code;
	my $start;

	warning($file, scalar @lines, 'file of ' . @lines . ' lines: 800 at most') if @lines > 800;
	for my $i (0 .. $#lines) {
		$start = $i if $lines[$i] eq '{';
		next unless $lines[$i] eq '}' && defined $start;
		my $length = $i - $start - 1;
		warning($file, $start, "function of $length lines") if $length > 60;
		undef $start;
	}
	while ($code =~ /^(\w+)\(([^;{}]*?)\)\n\{/gm) {
		my ($name, $commas) = ($1, ($2 =~ tr/,//));
		warning($file, 1 + (substr($code, 0, $-[0]) =~ tr/\n//), "$name has " . ($commas + 1) . ' parameters') if $commas > 5;
	}
}

# Every group of prototypes (lines without a blank one between) has a comment, over it or beside one of its lines.
sub check_header {
	my ($file, $text) = @_;
	my $number = 1;

	fault($file, 1, 'no comment at the top') unless $text =~ m{\A/\*};
	for my $group (split /(\n\s*\n)/, $text) {
		my $prototype = $group =~ /^(?!static inline|typedef|return|#|\t| |\*)[\w *]+\b\w+\([^()]*(?:\([^()]*\)[^()]*)*\)[^{]*;/m;

		fault($file, $number, 'public functions without a comment') if $prototype && $group !~ m{/\*|//};
		$number += $group =~ tr/\n//;
	}
}

my @tree = split /\0/, `find src sql tests scripts nginx systemd web docs bench -type f ! -path '*/node_modules/*' ! -path '*/corpus/*' -print0 2>/dev/null`;
for my $file (sort grep { /\.(?:[ch]|inc|def|sql|sh|awk|pl|pm|t|mk|conf|in|md|js|css|html)$/ } @tree) {
	my $text = text_of($file);

	check_text($file, $text);
	next unless $file =~ m{^src/(?:(\w+)/)?([\w-]+)\.([ch])$};
	my ($dir, $name, $kind) = ($1 // '', $2, $3);
	fault($file, 1, "src/$dir has no row in the table of layers") unless exists $below{$dir};
	my $code = code_of($text);
	check_includes($file, $dir, $text) if exists $below{$dir};
	check_code($file, $dir, $text, $code);
	check_lengths($file, $code) if $text !~ /^\/\* generated/;
	check_header($file, $text) if $kind eq 'h';
	if ($kind eq 'c') {
		fault($file, 1, 'no comment at the top, here or in its header')
			unless $text =~ m{\A/\*} || -e ($file =~ s/c$/h/r);
		fault($file, 1, 'no header of its own directory') if $dir ne '' && $text !~ m{#include "(?:\Q$dir\E/)?\w+\.h"};
	}
}
for my $dir (sort grep { $_ ne '' && -d "src/$_" && glob "src/$_/*.c" } keys %below) {
	$files++;
	fault("src/$dir/README.md", 1, 'missing: one page about the directory') unless -e "src/$dir/README.md";
}
$bad = keys %bad_file;
print "$warnings warnings\n" if $warnings;
printf "%d passed, %d failed\n", $files - $bad, $bad;
exit($bad ? 1 : 0);
