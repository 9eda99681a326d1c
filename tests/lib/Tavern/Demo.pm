# Tavern::Demo: a private stack whose application is tests/tools/httpdemo: the real master, workers and HTTP side without
# a database. As Tavern::Stack otherwise.
package Tavern::Demo;

use strict;
use warnings;

use parent 'Tavern::Stack';

use Carp qw(croak);
use File::Copy qw(copy);
use File::Temp qw(tempdir);

sub new {
	my ($class, %option) = @_;
	my $tools = $ENV{TAVERN_TOOLS} // croak 'TAVERN_TOOLS: run the tests through tests/prove';
	my $app = tempdir('demo-XXXXXX', DIR => $ENV{TAVERN_RUN} // '/tmp', CLEANUP => 1);

	chmod 0755, $app;
	mkdir "$app/sbin";
	copy("$tools/httpdemo", "$app/sbin/tavernd") or croak "httpdemo: $!";
	chmod 0755, "$app/sbin/tavernd";
	local $ENV{TAVERN_APP} = $app;
	return $class->SUPER::new(mock => 0, %option);
}

sub _database {
	my ($self) = @_;

	$self->{pg_dir} = $self->{dir};
	$self->{database} = 'none';
}

# The counters of every worker, by asking until each has answered (the web server chooses): { PID => {…} }.
sub stats {
	my ($self, $workers) = @_;
	my %seen;

	for (1 .. 200) {
		my $data = $self->get('/stats')->{json}{data} or next;
		$seen{ $data->{pid} } = $data;
		last if keys %seen >= ($workers // $self->{workers});
	}
	return \%seen;
}

# The sum of a counter over the workers.
sub total {
	my ($self, $name) = @_;
	my $sum = 0;

	$sum += $_->{$name} for values %{ $self->stats };
	return $sum;
}

1;
