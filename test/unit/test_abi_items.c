/*
 * test_abi_items.c
 *	  Human-readable fragments, JSON ABIs, and finding items in them.
 */
#include "check.h"

#include <stdio.h>

#include "evm/abi.h"
#include "evm/hex.h"

#define ARENA_BYTES ((size_t) 64 * 1024 * 1024)
#define FRAGMENTS_MAX 16

/* Empty at each call: what the last check made is gone. */
static struct evm_arena *
fresh_arena(void)
{
	static struct evm_arena *arena;

	if (arena == NULL)
		arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	CHECK(arena != NULL);
	evm_arena_reset(arena);
	return arena;
}

/* Fragments up to a NULL. */
static enum evm_status
parse(struct evm_arena *arena, struct evm_abi *out, const char *const *texts, size_t *which,
	  struct evm_error *err)
{
	struct evm_bytes fragments[FRAGMENTS_MAX];
	size_t count = 0;

	for (; texts[count] != NULL; count++)
		fragments[count] = (struct evm_bytes){(const uint8_t *) texts[count], strlen(texts[count])};
	return evm_abi_parse_fragments(arena, out, fragments, count, which, err);
}

static void
check_text(const char *text, const char *want)
{
	const char *const texts[] = {text, NULL};
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi;
	struct evm_error err;
	size_t which;

	if (!CHECK(parse(arena, &abi, texts, &which, &err) == EVM_OK))
		printf("  %s: %s\n", text, err.message);
	else
		CHECK_TEXT(evm_abi_item_text(arena, &abi.items[0]), want);
}

static void
check_refused(const char *text, const char *message)
{
	const char *const texts[] = {"function first()", text, NULL};
	struct evm_abi abi;
	struct evm_error err = {.message = ""};
	size_t which;

	CHECK_NUMBER(parse(fresh_arena(), &abi, texts, &which, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(which, 1);
	CHECK_TEXT(err.message, message);
}

TEST(functions_are_read_as_solidity_writes_them)
{
	check_text("function transfer(address to, uint256 value) returns (bool)",
			   "function transfer(address to, uint256 value) returns (bool)");
	check_text(
		"function f(string memory, bytes calldata b) external view virtual "
		"override(A, B.C) returns (uint256[] memory out, address payable);",
		"function f(string, bytes b) view returns (uint256[] out, address)");
	check_text("\tfunction\n f ( ) public payable ;", "function f() payable");
	check_text("function f() nonpayable", "function f()");
	check_text("function f() constant returns (uint)", "function f() view returns (uint256)");
	check_text("balanceOf(address) view returns (uint)",
			   "function balanceOf(address) view returns (uint256)");
	check_text("error(uint)", "function error(uint256)");
	check_text("function $f_1(uint $)", "function $f_1(uint256 $)");
}

TEST(functions_with_keywords_for_names)
{
	check_text("function select(uint table, bool from)",
			   "function select(uint256 table, bool from)");
	check_text("event order(address indexed user)", "event order(address indexed user)");
	check_text("error event(uint8 error)", "error event(uint8 error)");
	check_text("function receive()", "function receive()");
}

TEST(other_items_are_read_as_solidity_writes_them)
{
	check_text("event E(string indexed s, (uint8 x, bytes y) t) anonymous;",
			   "event E(string indexed s, (uint8 x, bytes y) t) anonymous");
	check_text("error E()", "error E()");
	check_text("constructor(string name) public payable", "constructor(string name) payable");
	check_text("receive() external payable", "receive() external payable");
	check_text("receive()", "receive() external payable");
	check_text("fallback() external", "fallback() external");
	check_text("fallback(bytes calldata) external payable returns (bytes memory)",
			   "fallback() external payable");
}

TEST(fragments_that_are_none_are_refused)
{
	check_refused("", "the fragment is empty");
	check_refused("event E(", "expected a type, but the text ends");
	check_refused("function (uint)", "expected a name, got \"(\"");
	check_refused("event 9E()", "expected a name, got \"9\"");
	check_refused("function f(uint indexed a)", "only the parameters of an event are indexed");
	check_refused("function f(uint memory a)",
				  "only arrays, structs, bytes and strings have a data location");
	check_refused("function f() onlyOwner",
				  "expected the end of the declaration, got \"onlyOwner\"");
	check_refused("function f() view pure", "expected the end of the declaration, got \"pure\"");
	check_refused("function f() { return; }", "expected the end of the declaration, got \"{\"");
	check_refused("event E() returns (bool)",
				  "expected the end of the declaration, got \"returns\"");
	check_refused("function f(Foo x)", "unknown type \"Foo\"");
	check_refused("receive() view", "receive is payable");
	check_refused("receive(uint)", "receive has no parameters");
	check_refused("fallback(uint)", "a fallback has no parameters, or one of type bytes");
	check_refused("function f() override()", "expected the name of a contract, got \")\"");
	check_refused("struct S { uint a }", "expected \";\", got \"}\"");
	check_refused("struct S { uint; }", "expected the name of the member, got \";\"");
	check_refused("struct S { }", "a tuple has at least one component");
	check_refused("struct uint8 { uint a; }", "uint8 is a type and no name for a struct");
	check_refused("struct S { S[] s; }", "the struct S contains itself");
	check_refused("function f(\xff)", "expected a type, got \"\\xff\"");
}

TEST(events_have_at_most_three_indexed_parameters)
{
	const char *const four[] = {"event E(uint indexed, uint indexed, uint indexed, uint indexed)",
								NULL};
	struct evm_abi abi;
	struct evm_error err;
	size_t which;

	CHECK_NUMBER(parse(fresh_arena(), &abi, four, &which, &err), EVM_ERR_LIMIT);
	CHECK_TEXT(err.message, "more than 3 indexed parameters");
	check_text("event E(uint indexed a, uint indexed, uint indexed, uint indexed) anonymous",
			   "event E(uint256 indexed a, uint256 indexed, uint256 indexed, uint256 indexed) "
			   "anonymous");
}

TEST(structs_are_named_in_any_order)
{
	const char *const texts[] = {"function fill(Order[] calldata orders, Side side) external",
								 "struct Order { Leg[2] legs; address maker; }",
								 "struct Side { bool buy; }",
								 "event Filled(Order order)",
								 "struct Leg { uint amount; string note; }",
								 NULL};
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi;
	struct evm_error err;
	size_t which;

	if (!CHECK(parse(arena, &abi, texts, &which, &err) == EVM_OK) || !CHECK(abi.item_count == 2))
		return;
	CHECK_TEXT(abi.items[0].signature, "fill(((uint256,string)[2],address)[],(bool))");
	CHECK_TEXT(abi.items[1].signature, "Filled(((uint256,string)[2],address))");
	CHECK_TEXT(abi.items[0].inputs[0].type->element->components[0].name, "legs");
}

TEST(structs_fail_where_they_are_declared)
{
	const char *const bad_member[] = {"function f(A a)", "struct A { B b; }",
									  "struct B { uint7 x; }", NULL};
	const char *const after_inner[] = {"struct A { B b; uint7 x; }", "struct B { uint8 x; }",
									   "f(A)", NULL};
	const char *const cycle[] = {"struct A { B b; }", "struct B { A[] a; }", "f(A)", NULL};
	const char *const twice[] = {"struct A { uint b; }", "f(A)", "struct A { uint a; }", NULL};
	const char *const only[] = {"struct A { uint b; }", NULL};
	struct evm_abi abi;
	struct evm_error err;
	size_t which;

	CHECK_NUMBER(parse(fresh_arena(), &abi, bad_member, &which, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(which, 2);
	CHECK_TEXT(err.message, "unknown type \"uint7\"");
	CHECK_NUMBER(parse(fresh_arena(), &abi, after_inner, &which, &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(which, 0);
	CHECK_NUMBER(err.position, 16);
	CHECK_NUMBER(parse(fresh_arena(), &abi, cycle, &which, &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "the struct A contains itself");
	CHECK_NUMBER(parse(fresh_arena(), &abi, twice, &which, &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "the struct A is declared twice");
	CHECK_NUMBER(parse(fresh_arena(), &abi, only, &which, &err), EVM_ERR_SYNTAX);
}

/* Each struct names the next one twice: a type of 2^n parts in n lines. */
TEST(structs_that_double_are_limited)
{
	char lines[FRAGMENTS_MAX][64];
	const char *texts[FRAGMENTS_MAX + 1];
	struct evm_abi abi;
	struct evm_error err;
	size_t which;

	for (int i = 0; i < FRAGMENTS_MAX; i++)
	{
		snprintf(lines[i], sizeof(lines[i]), "struct S%d { S%d a; S%d b; }", i, i + 1, i + 1);
		texts[i] = lines[i];
	}
	texts[FRAGMENTS_MAX] = NULL;
	strcpy(lines[FRAGMENTS_MAX - 1], "struct S15 { string a; string b; }");
	CHECK_NUMBER(parse(fresh_arena(), &abi, texts, &which, &err), EVM_ERR_LIMIT);
	CHECK_TEXT(err.message, "the type has more than 16384 types in it");
}

/* ---- JSON ------------------------------------------------------------------- */

static enum evm_status
parse_json(struct evm_arena *arena, struct evm_abi *out, size_t *skipped, const char *text,
		   struct evm_error *err)
{
	return evm_abi_parse_json(arena, out, skipped, text, strlen(text), err);
}

static void
check_json_refused(const char *text, const char *message)
{
	struct evm_abi abi;
	struct evm_error err = {.message = ""};

	CHECK(parse_json(fresh_arena(), &abi, NULL, text, &err) != EVM_OK);
	CHECK_TEXT(err.message, message);
}

TEST(json_of_every_age_is_read)
{
	static const char text[] =
		"[{\"constant\":true,\"inputs\":[{\"name\":\"who\",\"type\":\"address\"}],"
		"\"name\":\"old\",\"outputs\":[{\"name\":\"\",\"type\":\"uint\"}],\"payable\":false},"
		"{\"type\":\"constructor\",\"payable\":true,\"inputs\":[]},"
		"{\"type\":\"event\",\"name\":\"E\",\"inputs\":[{\"type\":\"tuple[2][]\",\"name\":null,"
		"\"indexed\":true,\"components\":[{\"type\":\"string\"},{\"name\":\"a b\","
		"\"type\":\"function\"}]}]},"
		"{\"type\":\"fallback\",\"stateMutability\":\"payable\",\"inputs\":[]}]";
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi;
	struct evm_error err;
	size_t skipped;

	if (!CHECK(parse_json(arena, &abi, &skipped, text, &err) == EVM_OK))
		return;
	if (!CHECK(abi.item_count == 4))
		return;
	CHECK_NUMBER(skipped, 0);
	CHECK_TEXT(evm_abi_item_text(arena, &abi.items[0]),
			   "function old(address who) view returns (uint256)");
	CHECK_TEXT(evm_abi_item_text(arena, &abi.items[1]), "constructor() payable");
	CHECK_TEXT(abi.items[2].signature, "E((string,function)[2][])");
	CHECK(abi.items[2].inputs[0].indexed && !abi.items[2].anonymous);
	CHECK_TEXT(evm_abi_item_text(arena, &abi.items[3]), "fallback() external payable");
}

TEST(json_of_an_artifact_is_read)
{
	struct evm_abi abi;
	struct evm_arena *arena = fresh_arena();

	CHECK_NUMBER(parse_json(arena, &abi, NULL, "{\"bytecode\":\"0x\",\"abi\":[]}", NULL), EVM_OK);
	CHECK_NUMBER(abi.item_count, 0);
	check_json_refused("{}",
					   "a JSON ABI is an array of items, or an object with the array in "
					   "\"abi\"");
	check_json_refused("3",
					   "a JSON ABI is an array of items, or an object with the array in "
					   "\"abi\"");
}

TEST(json_names_may_be_anything)
{
	static const char text[] =
		"[{\"type\":\"function\",\"name\":\"a\\\"\\\\\\n$\",\"inputs\":[{\"name\":\"x\",\"type\":"
		"\"uint8\"},{\"name\":\"x\",\"type\":\"uint8\"}],\"outputs\":[],"
		"\"stateMutability\":\"view\"}]";
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi;
	struct evm_bytes json;

	if (!CHECK(parse_json(arena, &abi, NULL, text, NULL) == EVM_OK))
		return;
	CHECK_TEXT(abi.items[0].name, "a\"\\\n$");
	CHECK_NUMBER(evm_abi_to_json(arena, &json, &abi), EVM_OK);
	CHECK_TEXT((const char *) json.data,
			   "[{\"type\":\"function\",\"name\":\"a\\\"\\\\\\u000a$\",\"inputs\":[{\"name\":"
			   "\"x\",\"type\":\"uint8\"},{\"name\":\"x\",\"type\":\"uint8\"}],\"outputs\":[],"
			   "\"stateMutability\":\"view\"}]");
}

TEST(json_of_libraries_leaves_out_foreign_types)
{
	static const char text[] =
		"[{\"type\":\"function\",\"name\":\"a\",\"inputs\":[{\"type\":\"Lib.Enum[2]\"}]},"
		"{\"type\":\"function\",\"name\":\"b\",\"inputs\":[{\"type\":\"Lib.S storage\"}]},"
		"{\"type\":\"function\",\"name\":\"c\",\"inputs\":[{\"type\":\"tuple\",\"components\":"
		"[{\"type\":\"IPool\"}]}]},"
		"{\"type\":\"function\",\"name\":\"d\",\"inputs\":[{\"type\":\"uint\"}]}]";
	struct evm_abi abi;
	size_t skipped;

	if (!CHECK(parse_json(fresh_arena(), &abi, &skipped, text, NULL) == EVM_OK))
		return;
	CHECK_NUMBER(skipped, 3);
	CHECK_NUMBER(abi.item_count, 1);
	CHECK_TEXT(abi.items[0].signature, "d(uint256)");
}

TEST(json_refusals_say_which_item_and_parameter)
{
	check_json_refused(
		"[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"type\":\"bool\"},"
		"{\"type\":\"uint7\"}]}]",
		"item 1 (f), input 2: unknown type \"uint7\"");
	check_json_refused(
		"[{\"type\":\"function\",\"name\":\"f\",\"outputs\":[{\"type\":"
		"\"uint8[0]\"}]}]",
		"item 1 (f), output 1: an array has a length of at least 1");
	check_json_refused("[{\"type\":\"error\",\"name\":\"E\",\"inputs\":[{\"type\":\"tuple\"}]}]",
					   "item 1 (E), input 1: a tuple has no array of components");
	check_json_refused("[{\"type\":\"event\",\"name\":\"E\",\"inputs\":[{}]}]",
					   "item 1 (E), input 1: it has no type");
	check_json_refused("[{\"type\":\"event\",\"name\":\"E\",\"inputs\":{}}]",
					   "item 1 (E): its parameters are not an array");
	check_json_refused("[{\"type\":\"event\"}]", "item 1 (): it has no name");
	check_json_refused("[{\"type\":\"event\",\"name\":7}]",
					   "item 1 (): a name is not a string, or has a NUL in it");
	check_json_refused("[{\"type\":\"event\",\"name\":\"a\\u0000\"}]",
					   "item 1 (): a name is not a string, or has a NUL in it");
	check_json_refused("[{\"type\":\"function\",\"name\":\"f\",\"stateMutability\":\"x\"}]",
					   "item 1 (f): its stateMutability is not pure, view, nonpayable or payable");
	check_json_refused("[{\"type\":\"struct\",\"name\":\"f\"}]",
					   "item 1 (f): its type is not function, event, error, constructor, "
					   "fallback or receive");
	check_json_refused("[[]]", "item 1 (): it is not an object");
}

/* count times what repeats, between what goes in front and behind. */
static char *
repeated(const char *front, const char *repeat, size_t count, const char *behind)
{
	static char text[1024 * 1024];
	size_t len = strlen(repeat);
	char *end = stpcpy(text, front);

	for (size_t i = 0; i < count && (size_t) (end - text) + len < sizeof(text) / 2; i++)
		end = stpcpy(end, repeat);
	strcpy(end, behind);
	return text;
}

TEST(json_of_events_says_what_is_indexed)
{
	const char *const texts[] = {"event E(uint8 indexed a, (bool)[2] b) anonymous", NULL};
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi;
	struct evm_bytes json;

	CHECK_NUMBER(parse(arena, &abi, texts, NULL, NULL), EVM_OK);
	CHECK_NUMBER(evm_abi_to_json(arena, &json, &abi), EVM_OK);
	CHECK_TEXT((const char *) json.data,
			   "[{\"type\":\"event\",\"name\":\"E\",\"inputs\":["
			   "{\"name\":\"a\",\"type\":\"uint8\",\"indexed\":true},"
			   "{\"name\":\"b\",\"type\":\"tuple[2]\",\"components\":[{\"name\":\"\",\"type\":"
			   "\"bool\"}],\"indexed\":false}],\"anonymous\":true}]");
}

TEST(json_is_limited)
{
	char closing[3 * EVM_ABI_MAX_DEPTH + 3 + sizeof("]}]")];
	char *end = closing;

	for (int i = 0; i < EVM_ABI_MAX_DEPTH + 1; i++)
		end = stpcpy(end, "]}");
	strcpy(end, "]}]");
	check_json_refused(repeated("[{\"type\":\"error\",\"name\":\"E\",\"inputs\":[",
								"{\"type\":\"tuple\",\"components\":[", EVM_ABI_MAX_DEPTH + 1,
								closing),
					   "item 1 (E), input 1: the type is nested too deep");
	check_json_refused(repeated("[{\"type\":\"error\",\"name\":\"E\",\"inputs\":["
								"{\"type\":\"bool\"}",
								",{\"type\":\"bool\"}", EVM_ABI_MAX_COMPONENTS, "]}]"),
					   "item 1 (E): it has too many parameters");
	check_json_refused(repeated("[{\"name\":\"f\"}", ",{\"name\":\"f\"}", EVM_ABI_MAX_ITEMS, "]"),
					   "the ABI has more than 8192 items");
	check_json_refused(
		"[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"type\":"
		"\"uint[99999999999]\"}]}]",
		"item 1 (f), input 1: the type holds more than 1000000 values");
	check_json_refused(
		"[{\"type\":\"event\",\"name\":\"E\",\"inputs\":["
		"{\"type\":\"bool\",\"indexed\":true},{\"type\":\"bool\",\"indexed\":true},"
		"{\"type\":\"bool\",\"indexed\":true},"
		"{\"type\":\"bool\",\"indexed\":true}]}]",
		"item 1 (E): more than 3 indexed parameters");
}

/* ---- memory ------------------------------------------------------------------- */

typedef enum evm_status (*attempt)(struct evm_arena *arena, struct evm_error *err);

/* In every arena that is too small it fails as memory, with a message. */
static void
check_memory(attempt attempt)
{
	enum evm_status status;
	size_t limit = 0;

	do
	{
		struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, limit);
		struct evm_error err = {.message = ""};

		status = attempt(arena, &err);
		CHECK(status == EVM_OK || (status == EVM_ERR_MEMORY && err.message[0] != '\0'));
		evm_arena_destroy(arena);
		limit += 16;
	} while (status == EVM_ERR_MEMORY && limit < 100000);
	CHECK_NUMBER(status, EVM_OK);
}

static enum evm_status
attempt_fragments(struct evm_arena *arena, struct evm_error *err)
{
	static const char *const texts[] =
		{"struct S { T[2] t; string s; }", "struct T { uint a; bytes b; }",
		 "function f(S s, uint a, bool b, bool c, bool d) returns (tuple(address x) y)",
		 "event E(S indexed s)", NULL};
	struct evm_abi abi;

	return parse(arena, &abi, texts, NULL, err);
}

static enum evm_status
attempt_json(struct evm_arena *arena, struct evm_error *err)
{
	struct evm_abi abi;

	return parse_json(arena, &abi, NULL,
					  "[{\"type\":\"function\",\"name\":\"f\",\"inputs\":[{\"name\":\"a\","
					  "\"type\":\"tuple[]\",\"components\":"
					  "[{\"name\":\"b\",\"type\":\"uint8[2]\"}]}]}]",
					  err);
}

TEST(parsers_report_a_full_arena)
{
	check_memory(attempt_fragments);
	check_memory(attempt_json);
}

/* ---- finding ------------------------------------------------------------------ */

static const char *const token[] =
	{"function transfer(address to, uint256 value) returns (bool)",
	 "function safeTransferFrom(address from, address to, uint256 id)",
	 "function safeTransferFrom(address from, address to, uint256 id, bytes data)",
	 "function swap((uint amount, address[] path)[2] swaps)",
	 "event Transfer(address indexed from, address indexed to, uint256 value)",
	 "event Transfer(address indexed from, address indexed to, uint256 indexed id)",
	 "event Paused()",
	 "event Paused()",
	 "constructor(string name)",
	 NULL};

static void
check_found(enum evm_abi_item_kind kind, const char *wanted, int item)
{
	struct evm_abi abi;
	const struct evm_abi_item *found;
	struct evm_error err = {.message = ""};

	CHECK_NUMBER(parse(fresh_arena(), &abi, token, NULL, NULL), EVM_OK);
	if (!CHECK(evm_abi_find(&found, &abi, kind, wanted, &err) == EVM_OK))
		printf("  %s: %s\n", wanted, err.message);
	else
		CHECK_NUMBER(found - abi.items, item);
}

static void
check_not_found(enum evm_abi_item_kind kind, const char *wanted, const char *message)
{
	struct evm_abi abi;
	const struct evm_abi_item *found;
	struct evm_error err = {.message = ""};

	CHECK_NUMBER(parse(fresh_arena(), &abi, token, NULL, NULL), EVM_OK);
	CHECK_NUMBER(evm_abi_find(&found, &abi, kind, wanted, &err), EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, message);
}

TEST(items_are_found_by_name_and_by_signature)
{
	check_found(EVM_ABI_ITEM_FUNCTION, "transfer", 0);
	check_found(EVM_ABI_ITEM_FUNCTION, "transfer(address,uint256)", 0);
	check_found(EVM_ABI_ITEM_FUNCTION, "transfer( address payable to , uint amount )", 0);
	check_found(EVM_ABI_ITEM_FUNCTION, "safeTransferFrom(address,address,uint256,bytes)", 2);
	check_found(EVM_ABI_ITEM_FUNCTION, "safeTransferFrom (address,address,uint)", 1);
	check_found(EVM_ABI_ITEM_FUNCTION, "swap((uint256,address[])[2])", 3);
	check_found(EVM_ABI_ITEM_FUNCTION, "swap(tuple(uint a, address[] b)[2] memory c)", 3);
	check_found(EVM_ABI_ITEM_EVENT, "Paused", 6);
	check_found(EVM_ABI_ITEM_CONSTRUCTOR, "", 8);
	check_found(EVM_ABI_ITEM_CONSTRUCTOR, "constructor", 8);
	check_found(EVM_ABI_ITEM_CONSTRUCTOR, "constructor(string)", 8);
}

TEST(events_that_differ_in_what_is_indexed_are_told_apart)
{
	check_found(EVM_ABI_ITEM_EVENT, "Transfer(address indexed, address indexed, uint256)", 4);
	check_found(EVM_ABI_ITEM_EVENT,
				"Transfer(address indexed a, address indexed b, uint256 indexed c)", 5);
	check_not_found(EVM_ABI_ITEM_EVENT, "Transfer(address indexed, address, uint indexed)",
					"the ABI has no event \"Transfer(address indexed, address, uint indexed)\", "
					"but: Transfer(address,address,uint256), Transfer(address,address,uint256), "
					"Paused(), Paused()");
	check_not_found(EVM_ABI_ITEM_EVENT, "Transfer",
					"several are named \"Transfer\", say which: "
					"Transfer(address indexed,address indexed,uint256), "
					"Transfer(address indexed,address indexed,uint256 indexed)");
}

TEST(items_that_are_not_found_say_what_there_is)
{
	check_not_found(EVM_ABI_ITEM_FUNCTION, "safeTransferFrom",
					"several are named \"safeTransferFrom\", say which: "
					"safeTransferFrom(address,address,uint256), "
					"safeTransferFrom(address,address,uint256,bytes)");
	check_not_found(EVM_ABI_ITEM_EVENT, "transfer",
					"the ABI has no event \"transfer\", but: Transfer(address,address,uint256), "
					"Transfer(address,address,uint256), Paused(), Paused()");
	check_not_found(EVM_ABI_ITEM_ERROR, "E", "the ABI has no error");
	check_not_found(EVM_ABI_ITEM_EVENT, "Paused(",
					"the ABI has no event \"Paused(\", but: Transfer(address,address,uint256), "
					"Transfer(address,address,uint256), Paused(), Paused()");
}

TEST(items_have_selectors_and_topics)
{
	struct evm_arena *arena = fresh_arena();
	struct evm_abi abi;

	CHECK_NUMBER(parse(arena, &abi, token, NULL, NULL), EVM_OK);
	CHECK_TEXT(evm_hex_encode(arena, abi.items[0].hash.b, 4), "0xa9059cbb");
	CHECK_TEXT(evm_hex_encode(arena, abi.items[4].hash.b, 32),
			   "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
}
