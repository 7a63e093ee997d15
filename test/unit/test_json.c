/*
 * test_json.c
 *	  JSON: limits, integers beyond 64 bits, and chained look-ups.
 */
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

#include "evm/json.h"
#include "evm/word.h"

static const struct evm_json *
parse(const char *text)
{
	const struct evm_json *root;
	struct evm_error err = {EVM_OK, 0, ""};

	if (evm_json_parse(test_arena(1 << 20), &root, text, strlen(text), &err) != EVM_OK)
		CHECK_TEXT(err.message, "no failure");
	return root;
}

static enum evm_status
fail(const char *text, struct evm_error *err)
{
	const struct evm_json *root;
	enum evm_status status = evm_json_parse(test_arena(1 << 20), &root, text, strlen(text), err);

	CHECK(root == NULL);
	return status;
}

static void
check_integer(const struct evm_json *node, const char *decimal)
{
	struct evm_word word;
	bool negative;
	char text[EVM_WORD_DECIMAL_BYTES];

	CHECK_NUMBER(evm_json_kind(node), EVM_JSON_INTEGER);
	CHECK(evm_json_word(node, &word, &negative));
	evm_word_to_decimal(text, &word, negative);
	CHECK_TEXT(text, decimal);
}

TEST(json_look_ups_chain_through_what_is_missing)
{
	const struct evm_json *root = parse("{\"a\": [1, {\"b\": \"x\"}], \"n\": null}");
	const struct evm_json *inner = evm_json_array_get(evm_json_object_get(root, "a"), 1);
	const struct evm_json *nothing = evm_json_object_get(evm_json_array_get(root, 3), "b");
	size_t len;
	int64_t number = 7;

	CHECK_TEXT(evm_json_string(evm_json_object_get(inner, "b"), &len), "x");
	CHECK_NUMBER(len, 1);
	CHECK_NUMBER(evm_json_object_size(root), 2);
	CHECK_NUMBER(evm_json_array_size(root), 0);
	CHECK(nothing == NULL);
	CHECK_NUMBER(evm_json_kind(nothing), EVM_JSON_NULL);
	CHECK(evm_json_string(nothing, &len) == NULL && len == 0);
	CHECK(!evm_json_integer(nothing, &number) && number == 7);
	CHECK(!evm_json_is_true(nothing));
	CHECK_NUMBER(evm_json_object_size(nothing), 0);
	CHECK_NUMBER(evm_json_array_size(nothing), 0);
	CHECK(evm_json_array_get(evm_json_object_get(root, "a"), 2) == NULL);
}

static bool
collect(void *context, const char *name, const struct evm_json *value)
{
	char *names = context;

	(void) value;
	strcat(names, name);
	return strlen(names) < 4;
}

TEST(json_members_come_in_the_order_of_the_text)
{
	char names[16] = "";

	evm_json_object_each(parse("{\"z\":1,\"y\":2,\"a\":3,\"b\":4,\"c\":5}"), collect, names);
	CHECK_TEXT(names, "zyab");
	evm_json_object_each(parse("[1]"), collect, names);
	evm_json_object_each(NULL, collect, names);
	CHECK_TEXT(names, "zyab");
}

TEST(json_has_all_kinds_at_the_top)
{
	CHECK_NUMBER(evm_json_kind(parse("null")), EVM_JSON_NULL);
	CHECK_NUMBER(evm_json_kind(parse("true")), EVM_JSON_TRUE);
	CHECK(evm_json_is_true(parse(" true ")));
	CHECK_NUMBER(evm_json_kind(parse("false")), EVM_JSON_FALSE);
	CHECK_NUMBER(evm_json_kind(parse("-1")), EVM_JSON_INTEGER);
	CHECK_NUMBER(evm_json_kind(parse("1.5")), EVM_JSON_REAL);
	CHECK_NUMBER(evm_json_kind(parse("1e2")), EVM_JSON_REAL);
	CHECK_NUMBER(evm_json_kind(parse("\"\"")), EVM_JSON_STRING);
	CHECK_NUMBER(evm_json_kind(parse("[]")), EVM_JSON_ARRAY);
	CHECK_NUMBER(evm_json_kind(parse("{}")), EVM_JSON_OBJECT);
}

TEST(json_integers_beyond_64_bits_are_kept)
{
	const struct evm_json *root = parse(
		"[\"?1\", 115792089237316195423570985008687907853269984665640564039457584007913129639935,"
		"{\"?2\" : -57896044618658097711785492504343953926634992332820282019728792003956564819968,"
		" \"k\" :\"\\\"\", \"l\": [18446744073709551616]}, \"?3\", 9223372036854775808,"
		"9223372036854775807, -9223372036854775808, 1000000000000000000]");
	const struct evm_json *object = evm_json_array_get(root, 2);
	int64_t number;
	size_t len;

	CHECK_TEXT(evm_json_string(evm_json_array_get(root, 0), &len), "?1");
	check_integer(evm_json_array_get(root, 1),
				  "115792089237316195423570985008687907853269984665640564039457584007913129639935");
	check_integer(evm_json_object_get(object, "?2"),
				  "-57896044618658097711785492504343953926634992332820282019728792003956564819968");
	CHECK_TEXT(evm_json_string(evm_json_object_get(object, "k"), &len), "\"");
	check_integer(evm_json_array_get(evm_json_object_get(object, "l"), 0), "18446744073709551616");
	CHECK_TEXT(evm_json_string(evm_json_array_get(root, 3), &len), "?3");
	check_integer(evm_json_array_get(root, 4), "9223372036854775808");
	CHECK(!evm_json_integer(evm_json_array_get(root, 4), &number));
	CHECK(evm_json_integer(evm_json_array_get(root, 5), &number) && number == INT64_MAX);
	CHECK(evm_json_integer(evm_json_array_get(root, 6), &number) && number == INT64_MIN);
	CHECK(evm_json_integer(evm_json_array_get(root, 7), &number));
	CHECK(number == 1000000000000000000);
	CHECK(evm_json_string(evm_json_array_get(root, 4), &len) == NULL);
}

TEST(json_integers_beyond_256_bits_are_no_words)
{
	const struct evm_json *node =
		parse("115792089237316195423570985008687907853269984665640564039457584007913129639936");
	struct evm_word word;
	bool negative;

	CHECK_NUMBER(evm_json_kind(node), EVM_JSON_INTEGER);
	CHECK(!evm_json_word(node, &word, &negative));
	CHECK(!evm_json_word(parse("1e18"), &word, &negative));
	CHECK(!evm_json_word(parse("\"1\""), &word, &negative));
	CHECK(evm_json_word(parse("-1"), &word, &negative) && negative);
	CHECK(evm_word_is_negative(&word) && evm_word_fits_signed(&word, 8));
	CHECK(evm_json_word(parse("-0"), &word, &negative) && !negative);
}

TEST(json_refuses_wrong_numbers_however_long)
{
	struct evm_error err;

	CHECK_NUMBER(fail("01234567890123456789012", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("-01234567890123456789012", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("+1234567890123456789012", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("1234567890123456789012-1", &err), EVM_ERR_RANGE);
	CHECK_NUMBER(fail("[1234567890123456789012 1]", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("{1234567890123456789012 : 1}", &err), EVM_ERR_RANGE);
	CHECK_NUMBER(fail("1234567890123456789012abc", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("1234567890123456789012e", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("-", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("1e400", &err), EVM_ERR_RANGE);
}

TEST(json_errors_point_into_the_text_that_was_given)
{
	struct evm_error err;

	CHECK_NUMBER(fail("[1, x]", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 5);
	CHECK_TEXT(err.message, "JSON does not parse: invalid token near 'x'");
	CHECK_NUMBER(fail("[1234567890123456789012, 1234567890123456789012, x]", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 50);
	CHECK_NUMBER(fail("", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("[1] 2", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("\"abc", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("\"abc\\", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("]", NULL), EVM_ERR_SYNTAX);
}

TEST(json_refuses_what_is_ambiguous_or_no_utf8)
{
	struct evm_error err;

	CHECK_NUMBER(fail("{\"a\":1,\"a\":2}", &err), EVM_ERR_MALFORMED);
	CHECK_TEXT(err.message, "JSON does not parse: duplicate object key near '\"a\"'");
	CHECK_NUMBER(fail("\"\xff\"", &err), EVM_ERR_MALFORMED);
	CHECK_NUMBER(fail("\"\xc0\x80\"", &err), EVM_ERR_MALFORMED);
	CHECK_NUMBER(fail("\"\\ud800\"", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(fail("{\"\\u0000\":1}", &err), EVM_ERR_MALFORMED);
}

/* jansson overlooks a NUL behind a number. */
TEST(json_text_has_no_nul)
{
	static const char *const texts[] =
		{"1@", "[1@]", "[@1]", "{\"a\"@:1}", "\"a@b\"", "@", "[\"\\u0000\",-9223372036854775808@]"};
	struct evm_arena *arena = test_arena(1 << 20);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		const struct evm_json *root;
		struct evm_error err;
		char text[64];
		const size_t len = strlen(texts[i]);
		char *nul;

		strcpy(text, texts[i]);
		nul = strchr(text, '@');
		*nul = '\0';
		CHECK_NUMBER(evm_json_parse(arena, &root, text, len, &err), EVM_ERR_SYNTAX);
		CHECK_NUMBER(err.position, nul - text);
		CHECK_TEXT(err.message, "JSON text has a NUL byte");
	}
}

TEST(json_strings_may_contain_nul)
{
	const struct evm_json *root = parse("[\"a\\u0000b\", 1234567890123456789012]");
	size_t len;
	const char *text = evm_json_string(evm_json_array_get(root, 0), &len);

	CHECK_NUMBER(len, 3);
	CHECK(memcmp(text, "a\0b", 3) == 0);
	check_integer(evm_json_array_get(root, 1), "1234567890123456789012");
}

TEST(json_depth_is_bounded)
{
	char text[2 * (EVM_JSON_MAX_DEPTH + 1) + 1] = "";
	struct evm_error err;

	memset(text, '[', EVM_JSON_MAX_DEPTH);
	memset(text + EVM_JSON_MAX_DEPTH, ']', EVM_JSON_MAX_DEPTH);
	CHECK_NUMBER(evm_json_kind(parse(text)), EVM_JSON_ARRAY);
	memset(text, '[', EVM_JSON_MAX_DEPTH + 1);
	memset(text + EVM_JSON_MAX_DEPTH + 1, ']', EVM_JSON_MAX_DEPTH + 1);
	CHECK_NUMBER(fail(text, &err), EVM_ERR_LIMIT);
	CHECK_TEXT(err.message, "JSON is nested deeper than 128 levels");
	CHECK_NUMBER(err.position, EVM_JSON_MAX_DEPTH);
	parse("[\"[[[[[[\", \"\\\"[[\"]");
}

TEST(json_stops_at_the_arena_limit_wherever_that_is)
{
	static const char text[] =
		"{\"a\":[1,2.5,\"x\",{\"b\":1234567890123456789012}],\"c\":\"0123456789\",\"d\":[[],{}]}";
	const struct evm_json *root;
	struct evm_error err;
	enum evm_status status = EVM_ERR_MEMORY;
	size_t limit;

	for (limit = 0; status != EVM_OK && limit < 100000; limit += 16)
	{
		struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, limit);

		status = evm_json_parse(arena, &root, text, strlen(text), &err);
		CHECK(status == EVM_OK || status == EVM_ERR_MEMORY);
		evm_arena_destroy(arena);
	}
	CHECK(limit > 1000 && limit < 100000);
}
