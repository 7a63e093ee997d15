# The build area, for the scripts that source this file.
#
# An area is a directory that holds all that a build and its tests write:
#
#   src/    a copy of the checkout, built in place
#   pg/     a private copy of the PostgreSQL tree; rflow is installed there
#   tmp/    sockets and temporary files
#   log/    what each part of the tests printed
#
# PostgreSQL refuses to run as root, so for root the area belongs to another user and
# everything in it runs as that user: the checkout is read and never chowned.

RFLOW_CHECKOUT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Paths of sockets end at 107 bytes; ours are TMPDIR, "/pg_regress-XXXXXX/.s.PGSQL.65432".
AREA_TMPDIR_MAX=70

die()
{
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# The user that runs PostgreSQL; decided after the packages are there.
area_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		id -un
	elif getent passwd postgres >/dev/null; then
		echo postgres
	else
		echo nobody
	fi
}

# Where the area is when RFLOW_BUILD_DIR does not say: for root outside the checkout, which
# other users may not be able to reach.
area_default()
{
	if [ "$(id -u)" -eq 0 ]; then
		echo "${TMPDIR:-/tmp}/rflow-area"
	else
		echo "$RFLOW_CHECKOUT/tmp_area"
	fi
}

# area_open DIR: makes the area's directories, and one user of it at a time.
area_open()
{
	AREA=$1
	AREA_USER=$(area_user)
	mkdir -p "$AREA"
	AREA=$(cd "$AREA" && pwd)
	if [ "$(id -u)" -eq 0 ] && [ "$(stat -c %u "$AREA")" -eq 0 ]; then
		chown "$AREA_USER:" "$AREA"
	fi
	[ "$(stat -c %U "$AREA")" = "$AREA_USER" ] || die "$AREA belongs to another user"
	area_paths
	as_user mkdir -p "$AREA/src" "$AREA/pg" "$AREA/log" "$AREA/ports" "$AREA/tmp" ||
		die "$AREA cannot be written by user $AREA_USER: choose another RFLOW_BUILD_DIR"
	exec 9>"$AREA/log/lock"
	flock 9
}

# Lets others use the area while an interactive program runs.
area_release()
{
	exec 9>&-
}

# Where things are in the private PostgreSQL tree, from where they are in the system.
area_paths()
{
	local config=${PG_CONFIG:-pg_config}

	command -v "$config" >/dev/null || die "pg_config not found: set PG_CONFIG"
	PG_SYSTEM_BIN=$("$config" --bindir)
	PG_BIN=$AREA/pg$PG_SYSTEM_BIN
	PG_PERL=$AREA/pg$(dirname "$("$config" --pgxs)")/../test/perl
	ANVIL=${RFLOW_ANVIL:-$(echo "$AREA"/src/test/chain/node_modules/@foundry-rs/anvil-*/bin/anvil)}
	AREA_TMPDIR=$AREA/tmp
	if [ ${#AREA_TMPDIR} -gt $AREA_TMPDIR_MAX ]; then
		AREA_TMPDIR=/tmp
	fi
}

# as_user CMD...: in the area's copy, as its user, with its PostgreSQL first.
as_user()
{
	local run=()
	local dir=$AREA

	[ -d "$AREA/src" ] && dir=$AREA/src
	[ "$(id -u)" -eq 0 ] && run=(runuser -u "$AREA_USER" --)
	(cd "$dir" && "${run[@]}" env -u PGHOST -u PGPORT -u PGUSER -u PGDATABASE -u PGDATA \
		-u MAKEFLAGS -u MAKELEVEL -u MFLAGS \
		PATH="$PG_BIN:$PATH" PG_CONFIG="$PG_BIN/pg_config" PERL5LIB="$PG_PERL:$AREA/src/test/perl" \
		HOME="$AREA" TMPDIR="$AREA_TMPDIR" PG_TEST_PORT_DIR="$AREA/ports" \
		RFLOW_ANVIL="$ANVIL" LC_ALL=C.UTF-8 "$@" 9>&-)
}

# A copy of a PostgreSQL tree that keeps its relative layout finds its own files.
area_postgres()
{
	local config=${PG_CONFIG:-pg_config}
	local version dir

	version=$("$config" --version)
	[ "$(cat "$AREA/pg/version" 2>/dev/null)" = "$version" ] && return
	[ -x "$PG_SYSTEM_BIN/initdb" ] || die "no server beside $config: install PostgreSQL's server"
	case $PG_SYSTEM_BIN in
		/bin | /usr/bin | /usr/local/bin)
			die "PostgreSQL is not in a directory of its own ($PG_SYSTEM_BIN): set PG_CONFIG" ;;
	esac
	echo "copying $version"
	for dir in --bindir --pkglibdir --sharedir --includedir --includedir-server; do
		dir=$("$config" $dir)
		as_user mkdir -p "$AREA/pg$dir"
		as_user cp -a "$dir/." "$AREA/pg$dir/"
	done
	echo "$version" | as_user tee "$AREA/pg/version" >/dev/null
}

# area_npm FOLDER: the packages that its lock file pins, installed once in the area.
area_npm()
{
	local folder=$AREA/src/$1

	if cmp -s "$folder/package-lock.json" "$folder/node_modules/.lock"; then
		return
	fi
	echo "installing the npm packages of $1"
	as_user npm ci --prefix "$1" --cache "$AREA/npm" --ignore-scripts --no-audit --no-fund \
		--no-update-notifier --loglevel=error
	as_user cp "$1/package-lock.json" "$1/node_modules/.lock"
}

# The local chain is a native binary inside an npm package, pinned by the lock file.
area_chain()
{
	local chain=$AREA/src/test/chain

	[ -z "${RFLOW_ANVIL:-}" ] || return 0
	if [ -x "$ANVIL" ] && cmp -s "$chain/package-lock.json" "$chain/node_modules/.lock"; then
		return
	fi
	area_npm test/chain
	area_paths
	[ -x "$ANVIL" ] || die "npm installed no anvil for $(uname -sm)"
}

# area_folder DIR: a copy of a folder outside the checkout that the area's user can read.
area_folder()
{
	local copy

	copy=$AREA/folders/$(basename "$1")
	rm -rf "$copy"
	mkdir -p "$copy"
	cp -r --no-target-directory "$1" "$copy"
	chmod -R u+w,a+rX "$copy"
	echo "$copy"
}

# The checkout as it is; or, where RFLOW_MINE names paths, these as they are and all else as
# last committed, for work beside others in one checkout.
area_sync()
{
	local from=$RFLOW_CHECKOUT
	local path

	if [ -n "${RFLOW_MINE:-}" ]; then
		from=$AREA/mine
		rm -rf "$from"
		mkdir "$from"
		git -C "$RFLOW_CHECKOUT" archive HEAD | tar -x -C "$from"
		for path in $RFLOW_MINE; do
			rm -rf "${from:?}/$path"
			mkdir -p "$(dirname "$from/$path")"
			cp -a "$RFLOW_CHECKOUT/$path" "$from/$path"
		done
	fi
	perl "$RFLOW_CHECKOUT/test/tools/sync.pl" "$from" "$AREA/src"
}

area_build()
{
	area_sync
	area_postgres
	as_user make -s -j2 all || die "the build failed"
	as_user make -s install >/dev/null
}
