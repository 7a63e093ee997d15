/*
 * check.c
 *	  Runs the registered unit tests; arguments select tests by a part of their names.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#define ARENAS_PER_TEST_MAX 16

static struct test *first_test;
static struct test **end_of_tests = &first_test;
static const struct test *running;
static unsigned long checks;
static unsigned long failures;

static struct evm_arena *arenas[ARENAS_PER_TEST_MAX];
static size_t arena_count;

void
test_register(struct test *test)
{
	*end_of_tests = test;
	end_of_tests = &test->next;
}

bool
test_check(bool holds, const char *file, int line, const char *what)
{
	checks++;
	if (!holds)
	{
		failures++;
		printf("%s:%d: %s: does not hold: %s\n", file, line, running->name, what);
	}
	return holds;
}

void
test_check_text(const char *got, const char *want, const char *file, int line)
{
	checks++;
	if (got == NULL || strcmp(got, want) != 0)
	{
		failures++;
		printf("%s:%d: %s: got \"%s\" instead of \"%s\"\n", file, line, running->name,
			   got == NULL ? "(null)" : got, want);
	}
}

void
test_check_number(long long got, long long want, const char *file, int line, const char *what)
{
	checks++;
	if (got != want)
	{
		failures++;
		printf("%s:%d: %s: %s is %lld instead of %lld\n", file, line, running->name, what, got,
			   want);
	}
}

struct evm_arena *
test_arena(size_t limit_bytes)
{
	struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, limit_bytes);

	if (arena == NULL || arena_count == ARENAS_PER_TEST_MAX)
	{
		printf("%s: no more arenas\n", running->name);
		exit(2);
	}
	arenas[arena_count++] = arena;
	return arena;
}

static bool
is_selected(const struct test *test, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
	{
		if (strstr(test->name, argv[i]) != NULL)
			return true;
	}
	return argc == 1;
}

int
main(int argc, char **argv)
{
	unsigned long run = 0;

	for (running = first_test; running != NULL; running = running->next)
	{
		if (!is_selected(running, argc, argv))
			continue;
		run++;
		running->run();
		while (arena_count > 0)
			evm_arena_destroy(arenas[--arena_count]);
	}
	printf("unit: %lu tests, %lu checks, %lu failed\n", run, checks, failures);
	return failures == 0 && run > 0 ? 0 : 1;
}
