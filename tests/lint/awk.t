#!/bin/sh
# The two embedders refuse what they should and keep what they are given.
top=${srcdir:-.}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
n=0
AWK=${AWK:-awk}
export LC_ALL=C

# check NAME: is the condition of the last command what NAME says?
check() {
	status=$?
	n=$((n + 1))
	if [ "$status" -eq 0 ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi
}

# refuses NAME FILE-TEXT: stmt.awk ends with a fault and says where.
refuses() {
	printf '%b' "$2" >"$dir/q.sql"
	! "$AWK" -f "$top/scripts/stmt.awk" "$dir/q.sql" >"$dir/out" 2>"$dir/err" && grep -q 'q.sql:[0-9]*: ' "$dir/err"
	check "statements: $1"
}
good='-- name: a\nSELECT 1 FROM t WHERE account_no = acct();\n'
refuses 'no account' '-- name: a\nSELECT 1;\n'
refuses 'no account in the last of several' "$good"'-- name: b\nSELECT 1;\n'
refuses 'an account in a comment only' '-- name: a\n-- account_no = acct()\nSELECT 1;\n'
refuses 'a name twice' "$good$good"
refuses 'a bad name' '-- name: A-b\nSELECT 1 FROM t WHERE account_no = acct();\n'
refuses 'no text' '-- name: a\n'"$good"
refuses 'text outside a section' 'SELECT 1;\n'
refuses 'an unknown scope' '-- name: a\n-- scope: all\nSELECT 1;\n'
refuses 'a comment behind text' '-- name: a\nSELECT 1 FROM t -- why\nWHERE account_no = acct();\n'

printf '%b' "$good"'-- name: b\n-- scope: system\nSELECT "x",\n\t$$a\\b$$;\n-- name: c\n-- scope: insert\nINSERT INTO t DEFAULT VALUES\n' >"$dir/q.sql"
"$AWK" -f "$top/scripts/stmt.awk" "$dir/q.sql" >"$dir/out"
tr -d '\n\t' <"$dir/out" >"$dir/flat"
printf '%s' 'STMT(a, true,"SELECT 1 FROM t WHERE account_no = acct()")STMT(b, false,"SELECT \"x\", ""$$a\\b$$")STMT(c, true,"INSERT INTO t DEFAULT VALUES")' |
	cmp -s - "$dir/flat"
check 'statements: text, scopes and quoting'

# migrations NAME FILE…: migrations.awk refuses files of these names.
migrations() {
	name=$1
	shift
	rm -f "$dir"/*.sql
	for f in "$@"; do echo 'SELECT 1;' >"$dir/$f"; done
	! "$AWK" -f "$top/scripts/migrations.awk" "$dir"/*.sql >/dev/null 2>&1
	check "migrations: $name"
}
migrations 'a gap' 0001_a.sql 0003_b.sql
migrations 'a number twice' 0001_a.sql 0001_b.sql
migrations 'a bad name' 1_a.sql
echo "1..$n"
