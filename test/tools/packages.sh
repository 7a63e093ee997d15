#!/bin/bash
# packages.sh [test]: installs the Debian packages that rflow needs and that are missing:
# to build and run it with a local chain, and with "test" also for the tests and the lint.
#
# Without root it names what is missing and fails.  Where there is no dpkg it does nothing.
set -euo pipefail

command -v dpkg-query >/dev/null || exit 0

# The PostgreSQL whose pg_config is there already, else Debian 12's.
config=${PG_CONFIG:-pg_config}
major=15
if command -v "$config" >/dev/null; then
	major=$("$config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
fi

packages=(
	gcc libc6-dev make pkg-config
	"postgresql-$major" "postgresql-server-dev-$major"
	libcurl4-openssl-dev libjansson-dev libsecp256k1-dev libssl-dev
	perl libipc-run-perl
)
if [ "${1:-}" = test ]; then
	packages+=(binutils clang libclang-rt-14-dev clang-format-14 cppcheck gzip)
fi

missing=()
for package in "${packages[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
	[ "$status" = installed ] || missing+=("$package")
done
# Node.js may come from elsewhere; it is here for npm alone, which fetches the chain.
if [ -z "${RFLOW_ANVIL:-}" ] && ! command -v npm >/dev/null; then
	missing+=(nodejs npm ca-certificates)
fi

[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "missing packages, to be installed by root: apt-get install ${missing[*]}" >&2
	exit 1
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get -y --no-install-recommends install "${missing[@]}"; } >"$log" 2>&1
then
	cat "$log" >&2
	exit 1
fi
