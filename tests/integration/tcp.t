# An existing PostgreSQL over TCP: passwords (in the connection string and in a file), a login for migrations that is no superuser,
# and daemons that refuse to be one.
use strict;
use warnings;

use Test::More;
use Tavern::Stack;

my $s = Tavern::Stack->new(own_pg => 1, start => 0, mock => 0);
my $port = $s->free_port;
my $secret = $s->dir . '/secret';

sub write_file {
	my ($file, $text, $mode) = @_;

	open my $fh, '>', $file or die "$file: $!\n";
	print {$fh} $text;
	close $fh;
	chmod $mode, $file;
	chown +(stat $s->dir)[4, 5], $file;
}

$s->kill_postgres('INT');
write_file($s->dir . '/pg/pg_hba.conf', "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n", 0600);
$s->{pg_settings} = ['listen_addresses=127.0.0.1', "port=$port"];
$s->{pg_port} = $port;
$s->start_postgres;
$s->sql($_) for q{ALTER ROLE tavern_app PASSWORD 'app secret'}, q{ALTER ROLE tavern_sys PASSWORD 'sys secret'},
	q{CREATE ROLE tavern_migrate LOGIN PASSWORD 'migrate secret' IN ROLE tavern_owner}, 'CREATE DATABASE elsewhere',
	'GRANT CREATE, CONNECT ON DATABASE elsewhere TO tavern_owner';
write_file($secret, "sys secret\n", 0600);

my $tcp = "host=127.0.0.1 port=$port dbname=elsewhere";
$s->configure(
	database => "$tcp user=tavern_app password='app secret'",
	database_sys => "$tcp user=tavern_sys",
	database_sys_password_file => $secret,
	database_owner => "$tcp user=tavern_migrate password='migrate secret'",
);

my ($status, $out) = $s->tavernctl('migrate');
is($status, 0, 'migrates as a member of the owner') or diag $out;
($status, $out) = $s->tavernctl('migrate');
is($status, 0, 'and again, with nothing to do') or diag $out;

($status, $out) = $s->tavernd('-t');
is($status, 0, 'tavernd -t finds no fault') or diag $out;
$s->start;
is($s->get('/health')->{json}{database}, 'ready', 'the database is there');
my $r = $s->post('/sessions', { title => 'over TCP' });
is($r->{status}, 201, 'writes') or diag $r->{raw};
is($s->get("/sessions/$r->{json}{data}{id}")->{json}{data}{title}, 'over TCP', 'and reads');
is($s->stop_tavernd, 0, 'ends well');

subtest 'no superuser' => sub {
	my $answered;

	$s->sql('ALTER ROLE tavern_app SUPERUSER');
	$s->{start_seconds} = 1;
	$s->{http} = HTTP::Tiny->new(timeout => 1);    # nobody takes what is sent to the workers' sockets
	{
		local $SIG{__WARN__} = sub { };
		$answered = eval { $s->start; 1 };
	}
	ok(!$answered, 'a superuser as the application role is refused');
	ok($s->wait_for('the refusal', sub { $s->log('tavernd') =~ /superuser/i }, 20), 'and named in the log');
	$s->_end('tavernd', 'KILL', 10);
};

done_testing;
