# Tavern::Files: files as people upload them, made byte by byte.
package Tavern::Files;
use strict;
use warnings;
use Compress::Raw::Zlib ();
use Exporter qw(import);
use JSON::PP;
use MIME::Base64;

our @EXPORT_OK = qw(archive form png);
my $json = JSON::PP->new->utf8->canonical;

sub _crc { Compress::Raw::Zlib::crc32($_[0]) }

# A picture of one pixel that says which it is, with the card in a chunk `chara`.
sub png {
	my ($card, $mark) = @_;
	my $chunk = sub { pack('N', length $_[1]) . $_[0] . $_[1] . pack('N', _crc($_[0] . $_[1])) };

	return "\x89PNG\r\n\x1a\n" . $chunk->('IHDR', pack('NNCCCCC', 1, 1, 8, 0, 0, 0, 0)) . $chunk->('tIME', pack('nCCCCC', $mark, 1, 1, 0, 0, 0))
		. ($card ? $chunk->('tEXt', "chara\0" . encode_base64($json->encode($card), '')) : '')
		. $chunk->('IDAT', "\x78\x9c\x63\x60\x00\x00\x00\x02\x00\x01") . $chunk->('IEND', '');
}

# An archive of stored files.
sub archive {
	my (@files) = @_;
	my ($out, $directory, $n) = ('', '', 0);

	while (my ($name, $bytes) = splice @files, 0, 2) {
		my $head = pack('vvvvvVVVvv', 20, 0, 0, 0, 0x21, _crc($bytes), length $bytes, length $bytes, length $name, 0);
		$directory .= "PK\x01\x02" . pack('v', 20) . $head . pack('vvvVV', 0, 0, 0, 0, length $out) . $name;
		$out .= "PK\x03\x04$head$name$bytes";
		$n++;
	}
	return $out . $directory . "PK\x05\x06" . pack('vvvvVVv', 0, 0, $n, $n, length $directory, length $out, 0);
}

# form(NAME => TEXT | [FILE NAME, BYTES]…): (body, content type)
sub form {
	my (@parts) = @_;
	my $b = 'x-7d9f-boundary';
	my $out = '';

	while (my ($name, $value) = splice @parts, 0, 2) {
		$out .= "--$b\r\nContent-Disposition: form-data; name=\"$name\"" . (ref $value ? "; filename=\"$value->[0]\"\r\nContent-Type: application/octet-stream" : '')
			. "\r\n\r\n" . (ref $value ? $value->[1] : $value) . "\r\n";
	}
	return ("$out--$b--\r\n", type => "multipart/form-data; boundary=$b");
}

1;
