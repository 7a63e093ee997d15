#!/bin/bash
# Builds and tests rflow in an area that is kept, for quick iteration.
#
# Give yourself an area of your own, `export RFLOW_BUILD_DIR=/tmp/you`, then:
#
#   test/dev.sh build              copy what changed, compile, install into the private tree
#   test/dev.sh unit [TARGET]      make -C test/unit TARGET (check)
#   test/dev.sh regress [NAME...]  all of test/sql, or some
#   test/dev.sh accept NAME...     copy results of regress or isolation to expected/
#   test/dev.sh isolation [NAME...]
#   test/dev.sh tap [FILE...]      all of test/t, or some (prove; PROVE_FLAGS=-v shows all)
#   test/dev.sh lint               as make lint
#   test/dev.sh format [FILE...]   formats in place all committed C files, or some
#   test/dev.sh psql [ARG...]      psql in a server of the area's own, restarted if you rebuilt
#   test/dev.sh stop               stops that server
#   test/dev.sh exec CMD...        any command, in the copy of the checkout, with the area's PATH
#   test/dev.sh demo               what make demo runs
#   test/dev.sh bench [PART]       what make bench runs: hot-path (unless told), formats or relay
#   test/dev.sh soak               what make soak runs
#
# Every command first copies and builds what changed; with RFLOW_MINE="src/api test/sql" it
# takes only these paths as they are and all else as last committed, so that the half-done
# work of others in the same checkout does not stop yours.  It works as root (the area then
# belongs to postgres) and as anyone else, and never touches the installed PostgreSQL.
# Tests of test/sql and test/specs find the extension created in their database; they share
# one server with shared_preload_libraries = rflow (test/rflow.conf).  Sockets and ports are
# the area's own, so that areas never meet.
set -euo pipefail

. "$(dirname "$0")/tools/area.sh"

SERVER_CONF="listen_addresses = ''
shared_preload_libraries = 'rflow'
max_worker_processes = 24
log_line_prefix = '%m [%p] %b %a %q'"

server_stop()
{
	[ -f "$AREA/server/postmaster.pid" ] || return 0
	as_user pg_ctl -D "$AREA/server" -m fast -s stop
}

# A server that has an older library loaded than the one installed is restarted.
server_start()
{
	local library

	library=$AREA/pg$("${PG_CONFIG:-pg_config}" --pkglibdir)/rflow.so
	if [ ! -d "$AREA/server" ]; then
		as_user initdb -D "$AREA/server" -U postgres -A trust >/dev/null
		printf "%s\nunix_socket_directories = '%s'\n" "$SERVER_CONF" "$AREA_TMPDIR" |
			as_user tee -a "$AREA/server/postgresql.conf" >/dev/null
	fi
	if [ "$library" -nt "$AREA/server/postmaster.pid" ]; then
		server_stop
	fi
	if [ ! -f "$AREA/server/postmaster.pid" ]; then
		as_user pg_ctl -D "$AREA/server" -l "$AREA/log/server" -s start
	fi
}

accept()
{
	local name

	for name in "$@"; do
		[ -f "$AREA/src/results/$name.out" ] || die "no result of $name in $AREA/src/results"
		cp "$AREA/src/results/$name.out" "$RFLOW_CHECKOUT/expected/$name.out"
	done
}

command=${1:-build}
[ $# -eq 0 ] || shift
"$RFLOW_CHECKOUT/test/tools/packages.sh"
area_open "${RFLOW_BUILD_DIR:-$(area_default)}"
case $command in
	accept) accept "$@"; exit ;;
	stop) server_stop; exit ;;
	unit) area_sync; as_user make -s -C test/unit "${1:-check}"; exit ;;
	vectors)
		area_sync
		[ -n "${1:-}" ] || die "name a folder of vectors: make vectors DIR=..."
		as_user make -s -C test/unit vectors DIR="$(area_folder "$1")"
		exit ;;
	lint)
		area_sync
		area_postgres
		as_user make -s -k -j2 all || true
		as_user test/lint.sh
		exit ;;
	format)
		cd "$RFLOW_CHECKOUT"
		[ $# -gt 0 ] || set -- $(git ls-files '*.c' '*.h')
		test/tools/format.sh "$@"
		exit ;;
	demo | bench | soak) echo "building rflow in $AREA" ;;
esac
area_build
case $command in
	build) ;;
	regress) as_user make -s installcheck ISOLATION= PROVE_TESTS= ${1:+REGRESS="$*"} ;;
	isolation) as_user make -s installcheck REGRESS= PROVE_TESTS= ${1:+ISOLATION="$*"} ;;
	tap)
		area_chain
		as_user make -s installcheck REGRESS= ISOLATION= ${1:+PROVE_TESTS="$*"} \
			${PROVE_FLAGS:+PROVE_FLAGS="$PROVE_FLAGS"} ;;
	psql)
		server_start
		area_release
		as_user psql -X -h "$AREA_TMPDIR" -U postgres "$@" ;;
	exec)
		area_chain
		area_release
		as_user "$@" ;;
	demo) area_chain; as_user perl examples/token-transfer-relay/demo.pl "$@" ;;
	soak)
		area_chain
		export SOAK_SENDS=${SOAK_SENDS:-2000} SOAK_RESULTS=$AREA/src/bench/relay/soak-results.json
		status=0
		as_user make -s installcheck REGRESS= ISOLATION= PROVE_FLAGS=-v \
			PROVE_TESTS=test/t/a_soak_loses_nothing_and_pays_nothing_twice.pl || status=$?
		[ "$SOAK_SENDS" -lt 2000 ] || cp "$SOAK_RESULTS" "$RFLOW_CHECKOUT/bench/relay/"
		exit $status ;;
	bench)
		part=${1:-hot-path}
		[ $# -eq 0 ] || shift
		case $part in
			hot-path) area_chain ;;
			formats) area_npm bench/formats ;;
			relay) area_chain; area_npm bench/relay ;;
			*) die "no benchmark $part" ;;
		esac
		status=0
		as_user perl "bench/$part/bench.pl" "$@" || status=$?
		[ "${QUICK:-0}" != 0 ] ||
			cp "$AREA/src/bench/$part"/bench-results.* "$RFLOW_CHECKOUT/bench/$part/"
		exit $status ;;
	*) die "unknown command $command: see the first lines of $0" ;;
esac
