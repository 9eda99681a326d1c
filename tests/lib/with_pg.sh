#!/bin/bash
# with_pg PROGRAM [ARG…]: runs PROGRAM with a PostgreSQL of its own, which is gone afterwards. The program finds
# TEST_PG (directory of the socket), the superuser postgres, the database `tavern` with the three roles in it,
# TEST_PG_PID (the server's process) and TEST_PG_BIN (PostgreSQL's programs).
set -u
# shellcheck source=scripts/stack.sh disable=SC2154
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/stack.sh"

dir=$(mktemp -d "${TMPDIR:-/tmp}/tavern-pg.XXXXXX") || exit 1
pid=
finish() {
	[ -z "$pid" ] || { kill -INT "$pid" && wait "$pid"; } 2>/dev/null
	[ ! -L "$dir/run" ] || rm -rf "$(stack_run "$dir")"
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# cluster: the first program of a build tree makes a cluster, the others begin with a copy of it.
cluster() {
	local made=${builddir:-}/tests/pg.template version
	version=$("$(stack_pg_bin)/postgres" --version)
	if [ -n "${builddir:-}" ] && [ -w "$builddir/tests" ]; then
		exec 8>"$made.lock" && flock 8
		if [ "$(cat "$made.version" 2>/dev/null)" = "$version of $stack_uid" ]; then
			cp -a "$made" "$dir/pg"
		else
			rm -rf "$made" && stack_initdb "$dir" --no-sync && cp -a "$dir/pg" "$made" && echo "$version of $stack_uid" >"$made.version"
		fi || return 1
		exec 8>&-
	else
		stack_initdb "$dir" --no-sync
	fi
}

stack_owner "$dir"
stack_dirs "$dir" && cluster || die "no cluster"
"$top/scripts/stack.sh" postgres "$dir" fsync=off deadlock_timeout=100ms ${TEST_PG_SETTINGS:-} 2>"$dir/log/postgres.log" &
pid=$!
stack_ready 20 "$pid" stack_pg_accepts "$dir" "$pid" || { cat "$dir/log/postgres.log" >&2; die "PostgreSQL does not start"; }
stack_database "$dir" tavern || die "no database"

TEST_PG=$(stack_run "$dir") TEST_PG_PID=$pid TEST_PG_BIN=$(stack_pg_bin) "$@"
status=$?
[ -z "${TEST_PG_LOG:-}" ] || cat "$dir/log/postgres.log" >&2
exit $status
