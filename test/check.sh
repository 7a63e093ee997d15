#!/bin/bash
# Every test of rflow; the work of `make check`.
#
#   PARTS="unit regress" test/check.sh    only these parts (see ALL_PARTS)
#   TESTS="test/t/x.pl" test/check.sh     only these TAP tests
#   RFLOW_BUILD_DIR=DIR                   in an area that is kept (see test/dev.sh)
#
# Run by root on a bare Debian 12 it installs the packages that are missing, works in a
# temporary directory, and runs PostgreSQL and all tests as another user.  Run by anyone
# else it writes nothing outside the checkout (but for sockets in /tmp, where the path of
# the checkout is too long for one) and names the packages that are missing.
set -euo pipefail

. "$(dirname "$0")/tools/area.sh"

ALL_PARTS="unit vectors coverage fuzz lint regress isolation tap"
PART_TIMEOUT=30m
TAP_PROVE_FLAGS=-j3
FUZZ_SECONDS=3					# for each fuzzer
EXTRA_VECTORS=$RFLOW_CHECKOUT/../shared/data/vectors-extra
SHOWN_ON_FAILURE=150			# last lines of a failed part's log
SHOWN_OF_TAP_LOG=40				# last lines of the log of a failed TAP test

# part_NAME: runs a part; its output is the log.
part_unit()
{
	run make -s -j2 -C test/unit check
}

part_vectors()
{
	run make -s -j2 -C test/unit vectors DIR=test/data
	if [ -d "$EXTRA_VECTORS" ]; then
		run make -s -j2 -C test/unit vectors DIR="$(area_folder "$EXTRA_VECTORS")"
	fi
}

part_coverage()
{
	run make -s -j2 -C test/unit coverage
}

part_fuzz()
{
	run make -s -j2 -C test/fuzz run SECONDS=$FUZZ_SECONDS
}

part_lint()
{
	run test/lint.sh
}

part_regress()
{
	run make -s installcheck ISOLATION= PROVE_TESTS= || show_and_fail regression.diffs
}

part_isolation()
{
	run make -s installcheck REGRESS= PROVE_TESTS= || show_and_fail regression.diffs
}

# Two at a time: most of a test's time is waiting.  What has failed that way is run again alone, and
# said to have been: a machine too busy for a test's deadlines is no fault of what is tested.
part_tap()
{
	local first=$AREA/log/tap.first again

	if run make -s installcheck REGRESS= ISOLATION= PROVE_FLAGS="$TAP_PROVE_FLAGS" \
		${TESTS:+PROVE_TESTS="$TESTS"} >"$first" 2>&1; then
		cat "$first"
		return 0
	fi
	again=$(awk '/\(Wstat: / { print $1 }' "$first" | sort -u | tr '\n' ' ')
	echo "failed when two ran at a time, and run again alone: ${again:-nothing; see $first}"
	show_failed_logs "$first"
	[ -n "$again" ] || return 1
	echo "$(grep -c '^test/t/.* ok$' "$first") passed, 0 failed"
	if ! run make -s installcheck REGRESS= ISOLATION= PROVE_TESTS="$again" >"$first.again" 2>&1; then
		cat "$first.again"
		show_failed_logs "$first.again"
		return 1
	fi
	cat "$first.again"
}

# show_failed_logs OUTPUT: the ends of what the failed TAP tests logged: commands and messages.
show_failed_logs()
{
	local log name

	for log in "$AREA"/src/tmp_check/log/regress_log_*; do
		name=${log##*/regress_log_}
		if grep -q "/$name.pl .*(Wstat" "$1"; then
			echo "--- regress_log_$name"
			tail -n $SHOWN_OF_TAP_LOG "$log" | sed "s/^/| /"
		fi
	done
}

run()
{
	as_user timeout "$PART_TIMEOUT" "$@"
}

show_and_fail()
{
	as_user cat "$1" 2>/dev/null || true
	return 1
}

# What there is to run of a part, to tell a part without tests from one that passed.
part_has_tests()
{
	case $1 in
		unit) compgen -G "$AREA/src/test/unit/test_*.c" ;;
		vectors | coverage) compgen -G "$AREA/src/test/data/*.jsonl.gz" ;;
		fuzz) compgen -G "$AREA/src/test/fuzz/fuzz_*.c" ;;
		lint) true ;;
		regress) compgen -G "$AREA/src/test/sql/*.sql" ;;
		isolation) compgen -G "$AREA/src/test/specs/*.spec" ;;
		tap) compgen -G "$AREA/src/test/t/*.pl" ;;
		*) die "no part $1: there are $ALL_PARTS" ;;
	esac >/dev/null
}

# part_counts LOG: "passed failed", from what each kind of test prints.
part_counts()
{
	awk '
		/^test .*\.\.\. ok/ || /^ok [0-9]+ +- / { passed++ }
		/^test .*\.\.\. (FAILED|failed)/ || /^not ok [0-9]+ +- / { failed++ }
		/^[0-9]+ passed, [0-9]+ failed/ { passed += $1; failed += $3 }
		/^fuzz .* nothing found/ { passed++ }
		/^fuzz .* failed/ { failed++ }
		/^unit: / { for (i = 1; i < NF; i++)
			{
				if ($(i + 1) ~ /^checks/) checks = $i
				if ($(i + 1) ~ /^failed/) bad = $i
			}
			passed += checks - bad; failed += bad }
		/^Files=[0-9]+, Tests=[0-9]+/ { split($2, n, /[=,]/); passed += n[2] - subtests }
		/^  Failed tests?:|^  Non-zero exit|^  Parse errors/ { next }
		/ \(Wstat: .* Failed: [0-9]+\)/ { sub(/.*Failed: /, ""); subtests += $0; failed += $0 }
		END { print passed + 0, failed + 0 }' "$1"
}

# Servers that a test which was killed left behind.
stop_servers()
{
	local pidfile

	find "$AREA" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		as_user pg_ctl -D "$(dirname "$pidfile")" -m immediate -s stop 2>/dev/null || true
	done
}

leave()
{
	local status=$?

	stop_servers
	if [ $status -eq 0 ] && [ -n "${temporary:-}" ]; then
		rm -rf "$AREA"
	else
		echo "logs: $AREA/log"
	fi
}

run_part()
{
	local part=$1
	local log=$AREA/log/$part.log
	local status
	local began=$SECONDS
	local passed failed

	if ! part_has_tests "$part"; then
		printf '%-10s nothing to run\n' "$part"
		return
	fi
	set +e
	(set -e; "part_$part") >"$log" 2>&1
	status=$?
	set -e
	read -r passed failed < <(part_counts "$log")
	if [ $status -ne 0 ] && [ "$failed" -eq 0 ]; then
		failed=1
	elif [ $status -eq 0 ] && [ "$passed" -eq 0 ]; then
		passed=1
	fi
	total_passed=$((total_passed + passed))
	total_failed=$((total_failed + failed))
	if [ $status -ne 0 ]; then
		tail -n $SHOWN_ON_FAILURE "$log" | sed "s/^/$part: /"
	fi
	printf '%-10s %s passed, %s failed (%s s)\n' "$part" "$passed" "$failed" $((SECONDS - began))
	sed -n 's/^coverage of/           &/p' "$log"
}

[ -z "${TESTS:-}" ] || PARTS=tap
PARTS=${PARTS:-$ALL_PARTS}
total_passed=0
total_failed=0

"$RFLOW_CHECKOUT/test/tools/packages.sh" test
if [ -n "${RFLOW_BUILD_DIR:-}" ]; then
	area_open "$RFLOW_BUILD_DIR"
elif [ "$(id -u)" -eq 0 ]; then
	temporary=$(mktemp -d "${TMPDIR:-/tmp}/rflow.XXXXXX")
	chmod 755 "$temporary"
	area_open "$temporary"
else
	area_open "$(area_default)"
fi
trap leave EXIT
trap 'exit 1' INT TERM

area_build
case " $PARTS " in *" tap "*) area_chain ;; esac
for part in $PARTS; do
	run_part "$part"
done
echo "$total_passed passed, $total_failed failed"
[ "$total_failed" -eq 0 ]
