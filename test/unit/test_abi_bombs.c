/*
 * test_abi_bombs.c
 *	  Small inputs that would be huge values: refused in microseconds, and within bounded memory.
 *
 * The times are of the processor and the best of several runs, so that a busy machine does not
 * fail them.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "evm/abi.h"
#include "evm/word.h"

#define WORD_BYTES 32
#define ARENA_BYTES ((size_t) 256 * 1024 * 1024)
#define RUNS 7

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
/* Checks at each access cost what they cost. */
#define MAX_MICROSECONDS 20000
#else
#define MAX_MICROSECONDS 1000
#endif
/* As abi_decode.c has it: a budget in leaves, and values hold no more than two of them for each. */
#define MAX_VALUE_BYTES(len) \
	((1024 + (len) / WORD_BYTES * EVM_ABI_MAX_LEAVES_PER_WORD) * 2 * sizeof(struct evm_abi_value))
/* Texts: nodes of a type and copies of names. */
#define MAX_TEXT_BYTES ((size_t) 16 * 1024 * 1024)

struct bomb
{
	const char *types;
	struct evm_bytes data;
	enum evm_status want;
	struct evm_error err;
};

static double
microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double) now.tv_sec * 1e6 + (double) now.tv_nsec / 1e3;
}

/* Decodes RUNS times and checks what came of it, and at which cost. */
static void
explode(struct bomb *bomb)
{
	struct evm_arena *types = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	const struct evm_abi_param *params;
	struct evm_abi_value *values;
	double best = 1e12;
	size_t count;

	CHECK_NUMBER(evm_abi_parse_params(types, &params, &count, bomb->types, strlen(bomb->types),
									  &bomb->err),
				 EVM_OK);
	for (int run = 0; run < RUNS; run++)
	{
		double start;
		double spent;

		evm_arena_reset(arena);
		start = microseconds();
		CHECK_NUMBER(evm_abi_decode(arena, &values, params, count, bomb->data.data, bomb->data.len,
									&bomb->err),
					 bomb->want);
		spent = microseconds() - start;
		best = spent < best ? spent : best;
	}
	if (best >= MAX_MICROSECONDS)
		printf("%s of %zu bytes took %.0f microseconds\n", bomb->types, bomb->data.len, best);
	CHECK(best < MAX_MICROSECONDS);
	CHECK(evm_arena_used(arena) <= MAX_VALUE_BYTES(bomb->data.len));
	evm_arena_destroy(types);
	evm_arena_destroy(arena);
}

static struct evm_bytes
words(struct evm_arena *arena, const uint64_t *numbers, size_t count)
{
	uint8_t *data = evm_arena_alloc(arena, count * WORD_BYTES);

	for (size_t i = 0; i < count; i++)
	{
		struct evm_word word = evm_word_from_u64(numbers[i]);

		evm_word_to_be(data + i * WORD_BYTES, &word);
	}
	return (struct evm_bytes){data, count * WORD_BYTES};
}

static const char *
repeated(struct evm_arena *arena, const char *before, const char *piece, size_t count,
		 const char *behind)
{
	const size_t len = strlen(piece);
	char *text = evm_arena_alloc(arena, strlen(before) + count * len + strlen(behind) + 1);
	char *end = stpcpy(text, before);

	for (size_t i = 0; i < count; i++)
		end = stpcpy(end, piece);
	stpcpy(end, behind);
	return text;
}

/* Each array has width elements, and all of them are the next array: width^depth leaves. */
static struct evm_bytes
offset_bomb(struct evm_arena *arena, size_t depth, size_t width)
{
	uint64_t *numbers = evm_arena_zalloc(arena, 1 + depth * (width + 1), sizeof(*numbers));
	size_t used = 0;

	numbers[used++] = WORD_BYTES;
	for (size_t level = 0; level < depth; level++)
	{
		numbers[used++] = width;
		for (size_t i = 0; i < width; i++)
			numbers[used++] = width * WORD_BYTES;
	}
	return words(arena, numbers, used);
}

static void
explode_offsets(size_t depth, size_t width)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct bomb bomb = {repeated(arena, "uint256", "[]", depth, ""),
						offset_bomb(arena, depth, width),
						EVM_ERR_LIMIT,
						{0}};

	explode(&bomb);
	CHECK(strstr(bomb.err.message, "the value is too large for its") != NULL);
}

TEST(bombs_of_offsets_are_refused_at_once)
{
	explode_offsets(9, 10);
	explode_offsets(10, 32);
	explode_offsets(5, 20);
	explode_offsets(EVM_ABI_MAX_DEPTH, 2);
	explode_offsets(EVM_ABI_MAX_DEPTH, 9);
}

/* An array whose elements are the array itself, as far down as the type goes. */
TEST(bombs_that_point_at_themselves_are_refused_at_once)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	uint64_t numbers[] = {0, 0, 0, 0, 0, 0, 0, 0};
	struct bomb bomb = {"uint256[][][][][][][][]", words(arena, numbers, 8), EVM_OK, {0}};

	explode(&bomb);
	/* The first word is offset and length alike. */
	numbers[0] = WORD_BYTES * 3;
	for (int i = 3; i < 8; i++)
		numbers[i] = 0;
	numbers[3] = 4;
	bomb.data = words(arena, numbers, 8);
	explode(&bomb);
}

TEST(bombs_of_lengths_are_refused_at_once)
{
	static const char *const types[] = {"uint256[]",        "bytes[]",  "bytes",
										"(bytes,uint8)[]",  "string[]", "uint256[1000][]",
										"uint256[][2][]",   "bool[]",   "((((bytes))))[]",
										"function[100][][]"};
	struct evm_arena *arena = test_arena(ARENA_BYTES);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
	{
		for (unsigned bit = 6; bit < 256; bit++)
		{
			struct evm_bytes data = words(arena, (const uint64_t[]){WORD_BYTES, 0, 0, 0}, 4);
			struct bomb bomb = {types[i], data, EVM_ERR_TRUNCATED, {0}};

			((uint8_t *) data.data)[2 * WORD_BYTES - 1 - bit / 8] = (uint8_t) (1 << bit % 8);
			if (bit < 8 && strcmp(types[i], "bytes") == 0)
				continue;
			explode(&bomb);
		}
	}
}

/* A fixed array needs no data for its length; its elements do. */
TEST(bombs_of_types_are_refused_at_once)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	const struct evm_bytes data = words(arena, (const uint64_t[]){WORD_BYTES, 0, 0, 0}, 4);
	struct bomb bomb = {"string[1000000]", data, EVM_ERR_TRUNCATED, {0}};

	explode(&bomb);
	bomb.types = "uint8[1000][999]";
	explode(&bomb);
	bomb.types = "(string[999999],uint8)[]";
	bomb.want = EVM_OK;
	explode(&bomb);
}

/* Many strings that are the same long one would be written out many times. */
TEST(bombs_of_shared_bytes_are_refused_at_once)
{
	enum
	{
		COPIES = 1000
	};
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	uint64_t *numbers = evm_arena_zalloc(arena, 2 * COPIES + 3, sizeof(*numbers));
	struct bomb bomb = {.types = "bytes[]", .want = EVM_ERR_LIMIT};

	numbers[0] = WORD_BYTES;
	numbers[1] = COPIES;
	for (size_t i = 0; i < COPIES; i++)
		numbers[2 + i] = COPIES * WORD_BYTES;
	numbers[2 + COPIES] = COPIES * WORD_BYTES;
	bomb.data = words(arena, numbers, 2 * COPIES + 3);
	explode(&bomb);
}

/* ---- texts -------------------------------------------------------------- */

typedef enum evm_status (*parser)(struct evm_arena *arena, const char *text, size_t len);

static enum evm_status
parse_type(struct evm_arena *arena, const char *text, size_t len)
{
	const struct evm_abi_type *type;

	return evm_abi_parse_type(arena, &type, text, len, NULL);
}

static enum evm_status
parse_json(struct evm_arena *arena, const char *text, size_t len)
{
	struct evm_abi abi;

	return evm_abi_parse_json(arena, &abi, NULL, text, len, NULL);
}

/* Each line is a fragment. */
static enum evm_status
parse_fragments(struct evm_arena *arena, const char *text, size_t len)
{
	struct evm_bytes fragments[64];
	struct evm_abi abi;
	size_t count = 0;

	for (const char *line = text; line < text + len; line += fragments[count++].len + 1)
	{
		fragments[count].data = (const uint8_t *) line;
		fragments[count].len = strcspn(line, "\n");
	}
	return evm_abi_parse_fragments(arena, &abi, fragments, count, NULL, NULL);
}

static void
explode_text(parser parse, const char *text)
{
	struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	double best = 1e12;

	for (int run = 0; run < RUNS; run++)
	{
		double start;
		double spent;

		evm_arena_reset(arena);
		start = microseconds();
		CHECK(parse(arena, text, strlen(text)) != EVM_OK);
		spent = microseconds() - start;
		best = spent < best ? spent : best;
	}
	if (best >= MAX_MICROSECONDS)
		printf("%.40s took %.0f microseconds\n", text, best);
	CHECK(best < MAX_MICROSECONDS);
	CHECK(evm_arena_used(arena) <= MAX_TEXT_BYTES);
	evm_arena_destroy(arena);
}

TEST(bombs_of_text_are_refused_at_once)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);

	explode_text(parse_type, repeated(arena, "", "(", 100000, ""));
	explode_text(parse_type, repeated(arena, "uint256", "[]", 50000, ""));
	explode_text(parse_type, repeated(arena, "uint256", "[9]", 20000, ""));
	explode_text(parse_type, repeated(arena, "(", "uint8,", EVM_ABI_MAX_COMPONENTS, "uint8)"));
	explode_text(parse_type, "string[18446744073709551615]");
	explode_text(parse_type, "uint8[100000][100000][100000]");
	explode_text(parse_json, repeated(arena, "", "[", 20000, ""));
	explode_text(parse_json,
				 repeated(arena, "[{\"type\":\"function\",\"name\":\"f\",\"inputs\":",
						  "[{\"type\":\"tuple\",\"components\":", 60, "[]"));
}

/* Sixteen members of sixteen members …: 16^12 types in three lines each. */
TEST(bombs_of_structs_are_refused_at_once)
{
	char text[4096];
	size_t used = 0;

	for (int level = 0; level < 12; level++)
	{
		used += (size_t) sprintf(text + used, "struct S%d {", level);
		for (int i = 0; i < 16; i++)
			used += (size_t) sprintf(text + used, " S%d m%d;", level + 1, i);
		used += (size_t) sprintf(text + used, " }\n");
	}
	sprintf(text + used, "struct S12 { uint256 x; }\nfunction f(S0 s)");
	explode_text(parse_fragments, text);
}
