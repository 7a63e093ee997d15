#!/bin/bash
# The rules that a machine can check; the work of `make lint`.  Runs in a tree that has been
# built (test/dev.sh lint sees to that), from which it reads the objects and the library.
set -euo pipefail

cd "$(dirname "$0")/.."

PG_CONFIG=${PG_CONFIG:-pg_config}
CLANG_FORMAT=${CLANG_FORMAT:-clang-format-14}
CC=${CC:-gcc}
SERVER_INCLUDES=$("$PG_CONFIG" --includedir-server)
WARNINGS="-Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers -Werror"

c_files()
{
	find src test -name build -prune -o -name '*.[ch]' -print | LC_ALL=C sort
}

check_format()
{
	local bad

	bad=$(c_files | xargs "$CLANG_FORMAT" --dry-run 2>&1 | sed -n 's/:.* warning: .*//p' | sort | uniq -c)
	[ -n "$bad" ] || return 0
	echo "lines that clang-format would change (test/dev.sh format FILE...):"
	echo "$bad"
	return 1
}

# A header brings all it needs, but for postgres.h, which every .c file of the server's side
# includes first; those of src/evm get by without it.
check_headers()
{
	local header first status=0

	for header in $(find src -name '*.h' | LC_ALL=C sort); do
		first='#include "postgres.h"'
		case $header in src/evm/*) first= ;; esac
		printf '%s\n#include "%s"\n' "$first" "${header#src/}" |
			"$CC" -x c -std=gnu99 -fsyntax-only -D_GNU_SOURCE $WARNINGS -Isrc -I"$SERVER_INCLUDES" - 2>&1 ||
			status=1
	done
	return $status
}

# The library exports its magic, and what SQL or the postmaster looks up by name.
check_exports()
{
	nm -D --defined-only rflow.so | awk '
		{ type[$3] = $2 }
		END {
			for (name in type)
			{
				if (name ~ /^(Pg_magic_func|_PG_init)$/ || name ~ /^rflow_[a-z_]*_main$/)
					continue
				if (name ~ /^pg_finfo_rflow_/ || ("pg_finfo_" name) in type)
					continue
				print "rflow.so exports " name
				bad = 1
			}
			exit bad
		}'
}

# The name of a folder is the prefix of its external functions.
check_prefixes()
{
	local layer objects status=0

	for layer in evm rpc db chain relay flow api worker; do
		objects=$(find src -path "src/$layer/*.o")
		[ -n "$objects" ] || continue
		nm --defined-only $objects |
			awk -v layer="$layer" '
				$2 == "T" && $3 ~ /^pg_finfo_/ { called[substr($3, 10)] = 1 }
				$2 == "T" { defined[$3] = 1 }
				END {
					for (name in defined)
						if (name !~ "^" layer "_" && name !~ /^pg_finfo_/ && !(name in called) &&
							name !~ /^rflow_[a-z_]*_main$/)
						{
							print "src/" layer " defines " name ", which lacks the prefix " layer "_"
							bad = 1
						}
					exit bad
				}' || status=1
	done
	return $status
}

# The headers of libraries and of the server are not read: test/tools/cppcheck.h stands for them.
check_cppcheck()
{
	cppcheck --quiet --error-exitcode=1 --inline-suppr -j 2 --std=c99 --language=c \
		--enable=warning,portability,performance -Isrc --include=test/tools/cppcheck.h \
		--suppress=unknownMacro --template='{file}:{line}: {severity}: {message} [{id}]' src
}

passed=0
failed=0
check()
{
	local name=$1
	local status=0

	shift
	"$@" || status=$?
	if [ $status -eq 0 ]; then
		passed=$((passed + 1))
		echo "$name: ok"
	else
		failed=$((failed + 1))
		echo "$name: failed"
	fi
}

check format check_format
for rule in layers cycles libraries sizes columns words waits versions; do
	check "$rule" test/tools/source_rules.pl "$rule"
done
check headers check_headers
check exports check_exports
check prefixes check_prefixes
check cppcheck check_cppcheck
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
