/*
 * test_abi_types.c
 *	  Types and parameter lists: spellings, canonical text, sizes, limits.
 */
#include "check.h"

#include <stdio.h>

#include "evm/abi.h"

#define ARENA_BYTES ((size_t) 16 * 1024 * 1024)

static enum evm_status
parse(const struct evm_abi_type **out, const char *text, struct evm_error *err)
{
	return evm_abi_parse_type(test_arena(ARENA_BYTES), out, text, strlen(text), err);
}

static void
check_canonical(struct evm_arena *arena, const char *text, const char *canonical, bool dynamic,
				size_t head_size)
{
	const struct evm_abi_type *type;

	if (!CHECK(evm_abi_parse_type(arena, &type, text, strlen(text), NULL) == EVM_OK))
	{
		printf("  %s\n", text);
		return;
	}
	CHECK_TEXT(evm_abi_type_text(arena, type), canonical);
	CHECK(type->dynamic == dynamic);
	CHECK_NUMBER(type->head_size, head_size);
}

static void
check_refused(struct evm_arena *arena, const char *text, enum evm_status wanted)
{
	const struct evm_abi_type *type;
	struct evm_error err = {.message = ""};
	enum evm_status status = evm_abi_parse_type(arena, &type, text, strlen(text), &err);

	if (!CHECK(status == wanted))
		printf("  %s: %d %s\n", text, status, err.message);
}

TEST(types_have_a_canonical_text)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);

	check_canonical(arena, "uint", "uint256", false, 32);
	check_canonical(arena, "int", "int256", false, 32);
	check_canonical(arena, "uint8", "uint8", false, 32);
	check_canonical(arena, "int248", "int248", false, 32);
	check_canonical(arena, "address payable", "address", false, 32);
	check_canonical(arena, "address  payable [ 2 ]", "address[2]", false, 64);
	check_canonical(arena, "bool", "bool", false, 32);
	check_canonical(arena, "bytes1", "bytes1", false, 32);
	check_canonical(arena, "bytes32[4]", "bytes32[4]", false, 128);
	check_canonical(arena, "bytes", "bytes", true, 32);
	check_canonical(arena, "string", "string", true, 32);
	check_canonical(arena, "function", "function", false, 32);
	check_canonical(arena, " uint [ ] [ 3 ] ", "uint256[][3]", true, 32);
	check_canonical(arena, "uint[3][2]", "uint256[3][2]", false, 192);
	check_canonical(arena, "(address,uint)", "(address,uint256)", false, 64);
	check_canonical(arena, "tuple(address a, (uint b, bool[2] c)[2] d)",
					"(address,(uint256,bool[2])[2])", false, 224);
	check_canonical(arena, "tuple(string memory s, uint u)[]", "(string,uint256)[]", true, 32);
	check_canonical(arena, "(bytes)[2]", "(bytes)[2]", true, 32);
}

TEST(what_is_no_type_is_refused)
{
	static const char *const texts[] = {
		"",
		" ",
		"uint7",
		"uint0",
		"uint264",
		"uint08",
		"uint 8",
		"int1",
		"bytes0",
		"bytes33",
		"bytes01",
		"Uint",
		"fixed",
		"ufixed128x18",
		"address[",
		"address]",
		"address[-1]",
		"address[1",
		"address[a]",
		"address[0]",
		"uint8[3][0]",
		"()",
		"()[]",
		"(uint",
		"uint)",
		"(uint,)",
		"(,uint)",
		"tuple",
		"tuple[]",
		"tuple uint",
		"uint256,",
		"uint x",
		"Foo",
		"mapping(uint=>uint)",
		"uint256\xc2\xa0",
		"(uint indexed a)",
		"(uint memory a)",
		"bytes memory",
	};
	struct evm_arena *arena = test_arena(ARENA_BYTES);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		check_refused(arena, texts[i], EVM_ERR_SYNTAX);
}

TEST(refusals_say_what_and_where)
{
	const struct evm_abi_type *type;
	struct evm_error err;

	CHECK_NUMBER(parse(&type, "(address, unit256)", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "unknown type \"unit256\"");
	CHECK_NUMBER(err.position, 10);
	CHECK_NUMBER(parse(&type, "uint[0]", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "an array has a length of at least 1");
	CHECK_NUMBER(parse(&type, "(uint", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "expected \",\" or \")\", but the text ends");
	CHECK_NUMBER(parse(&type, "uint\x01", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "expected the end of the type, got \"\\x01\"");
}

TEST(types_are_limited)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	char deep[2 * 100 + sizeof("uint")];
	const struct evm_abi_type *type;

	check_refused(arena, "uint[1000001]", EVM_ERR_LIMIT);
	check_refused(arena, "uint[1000][1001]", EVM_ERR_LIMIT);
	check_refused(arena, "uint[4294967296][4294967296]", EVM_ERR_LIMIT);
	check_refused(arena, "(uint[600000],uint[600000])", EVM_ERR_LIMIT);
	check_refused(arena, "uint[18446744073709551615]", EVM_ERR_LIMIT);
	check_refused(arena, "string[99999999999999999999999999]", EVM_ERR_LIMIT);
	check_canonical(arena, "string[18446744073709551614]", "string[18446744073709551614]", true,
					32);
	check_canonical(arena, "uint[1000000]", "uint256[1000000]", false, 32000000);

	strcpy(deep, "uint");
	for (int i = 0; i < EVM_ABI_MAX_DEPTH; i++)
		strcat(deep, "[]");
	CHECK_NUMBER(parse(&type, deep, NULL), EVM_OK);
	CHECK_NUMBER(type->depth, EVM_ABI_MAX_DEPTH);
	strcat(deep, "[]");
	check_refused(arena, deep, EVM_ERR_LIMIT);
	memset(deep, '(', 100);
	deep[100] = '\0';
	check_refused(arena, deep, EVM_ERR_LIMIT);
}

TEST(equal_types_are_equal_whatever_their_names)
{
	const struct evm_abi_type *a;
	const struct evm_abi_type *b;

	CHECK_NUMBER(parse(&a, "(uint x, bytes4[2] y)[]", NULL), EVM_OK);
	CHECK_NUMBER(parse(&b, "tuple(uint256 z, bytes4[2])[]", NULL), EVM_OK);
	CHECK(evm_abi_type_equal(a, b));
	CHECK_NUMBER(parse(&b, "(uint256,bytes4[2])[1]", NULL), EVM_OK);
	CHECK(!evm_abi_type_equal(a, b));
	CHECK_NUMBER(parse(&b, "(uint256,bytes5[2])[]", NULL), EVM_OK);
	CHECK(!evm_abi_type_equal(a, b));
	CHECK_NUMBER(parse(&b, "(uint256,bytes4[2],bool)[]", NULL), EVM_OK);
	CHECK(!evm_abi_type_equal(a, b));
	CHECK_NUMBER(parse(&b, "bytes", NULL), EVM_OK);
	CHECK(!evm_abi_type_equal(a, b));
}

TEST(parameter_lists_have_names_or_none)
{
	static const char text[] = "address indexed from, uint, string memory order, bytes calldata";
	const struct evm_abi_param *params;
	struct evm_error err;
	size_t count;
	struct evm_arena *arena = test_arena(ARENA_BYTES);

	CHECK_NUMBER(evm_abi_parse_params(arena, &params, &count, text, strlen(text), &err), EVM_OK);
	if (!CHECK(count == 4))
		return;
	CHECK_TEXT(params[0].name, "from");
	CHECK(params[0].indexed && !params[1].indexed);
	CHECK_TEXT(params[1].name, "");
	CHECK_TEXT(params[2].name, "order");
	CHECK_TEXT(params[3].name, "");
	CHECK_NUMBER(params[3].type->kind, EVM_ABI_BYTES);
	CHECK_NUMBER(evm_abi_parse_params(arena, &params, &count, " ", 1, &err), EVM_OK);
	CHECK_NUMBER(count, 0);
	CHECK_NUMBER(evm_abi_parse_params(arena, &params, &count, "uint,", 5, &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "expected a type, but the text ends");
}

TEST(a_full_arena_is_reported)
{
	struct evm_arena *arena = test_arena(200);
	const struct evm_abi_type *type;
	struct evm_error err;
	static const char text[] = "(uint,uint,uint,uint,uint,uint)";

	CHECK_NUMBER(evm_abi_parse_type(arena, &type, text, strlen(text), &err), EVM_ERR_MEMORY);
	CHECK(err.message[0] != '\0');
}
