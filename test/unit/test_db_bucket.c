/*
 * test_db_bucket.c
 *	  What may be spent per second, and by whom first.
 */
#include "check.h"

#include <string.h>

#include "db/bucket.h"
#include "rpc/units.h"

static struct db_bucket
bucket_of(double per_second)
{
	struct db_bucket bucket = {0};

	db_bucket_set(&bucket, per_second, 0);
	return bucket;
}

TEST(without_a_limit_everything_is_allowed)
{
	struct db_bucket bucket = {0};

	CHECK_NUMBER(db_bucket_take(&bucket, 1e9, DB_BULK, 0), 0);
}

TEST(no_second_spends_more_than_two_allow)
{
	struct db_bucket bucket = bucket_of(100);
	double spent = 0;

	for (int ms = 0; ms < 10000; ms++)
		while (db_bucket_take(&bucket, 7, DB_NORMAL, ms) == 0)
			spent += 7;
	/* What was there at first, and ten seconds of 100. */
	CHECK(spent >= 1080 && spent <= 1100);
}

TEST(it_says_how_long_to_wait)
{
	struct db_bucket bucket = bucket_of(100);

	CHECK_NUMBER(db_bucket_take(&bucket, 100, DB_NORMAL, 0), 0);
	CHECK_NUMBER(db_bucket_take(&bucket, 50, DB_NORMAL, 0), 500);
	CHECK_NUMBER(db_bucket_take(&bucket, 50, DB_NORMAL, 400), 100);
	CHECK_NUMBER(db_bucket_take(&bucket, 50, DB_NORMAL, 500), 0);
}

TEST(bulk_leaves_some_and_what_is_urgent_borrows)
{
	struct db_bucket bucket = bucket_of(100);

	CHECK_NUMBER(db_bucket_take(&bucket, 75, DB_BULK, 0), 0);
	CHECK_NUMBER(db_bucket_take(&bucket, 1, DB_BULK, 0), 10);
	CHECK_NUMBER(db_bucket_take(&bucket, 25, DB_NORMAL, 0), 0);
	CHECK_NUMBER(db_bucket_take(&bucket, 1, DB_NORMAL, 0), 10);
	CHECK_NUMBER(db_bucket_take(&bucket, 60, DB_URGENT, 0), 0);
	CHECK_NUMBER(db_bucket_take(&bucket, 40, DB_URGENT, 0), 0);
	/* A second of debt is the end. */
	CHECK_NUMBER(db_bucket_take(&bucket, 10, DB_URGENT, 0), 100);
	/* Those who come after it wait until the debt is paid. */
	CHECK_NUMBER(db_bucket_take(&bucket, 10, DB_NORMAL, 1000), 100);
}

TEST(what_costs_more_than_a_second_takes_all_and_is_paid_later)
{
	struct db_bucket bucket = bucket_of(100);

	CHECK_NUMBER(db_bucket_take(&bucket, 350, DB_BULK, 0), 0);
	CHECK_NUMBER(db_bucket_take(&bucket, 10, DB_NORMAL, 0), 2600);
}

TEST(another_limit_keeps_what_was_spent)
{
	struct db_bucket bucket = bucket_of(100);

	CHECK_NUMBER(db_bucket_take(&bucket, 100, DB_NORMAL, 0), 0);
	db_bucket_set(&bucket, 1000, 0);
	CHECK_NUMBER(db_bucket_take(&bucket, 100, DB_NORMAL, 0), 100);
	db_bucket_set(&bucket, 10, 1000);
	CHECK_NUMBER(db_bucket_take(&bucket, 10, DB_NORMAL, 1000), 0);
	CHECK_NUMBER(db_bucket_take(&bucket, 10, DB_NORMAL, 1000), 1000);
}

TEST(a_network_can_say_what_calls_cost)
{
	struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, 1 << 20);
	const struct evm_json *own;
	const char *text = "{\"eth_getLogs\": 300, \"*\": 1}";

	CHECK_NUMBER(rpc_units_of(NULL, "eth_blockNumber"), 10);
	CHECK_NUMBER(rpc_units_of(NULL, "eth_chainId"), 0);
	CHECK_NUMBER(rpc_units_of(NULL, "rflow_unheardOf"), 20);
	CHECK_NUMBER(evm_json_parse(arena, &own, text, strlen(text), NULL), EVM_OK);
	CHECK_NUMBER(rpc_units_of(own, "eth_getLogs"), 300);
	CHECK_NUMBER(rpc_units_of(own, "eth_blockNumber"), 1);
	evm_arena_destroy(arena);
}
