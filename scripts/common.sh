# common: what run, check and the test scripts share: messages, packages, building.
# Sourced by bash; expects nothing, sets `top` (the checkout) and a quiet, neutral environment.
# shellcheck shell=bash

# Without a process more: this runs for every part of every test.
top=$(cd "${BASH_SOURCE[0]%"${BASH_SOURCE[0]##*/}"}./.." && pwd -P)
program=${0##*/}
export LC_ALL=C.UTF-8 TZ=UTC
export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost
# Debian keeps nginx and systemd's tools where a normal user's PATH may not look.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '%s: %s\n' "$program" "$*"; }
die() { printf '%s: %s\n' "$program" "$*" >&2; exit "${status:-1}"; }
have() { command -v "$1" >/dev/null 2>&1; }

# packages_missing GROUP…: the packages to install, one a line.
packages_missing() {
	local installed group spec command name found
	installed=" $(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | awk '$1 == "installed" { printf "%s ", $2 }')"
	while read -r group spec command; do
		case " $* " in *" $group "*) ;; *) continue ;; esac
		found=
		[ -n "$command" ] && have "$command" && continue
		for name in ${spec//|/ }; do
			case "$installed" in *" $name "*) found=1; break ;; esac
		done
		[ -n "$found" ] || echo "${spec%%|*}"
	done < <(grep -Ev '^(#|$)' "$top/packages")
}

# packages_install GROUP…: installs what is missing, as root or through sudo. Debian's packages of
# PostgreSQL and nginx start services when installed: neither may happen on somebody's machine.
packages_install() {
	local missing sudo="" script
	have dpkg-query || { say "this is no Debian: the packages named in ./packages are taken to be there"; return 0; }
	[ "$top/build/packages.$*" -ot /var/lib/dpkg/status ] || [ "$top/build/packages.$*" -ot "$top/packages" ] || return 0
	mapfile -t missing < <(packages_missing "$@")
	if [ ${#missing[@]} -eq 0 ]; then
		{ mkdir -p "$top/build" && touch "$top/build/packages.$*"; } 2>/dev/null
		return 0
	fi
	if [ "$EUID" -ne 0 ]; then
		if have sudo && sudo -n true 2>/dev/null; then
			sudo=sudo
		else
			status=3 die "packages are missing and this user may not install them; as root, once:
    apt-get update && apt-get install --no-install-recommends ${missing[*]}"
		fi
	fi
	say "installing ${missing[*]}"
	# shellcheck disable=SC2016
	script='
		made=; policy=/usr/sbin/policy-rc.d; cluster=/etc/postgresql-common/createcluster.d/tavernd-no-main.conf
		trap "[ -z \"\$made\" ] || rm -f \$policy" EXIT
		if [ ! -e $policy ]; then printf "#!/bin/sh\nexit 101\n" >$policy; chmod 755 $policy; made=1; fi
		if ! dpkg-query -W -f "\${db:Status-Status}" postgresql-common 2>/dev/null | grep -q "^installed"; then
			mkdir -p ${cluster%/*}; echo "create_main_cluster = false" >$cluster
		fi
		apt="apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3"
		export DEBIAN_FRONTEND=noninteractive
		$apt update && $apt install --no-install-recommends "$@"'
	$sudo bash -c "$script" packages "${missing[@]}" </dev/null >"${TMPDIR:-/tmp}/tavernd-apt.$$" 2>&1 || {
		tail -n 20 "${TMPDIR:-/tmp}/tavernd-apt.$$" >&2
		status=3 die "apt-get failed (see above)"
	}
	rm -f "${TMPDIR:-/tmp}/tavernd-apt.$$"
}

# compiler NAME: the compiler as configure's CC, through ccache if that is there.
compiler() {
	if have ccache; then echo "ccache $1"; else echo "$1"; fi
}

# build_depfiles DIR: makes automake's empty dependency files at once; config.status has make do it with three processes for each
# of 400, which takes longer than all else that it does.
build_depfiles() {
	awk '/^am__depfiles_remade =/ { on = 1 }
		on { for (i = 1; i <= NF; i++) if (sub(/\$\(DEPDIR\)/, ".deps", $i)) print $i }
		on && !/\\$/ { exit }' "$top/Makefile.in" | (
		cd "$1" || exit 1
		local file files
		mapfile -t files
		printf '%s\n' "${files[@]%/*}" | sort -u | xargs mkdir -p
		for file in "${files[@]}"; do [ -e "$file" ] || echo '# dummy' >"$file"; done
	)
}

# build_configure DIR CC [OPTION…]: makes `configure` if need be and runs it in DIR. Does nothing when DIR was configured the same way.
build_configure() {
	local dir=$1 cc=$2 how
	shift 2
	how="$cc $*"
	if [ ! -x "$top/configure" ] || [ ! -f "$top/Makefile.in" ]; then
		(cd "$top" && autoreconf -fi) || return 1
	fi
	if [ -f "$dir/Makefile" ] && [ "$(cat "$dir/configured.as" 2>/dev/null)" = "$how" ]; then
		return 0
	fi
	mkdir -p "$dir" && rm -f "$dir/Makefile" "$dir/configured.as" && build_depfiles "$dir" || return 1
	(cd "$dir" && "$top/configure" -q -C CC="$(compiler "$cc")" "$@") && echo "$how" >"$dir/configured.as"
}
