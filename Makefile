# rflow builds with PGXS: make, make install, make installcheck.
#
#   make                  the library and the extension's script
#   make install          into the PostgreSQL of PG_CONFIG
#   make installcheck     regression, isolation and TAP tests of what is installed,
#                         in PostgreSQL instances of their own (not as root)
#
# These need nothing but a checkout; they install what is missing when run by root,
# and write nothing outside the checkout otherwise (see test/check.sh):
#
#   make check            every test; PARTS="unit regress", TESTS="test/t/x.pl" select
#   make demo             a chain, a server, a deposit, a confirmed transaction
#   make bench            the benchmark of bench/hot-path; PART=formats that of bench/formats, PART=relay that of bench/relay
#   make soak             2,000 sends through faults and crashes; SOAK_SENDS=200 SOAK_SEED=7 other ones
#   make lint             formatting, layers, exported symbols, static analysis
#   make vectors DIR=...  conformance vectors of a folder against the pure code

OWN_GOALS := check demo bench soak lint vectors

ifneq ($(filter $(OWN_GOALS),$(MAKECMDGOALS)),)

# PGXS has a check goal of its own, so it stays out when one of ours is asked for.
OTHER_GOALS := $(filter-out $(OWN_GOALS),$(MAKECMDGOALS))

.PHONY: $(OWN_GOALS) $(OTHER_GOALS)
.NOTPARALLEL:

check:
	@PARTS='$(PARTS)' TESTS='$(TESTS)' test/check.sh

lint:
	@PARTS=lint test/check.sh

vectors:
	@test/dev.sh vectors '$(DIR)'

demo:
	@test/dev.sh demo

bench:
	@test/dev.sh bench $(PART)

soak:
	@test/dev.sh soak

$(OTHER_GOALS):
	@$(MAKE) --no-print-directory $@

else

EXTENSION = rflow
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" rflow.control)
MODULE_big = rflow
OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c)))

# sql/NN_topic.sql, joined in order, are the script; upgrades are files of their own.
SQL_PARTS = $(sort $(wildcard sql/[0-9][0-9]_*.sql))
DATA_built = sql/$(EXTENSION)--$(EXTVERSION).sql
DATA = $(wildcard sql/$(EXTENSION)--*--*.sql)

REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --temp-instance=./tmp_check --temp-config=test/rflow.conf \
	--load-extension=$(EXTENSION) --inputdir=test
ISOLATION = $(patsubst test/specs/%.spec,%,$(sort $(wildcard test/specs/*.spec)))
ISOLATION_OPTS = --temp-instance=./tmp_check_iso --temp-config=test/rflow.conf \
	--load-extension=$(EXTENSION) --inputdir=test --outputdir=./
PROVE_TESTS ?= $(sort $(wildcard test/t/*.pl))
ifneq ($(PROVE_TESTS),)
TAP_TESTS = 1
endif

# RFLOW_WERROR= on the command line builds with a compiler that warns of something new.
RFLOW_WERROR ?= -Werror
PG_CPPFLAGS = -Isrc -DRFLOW_VERSION=\"$(EXTVERSION)\" -MMD -MP
PG_CFLAGS = -Wall -Wextra -Wmissing-prototypes -Wdeclaration-after-statement -Werror=vla \
	-Werror=implicit-function-declaration -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers $(RFLOW_WERROR)
SHLIB_LINK = -Wl,--version-script=src/rflow.map -lcurl -ljansson -lsecp256k1 -lcrypto

EXTRA_CLEAN = $(OBJS:.o=.d) tmp_check_iso log

# No worker and no parser of ours gains from bitcode, and building it needs clang.
override with_llvm := no

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

PG_PROVE_FLAGS += -I test/perl

# The two that PostgreSQL's headers trip, asked of the code that includes none of them.
src/evm/%.o: override CFLAGS += -Wunused-parameter -Wsign-compare

$(OBJS): rflow.control

rflow.so: src/rflow.map

$(DATA_built): $(SQL_PARTS) rflow.control Makefile
	@mkdir -p sql
	@printf '%s\n' '\echo Use "CREATE EXTENSION $(EXTENSION)" to load this file. \quit' | \
		cat - $(SQL_PARTS) > $@.tmp && mv $@.tmp $@

-include $(OBJS:.o=.d)

endif
