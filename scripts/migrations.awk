# migrations.awk: sql/migrations/NNNN_name.sql -> migrations.def, the files as lines of text (a string literal of a
# whole file would be longer than C promises) and a table of them. Refuses a number used twice, a gap, a bad name and
# bytes that are no text. Run with LC_ALL=C and the files in sorted order.

function bad(why) {
	printf "%s: %s\n", FILENAME, why > "/dev/stderr"
	failed = 1
	exit 1
}

FNR == 1 {
	if (n > 0)
		print "\tNULL\n};"
	base = FILENAME
	sub(/^.*\//, "", base)
	if (base !~ /^[0-9][0-9][0-9][0-9]_[a-z0-9_]+\.sql$/)
		bad("a migration is named NNNN_name.sql")
	n++
	if (substr(base, 1, 4) + 0 != n)
		bad(sprintf("expected number %04d: numbers have no gap and are used once", n))
	name[n] = substr(base, 1, length(base) - 4)
	whole[n] = 1
	printf "static const char *const migration_%d[] = {\n", n
}

/^-- no-transaction[ \t]*$/ { whole[n] = 0 }
/[\001-\010\013-\037\177]/ { bad("control character in line " FNR) }

{
	gsub(/\\/, "&&")
	gsub(/"/, "\\\"")
	gsub(/\?\?/, "?\\?")
	gsub(/\t/, "\\t")
	printf "\t\"%s\",\n", $0
}

END {
	if (failed)
		exit 1
	if (n > 0)
		print "\tNULL\n};"
	print "const struct migration migrations[] = {"
	for (i = 1; i <= n; i++)
		printf "\t{ %d, \"%s\", migration_%d, %s },\n", i, name[i], i, whole[i] ? "true" : "false"
	print "\t{ 0, NULL, NULL, false },\n};"
	printf "const int migrations_n = %d;\n", n
}
