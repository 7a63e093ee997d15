/*
 * check.h
 *	  Unit tests in plain C: TEST(name) { CHECK(...); }.
 *
 * Tests register themselves; a failing check is printed with its place and the
 * test goes on, so that one run shows all that is wrong.
 */
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "evm/arena.h"

struct test
{
	const char *name;
	void (*run)(void);
	struct test *next;
};

extern void test_register(struct test *test);
extern bool test_check(bool holds, const char *file, int line, const char *what);
extern void test_check_text(const char *got, const char *want, const char *file, int line);
extern void test_check_number(long long got, long long want, const char *file, int line,
							  const char *what);

/* An arena for the running test, destroyed when the test ends. */
extern struct evm_arena *test_arena(size_t limit_bytes);

#define TEST(name) \
	static void name(void); \
	static struct test test_##name = {#name, name, NULL}; \
	__attribute__((constructor)) static void register_##name(void) \
	{ \
		test_register(&test_##name); \
	} \
	static void name(void)

#define CHECK(condition) test_check((condition), __FILE__, __LINE__, #condition)
#define CHECK_TEXT(got, want) test_check_text((got), (want), __FILE__, __LINE__)
/* Integers, enums and sizes. */
#define CHECK_NUMBER(got, want) \
	test_check_number((long long) (got), (long long) (want), __FILE__, __LINE__, #got)

#endif /* TEST_CHECK_H */
