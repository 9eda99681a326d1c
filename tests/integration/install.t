# What `make install` brings is complete and accepted by the programs it is for: nginx, systemd.
use strict;
use warnings;

use File::Basename qw(basename dirname);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use POSIX ();
use Test::More;

my $build = $ENV{TAVERN_BUILD} // die "run the tests through tests/prove\n";
my $root = tempdir('tavern-install-XXXXXX', DIR => $ENV{TAVERN_RUN} // '/tmp', CLEANUP => 1);
my ($prefix) = (slurp("$build/Makefile") =~ /^prefix = (.*)$/m);
my $here = "$root$prefix";

$ENV{PATH} .= ':/usr/sbin:/sbin';

sub slurp {
	my ($file) = @_;

	open my $fh, '<', $file or die "$file: $!\n";
	local $/;
	return <$fh>;
}

# Copies a file with the installation's paths moved below the root.
sub moved {
	my ($from, $to) = @_;
	my $text = slurp($from);

	$text =~ s{(?<![\w/.])\Q$prefix\E/}{$here/}g;
	make_path(dirname($to));
	open my $fh, '>', $to or die "$to: $!\n";
	print {$fh} $text;
	close $fh;
	return $to;
}

sub succeeds {
	my ($what, @command) = @_;
	my $pid = open my $fh, '-|';
	my $out;

	if ($pid == 0) {
		open STDERR, '>&', \*STDOUT;
		exec { $command[0] } @command or POSIX::_exit(127);
	}
	{ local $/; $out = <$fh> // ''; }
	close $fh;
	ok($? == 0, $what) or diag $out;
	return $out;
}

succeeds('make install with DESTDIR', 'make', '-s', '-C', $build, 'install', "DESTDIR=$root");
for my $file (qw(
	sbin/tavernd sbin/tavern-jobd sbin/tavern-eventd bin/tavernctl etc/tavernd/tavernd.conf.sample etc/tavernd/nginx-routes.conf
	share/tavernd/nginx/tavernd.conf share/tavernd/sql/roles.sql share/tavernd/web/docs/index.html
	share/doc/tavernd/README.md share/doc/tavernd/deploy.md
	lib/systemd/system/tavernd.service lib/systemd/system/tavern-jobd.service lib/systemd/system/tavern-eventd.service lib/systemd/system/tavern-eventd.socket
	lib/systemd/system/tavernd.socket lib/systemd/system/tavernd-migrate.service
	lib/sysusers.d/tavernd.conf lib/tmpfiles.d/tavernd.conf)) {
	ok(-s "$here/$file", "brings $file");
}

subtest 'nothing is left to fill in' => sub {
	for my $file (glob("$here/lib/*/*.conf $here/lib/systemd/system/* $here/etc/tavernd/* $here/share/tavernd/nginx/*")) {
		unlike(slurp($file), qr/\@\w+dir\@/, basename($file));
	}
};

subtest 'nginx takes the production configuration' => sub {
	my $site = moved("$here/share/tavernd/nginx/tavernd.conf", "$root/nginx/tavernd.conf");
	my $routes = moved("$here/etc/tavernd/nginx-routes.conf", "$here/etc/tavernd/nginx-routes.conf");
	my @temp = map { "${_}_temp_path $root/nginx/$_;" } qw(client_body proxy fastcgi uwsgi scgi);

	ok(-e $routes, 'routes');
	open my $fh, '>', "$root/nginx/nginx.conf" or die $!;
	print {$fh} "pid $root/nginx/pid; error_log stderr; events {}\nhttp { access_log off; @temp\ninclude $site; }\n";
	close $fh;
	like(succeeds('nginx -t', 'nginx', '-t', '-e', 'stderr', '-p', "$root/nginx", '-c', "$root/nginx/nginx.conf"),
		qr/test is successful/, 'says so');
};

subtest 'systemd takes the units' => sub {
	my @units = map { moved($_, "$root/units/" . basename($_)) } glob "$here/lib/systemd/system/*";

	is(scalar @units, 6, 'six units');
	is(succeeds('systemd-analyze verify', 'systemd-analyze', 'verify', '--man=no', @units), '', 'without a word');
	for my $service (grep { /\.service$/ } @units) {
		succeeds('exposure of ' . basename($service) . ' at most 1.5', 'systemd-analyze', 'security', '--offline=yes',
			'--no-pager', '--threshold=15', $service);
	}
	succeeds('systemd-sysusers', 'systemd-sysusers', '--dry-run', "$here/lib/sysusers.d/tavernd.conf");
};

done_testing;
