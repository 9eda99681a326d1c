# stmt.awk: sql/queries/*.sql -> stmt.def, one STMT(name, guarded, "text") a section; guarded: the statement fails by
# itself when no account is set.
#
#	-- name: session_get
#	-- scope: system          (only where the text does not say account_no = acct())
#	SELECT …
#
# `-- scope: insert` marks a statement that only makes new rows: account_no comes from the column's
# default, and the policy checks it.
#
# Refuses: text outside a section, an empty section, a name used twice or not [a-z][a-z0-9_]*,
# and a statement that names neither `account_no = acct()` nor `-- scope: system`.
# Run with LC_ALL=C and the files in sorted order, so that two builds give the same bytes.

function bad(why) {
	printf "%s:%d: %s\n", FILENAME, FNR, why > "/dev/stderr"
	failed = 1
}

function finish() {
	if (name == "")
		return
	sub(/;[ \t]*$/, "", text)
	if (text == "")
		bad("statement \"" name "\" has no text")
	else if (scope == "" && flat !~ /account_no = acct\(\)/)
		bad("statement \"" name "\" names neither account_no = acct() nor -- scope: system")
	gsub(/\\/, "&&", text)
	gsub(/"/, "\\\"", text)
	gsub(/\n/, " \"\n\t\"", text)
	printf "STMT(%s, %s,\n\t\"%s\")\n", name, scope == "system" ? "false" : "true", text
	name = ""
}

FNR == 1 { finish() }

/^-- name: / {
	finish()
	name = $3
	text = flat = ""
	scope = ""
	if (name !~ /^[a-z][a-z0-9_]*$/)
		bad("bad statement name \"" name "\"")
	if (name in seen)
		bad("statement \"" name "\" is also in " seen[name])
	seen[name] = FILENAME
	next
}

/^-- scope: (system|insert)[ \t]*$/ { scope = $3; next }
/^-- scope:/ { bad("unknown scope"); next }
/^[ \t]*--/ { next }
/^[ \t]*$/ { next }
/--/ { bad("a comment must have its own line: the text becomes one line"); next }

{
	if (name == "") {
		bad("text outside a section")
		next
	}
	line = $0
	gsub(/^[ \t]+|[ \t]+$/, "", line)
	text = text == "" ? line : text "\n" line
	gsub(/[ \t]+/, " ", line)
	flat = flat " " line
}

END {
	finish()
	exit failed
}
