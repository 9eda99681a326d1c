#!/bin/bash
# stack: a private tavernd in one directory: PostgreSQL on a unix socket, workers, nginx on a loopback port.
# The parts are functions. ./run and bench source this file; the Perl harness calls
# `scripts/stack.sh FUNCTION ARG…`, which runs one.
#
# A stack's directory (stack_dir), owned by the user that everything runs as:
#   pg/            the database cluster
#   run/           sockets: a link to a short temporary directory where the path would be too long
#   app/           the programs and files, installed
#   log/  nginx/  tavernd.conf  nginx.conf
# Nothing here stops a process: who starts them does, by pid. Each dies with its parent (PR_SET_PDEATHSIG).
# shellcheck shell=bash
# shellcheck source=scripts/common.sh
[ -n "${top:-}" ] || . "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}./common.sh"

stack_user=tavernd          # whom root becomes
stack_socket_max=88         # of 107 bytes that a socket's path may have; the rest is for the longest name in run/

# stack_owner DIR: sets stack_uid and stack_gid to who the stack in DIR runs as. A normal user: oneself. Root: the
# owner of DIR if there is one, else who called sudo, else the user tavernd, which is made if need be.
stack_owner() {
	local dir=$1 uid
	stack_uid=$EUID stack_gid=${GROUPS[0]}
	if [ "$stack_uid" -ne 0 ]; then
		if [ -d "$dir" ] && [ ! -O "$dir" ]; then
			die "$dir belongs to $(stat -c %U "$dir"), not to $(id -un): run as that user or root, or choose another directory (--data)"
		fi
		return 0
	fi
	uid=$(stat -c %u "$dir/pg" 2>/dev/null || echo 0)
	if [ "$uid" -ne 0 ]; then
		stack_uid=$uid stack_gid=$(stat -c %g "$dir/pg")
	elif [ -n "${SUDO_UID:-}" ] && [ "$SUDO_UID" -ne 0 ]; then
		stack_uid=$SUDO_UID stack_gid=${SUDO_GID:-$SUDO_UID}
	else
		stack_account ||
			useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$stack_user" ||
			die "cannot make the user $stack_user"
		stack_account
	fi
}
# No < <(…): bash would not have waited for it when it becomes the server, whose child it then is.
stack_account() { IFS=: read -r _ _ stack_uid stack_gid _ <<<"$(getent passwd "$stack_user")" && [ -n "$stack_gid" ]; }

# stack_exec SIGNAL COMMAND…: becomes COMMAND as the stack's user with a clean environment (and the TAVERND_
# settings of ours); SIGNAL comes when the parent dies.
stack_exec() {
	local signal=$1 drop=() name keep=()
	shift
	[ "$EUID" -ne 0 ] || drop=(--reuid "$stack_uid" --regid "$stack_gid" --clear-groups --inh-caps=-all)
	for name in "${!TAVERND_@}" "${!ASAN_@}" "${!UBSAN_@}" "${!LSAN_@}" "${!TSAN_@}"; do
		keep+=("$name=${!name}")
	done
	umask 077
	exec env -i PATH="$PATH" LC_ALL=C.UTF-8 TZ=UTC HOME=/ TMPDIR=/tmp \
		no_proxy="$no_proxy" NO_PROXY="$no_proxy" "${keep[@]}" \
		setpriv "${drop[@]}" --no-new-privs --pdeathsig "$signal" "$@"
}

# stack_as COMMAND…: runs COMMAND as the stack's user.
stack_as() { (stack_exec KILL "$@"); }

# stack_reachable DIR: can the stack's user read what lies in DIR?
stack_reachable() { stack_as test -r "$1" -a -x "$1" 2>/dev/null; }

# stack_own FILE…: gives files that root made to the stack's user.
stack_own() { [ "$EUID" -ne 0 ] || chown "$stack_uid:$stack_gid" "$@"; }

# stack_dirs DIR: makes the directories, owned by the stack's user.
stack_dirs() {
	local dir=$1 run
	mkdir -p "$dir" "$dir/log" "$dir/nginx" || return 1
	stack_own "$dir" "$dir/log" "$dir/nginx"
	if [ ${#dir} -le $((stack_socket_max - 4)) ]; then
		run=$dir/run
		[ ! -L "$run" ] || rm -f "$run"
		mkdir -p "$run"
	else
		run=$(readlink "$dir/run" || true)
		if [ -z "$run" ] || [ ! -d "$run" ]; then
			run=$(mktemp -d "${XDG_RUNTIME_DIR:-/tmp}/tavernd.XXXXXX") && ln -sfn "$run" "$dir/run" || return 1
		fi
	fi
	stack_own "$run"
	chmod 700 "$dir" "$run"
}

# stack_run DIR: the short path of the sockets' directory.
stack_run() { (cd "$1/run" && pwd -P); }

# stack_pg_bin [VERSION]: the directory of PostgreSQL's programs (initdb is not on Debian's PATH), of that major
# version or the newest from 15 on.
stack_pg_bin() {
	local dir version best=0 found=
	if [ -n "${1:-}" ] && [ -x "/usr/lib/postgresql/$1/bin/postgres" ]; then
		echo "/usr/lib/postgresql/$1/bin"
		return 0
	fi
	for dir in "$(pg_config --bindir 2>/dev/null)" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do
		[ -x "$dir/initdb" ] || continue
		version=$("$dir/postgres" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
		if [ "$version" -ge 15 ] && [ "$version" -gt "$best" ] && [ "$version" = "${1:-$version}" ]; then
			best=$version found=$dir
		fi
	done
	[ -n "$found" ] || die "no PostgreSQL ${1:-15 or newer} found${1:+, which made this data directory}: install it, or choose another directory (--data)"
	echo "$found"
}

# stack_initdb DIR [OPTION…]: makes the cluster DIR/pg if there is none. Its superuser is `postgres`, as whom no daemon
# logs in: a superuser is not held by row-level security.
stack_initdb() {
	local dir=$1 bin
	shift
	[ ! -f "$dir/pg/PG_VERSION" ] || return 0
	bin=$(stack_pg_bin) || return 1
	rm -rf "$dir/pg.new"
	stack_as "$bin/initdb" -D "$dir/pg.new" -U postgres -E UTF8 --locale=C.UTF-8 --auth=trust --no-instructions "$@" \
		>"$dir/log/initdb.log" 2>&1 || { cat "$dir/log/initdb.log" >&2; return 1; }
	# Who reaches the socket, in a directory of mode 0700, is the stack's user or root.
	echo 'local all all trust' >"$dir/pg.new/pg_hba.conf"
	mv "$dir/pg.new" "$dir/pg"
}

# stack_postgres DIR [SETTING=VALUE…]: becomes the server.
stack_postgres() {
	local dir=$1 bin run options=() setting
	shift
	bin=$(stack_pg_bin "$(cat "$dir/pg/PG_VERSION")") || exit 1
	run=$(stack_run "$dir")
	for setting in listen_addresses= unix_socket_directories="$run" unix_socket_permissions=0700 jit=off \
		max_connections=120 timezone=UTC log_destination=stderr logging_collector=off \
		log_min_messages=warning log_checkpoints=off "$@"; do
		options+=(-c "$setting")
	done
	stack_exec INT "$bin/postgres" -D "$dir/pg" "${options[@]}"
}

# stack_replica DIR NEW PORT: makes NEW a stack with a replica, named `replica`, of the running server of the stack DIR.
stack_replica() {
	local bin run
	bin=$(stack_pg_bin "$(cat "$1/pg/PG_VERSION")") && run=$(stack_run "$1") && stack_dirs "$2" || return 1
	stack_as "$bin/pg_basebackup" -h "$run" -U postgres -D "$2/pg" -X stream -R --no-sync --checkpoint=fast || return 1
	echo "primary_conninfo = 'host=$run user=postgres application_name=replica'" | stack_as tee -a "$2/pg/postgresql.auto.conf" >/dev/null
}

# stack_psql DIR DATABASE [OPTION…]: psql as the superuser. Debian's own psql is a script that first looks for clusters.
stack_psql() {
	local dir=$1 database=$2 bin run
	shift 2
	bin=$(stack_pg_bin "$(cat "$dir/pg/PG_VERSION")") && run=$(stack_run "$dir") || return 1
	PGHOST=$run PGUSER=postgres PGOPTIONS='-c client_min_messages=warning' \
		"$bin/psql" -X -q -v ON_ERROR_STOP=1 -d "$database" "$@"
}

# stack_nap: 20 ms without a process.
stack_nap() {
	[ -n "${stack_idle:-}" ] || exec {stack_idle}<> <(:)
	read -r -t 0.02 -u "$stack_idle" || true
}

# stack_ready SECONDS PID COMMAND…: waits until COMMAND succeeds; fails when PID ends or time is up.
stack_ready() {
	local until=$((SECONDS + $1)) pid=$2
	shift 2
	until "$@"; do
		kill -0 "$pid" 2>/dev/null && [ $SECONDS -lt $until ] || return 1
		stack_nap
	done
}

# stack_pg_accepts DIR PID: the server with that process says in its pid file when it takes connections.
stack_pg_accepts() {
	local line=()
	{ mapfile -t line <"$1/pg/postmaster.pid"; } 2>/dev/null
	[ "${line[0]:-}" = "$2" ] && [[ ${line[7]:-} == ready* ]]
}

# stack_answers PORT: does /health answer 200?
stack_answers() {
	local status fd
	{ exec {fd}<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
	printf 'GET /health HTTP/1.0\r\n\r\n' >&"$fd"
	read -r -t 5 -u "$fd" _ status _
	exec {fd}>&-
	[ "$status" = 200 ]
}

# stack_database DIR NAME: makes the database and the roles if they are not there.
stack_database() {
	stack_psql "$1" postgres -v database="$2" -v roles="$top/sql/roles.sql" <<-'EOT'
		SELECT format('CREATE DATABASE %I TEMPLATE template0', :'database')
			WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'database') \gexec
		\connect :"database"
		\i :roles
	EOT
}

# stack_conf DIR PG DATABASE WORKERS [SETTING…]: writes DIR/tavernd.conf for a database of the cluster in the stack PG; later
# settings win.
stack_conf() {
	local dir=$1 pg database=$3 workers=$4 setting
	pg="host=$(stack_run "$2") dbname=$database" || return 1
	shift 4
	{
		echo "# made by $program, and made again at the next start"
		for setting in "listen_dir = $(stack_run "$dir")" "workers = $workers" "database = $pg user=tavern_app" \
			"database_sys = $pg user=tavern_sys" "database_owner = $pg user=postgres" "$@"; do
			echo "$setting"
		done
	} >"$dir/tavernd.conf" && stack_own "$dir/tavernd.conf"
}

# stack_nginx_conf DIR PORT WORKERS APP: writes DIR/nginx.conf and DIR/nginx-routes.conf; the readable pages are APP/share/tavernd/web.
stack_nginx_conf() {
	local dir=$1 port=$2 workers=$3 app=$4 run servers='' i nofile connections
	run=$(stack_run "$dir")
	for ((i = 0; i < workers; i++)); do
		servers+="		server unix:$run/w$i.sock max_fails=0;\\n"
	done
	nofile=$(ulimit -Hn)
	[ "$nofile" != unlimited ] && [ "$nofile" -le 65536 ] || nofile=65536
	connections=$((nofile / 2 < 16384 ? nofile / 2 : 16384))
	sed -e "s|@dir@|$dir/nginx|g; s|@nginx_workers@|$workers|; s|@nofile@|$nofile|; s|@connections@|$connections|" \
		-e "s|@port@|$port|; s|@routes@|$dir/nginx-routes.conf|; s|@servers@|${servers%\\n}|" \
		"$top/nginx/run.conf.in" >"$dir/nginx.conf" &&
		sed -e "s|@webdir@|$app/share/tavernd/web|g; s|/run/tavernd/eventd.sock|$run/eventd.sock|" "$top/nginx/routes.conf" >"$dir/nginx-routes.conf" &&
		stack_own "$dir/nginx.conf" "$dir/nginx-routes.conf"
}

# stack_nginx DIR [CONF]: becomes nginx, with DIR/nginx.conf or another file there.
stack_nginx() { stack_exec TERM nginx -e stderr -p "$1/nginx" -c "$1/${2:-nginx.conf}"; }

# stack_tavernd DIR APP: becomes the master of the workers.
stack_tavernd() { stack_exec TERM "$2/sbin/tavernd" -c "$1/tavernd.conf"; }

# stack_eventd DIR APP: becomes the teller of events.
stack_eventd() { stack_exec TERM "$2/sbin/tavern-eventd" -c "$1/tavernd.conf"; }

# stack_jobd DIR APP: becomes the runner of jobs.
stack_jobd() { stack_exec TERM "$2/sbin/tavern-jobd" -c "$1/tavernd.conf"; }

# stack_tavernctl DIR APP ARG…: runs the operator's program against the stack.
stack_tavernctl() { stack_as "$2/bin/tavernctl" -c "$1/tavernd.conf" "${@:3}"; }

# stack_install BUILD APP: installs a build tree. First `all`: what carries the installation's paths is made with the
# configured ones, not with those of this copy.
stack_install() {
	make -s -j2 -C "$1" all >&2 && make -s -C "$1" install prefix="$2" >/dev/null && chmod -R go+rX "$2"
}

# Called as a program: FUNCTION ARG… for the stack whose directory is the first argument.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	function=stack_$1
	shift
	declare -F "$function" >/dev/null || die "no function $function"
	case $function in stack_pg_bin | stack_install) ;; *) stack_owner "$1" ;; esac
	"$function" "$@"
fi
