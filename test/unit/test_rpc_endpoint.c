/*
 * test_rpc_endpoint.c
 *	  Which endpoint is asked while others rest.
 */
#include "check.h"

#include "rpc/endpoint.h"

#define COUNT 3

static struct rpc_endpoint list[COUNT];
static struct rpc_endpoints endpoints;

static void
set_up(void)
{
	memset(list, 0, sizeof(list));
	endpoints = (struct rpc_endpoints){.list = list, .count = COUNT, .random = 42};
}

static long
chosen_at(double now_ms)
{
	struct rpc_endpoint *endpoint = rpc_endpoints_choose(&endpoints, now_ms);

	return endpoint == NULL ? -1 : (long) (endpoint - list);
}

TEST(the_endpoint_that_works_is_kept)
{
	set_up();
	CHECK_NUMBER(chosen_at(0), 0);
	rpc_endpoint_failed(&endpoints, &list[0], 0, 0);
	CHECK_NUMBER(chosen_at(1), 1);
	CHECK_NUMBER(endpoints.generation, 1);
	/* Also when the first has rested. */
	CHECK_NUMBER(chosen_at(100000), 1);
	CHECK_NUMBER(endpoints.generation, 1);
	rpc_endpoint_failed(&endpoints, &list[1], 100000, 0);
	CHECK_NUMBER(chosen_at(100001), 0);
	CHECK_NUMBER(endpoints.generation, 2);
}

/* A worker that asks every ten seconds finds the first endpoint rested each time. */
TEST(one_that_has_failed_is_left_even_when_it_has_rested)
{
	set_up();
	rpc_endpoint_failed(&endpoints, &list[0], 0, 0);
	CHECK_NUMBER(chosen_at(10000), 1);
	rpc_endpoint_failed(&endpoints, &list[1], 10000, 0);
	CHECK_NUMBER(chosen_at(20000), 0);
	rpc_endpoint_failed(&endpoints, &list[0], 20000, 60000);
	CHECK_NUMBER(chosen_at(30000), 1);
	rpc_endpoint_worked(&list[1]);
	CHECK_NUMBER(chosen_at(90000), 1);
}

TEST(nobody_is_asked_while_all_rest)
{
	set_up();
	for (int i = 0; i < COUNT; i++)
		rpc_endpoint_failed(&endpoints, &list[i], 1000, i == 1 ? 500 : 2000);
	CHECK_NUMBER(chosen_at(1499), -1);
	CHECK_NUMBER(rpc_endpoints_ready_at(&endpoints, 1499), 1500);
	CHECK_NUMBER(chosen_at(1500), 1);
	CHECK_NUMBER(rpc_endpoints_ready_at(&endpoints, 1500), 0);
}

TEST(rests_grow_are_spread_and_have_a_bound)
{
	double rest = 0;
	double least = 1e9;
	double most = 0;

	set_up();
	for (int i = 0; i < 40; i++)
	{
		rpc_endpoint_failed(&endpoints, &list[0], 0, 0);
		rest = list[0].rests_until_ms;
		if (i == 0)
			CHECK(rest >= 75 && rest <= 125);
		if (i == 3)
			CHECK(rest >= 600 && rest <= 1000);
		if (i >= 10)
		{
			least = rest < least ? rest : least;
			most = rest > most ? rest : most;
		}
	}
	CHECK(least >= 7500 && most <= 12500);
	CHECK(most - least > 1000);
	rpc_endpoint_worked(&list[0]);
	CHECK_NUMBER(list[0].failures, 0);
	CHECK_NUMBER(chosen_at(0), 0);
}

TEST(a_node_cannot_ask_for_more_than_five_minutes)
{
	set_up();
	rpc_endpoint_failed(&endpoints, &list[0], 0, 30000);
	CHECK_NUMBER(list[0].rests_until_ms, 30000);
	rpc_endpoint_failed(&endpoints, &list[0], 0, 1e12);
	CHECK_NUMBER(list[0].rests_until_ms, 300000);
}
