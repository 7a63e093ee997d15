/*
 * test_typed_data.c
 *	  Typed data: the example of EIP-712, forms of values, and what is refused and why.
 */
#include "check.h"

#include <stdio.h>

#include "evm/hex.h"
#include "evm/typed_data.h"

#define ARENA_BYTES (8 * 1024 * 1024)
#define DOMAIN_TYPE "\"EIP712Domain\":[{\"name\":\"chainId\",\"type\":\"uint256\"}]"

/* Only the hashes of *out are of use afterwards. */
static enum evm_status
hash_text(struct evm_typed_data *out, const char *text, struct evm_error *err)
{
	struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, ARENA_BYTES);
	const enum evm_status status = evm_typed_data_hash(arena, out, text, strlen(text), err);

	evm_arena_destroy(arena);
	return status;
}

/* A document whose only field is x, of this type and value. */
static const char *
document(const char *type, const char *value)
{
	static char text[2048];

	snprintf(text, sizeof(text),
			 "{\"types\":{" DOMAIN_TYPE
			 ",\"M\":[{\"name\":\"x\",\"type\":\"%s\"}],"
			 "\"P\":[{\"name\":\"p\",\"type\":\"P[]\"}]},"
			 "\"primaryType\":\"M\",\"domain\":{\"chainId\":1},\"message\":{\"x\":%s}}",
			 type, value);
	return text;
}

static void
check_value(const char *type, const char *value, const char *message)
{
	struct evm_typed_data data;
	struct evm_error err = {0};
	const enum evm_status status = hash_text(&data, document(type, value), &err);

	if (message == NULL)
		CHECK_NUMBER(status, EVM_OK);
	else
	{
		CHECK(status != EVM_OK);
		CHECK_TEXT(err.message, message);
	}
}

/* Two ways to write the same value. */
static void
check_same(const char *type, const char *one, const char *other)
{
	struct evm_typed_data first;
	struct evm_typed_data second;

	CHECK_NUMBER(hash_text(&first, document(type, one), NULL), EVM_OK);
	CHECK_NUMBER(hash_text(&second, document(type, other), NULL), EVM_OK);
	CHECK(memcmp(&first.digest, &second.digest, sizeof(first.digest)) == 0);
}

static void
check_document(const char *text, const char *message)
{
	struct evm_typed_data data;
	struct evm_error err = {0};

	CHECK(hash_text(&data, text, &err) != EVM_OK);
	CHECK_TEXT(err.message, message);
}

#define MAIL_TYPES \
	"\"Person\":[{\"name\":\"name\",\"type\":\"string\"}," \
	"{\"name\":\"wallet\",\"type\":\"address\"}]," \
	"\"Mail\":[{\"name\":\"from\",\"type\":\"Person\"},{\"name\":\"to\",\"type\":\"Person\"}," \
	"{\"name\":\"contents\",\"type\":\"string\"}]"
#define MAIL_REST \
	"\"primaryType\":\"Mail\"," \
	"\"domain\":{\"name\":\"Ether Mail\",\"version\":\"1\",\"chainId\":1," \
	"\"verifyingContract\":\"0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC\"},\"message\":{" \
	"\"from\":{\"name\":\"Cow\",\"wallet\":\"0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826\"}," \
	"\"to\":{\"name\":\"Bob\",\"wallet\":\"0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB\"}," \
	"\"contents\":\"Hello, Bob!\"}"

TEST(typed_data_of_eip712_example)
{
	static const char *const texts[] =
		{"{\"types\":{\"EIP712Domain\":[{\"name\":\"name\",\"type\":\"string\"},"
		 "{\"name\":\"version\",\"type\":\"string\"},{\"name\":\"chainId\",\"type\":\"uint256\"},"
		 "{\"name\":\"verifyingContract\",\"type\":\"address\"}]," MAIL_TYPES "}," MAIL_REST "}",
		 /* The domain's type may be left out, as ethers and viem do. */
		 "{\"types\":{" MAIL_TYPES "}," MAIL_REST "}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
	{
		struct evm_arena *arena = test_arena(ARENA_BYTES);
		struct evm_typed_data data;

		CHECK_NUMBER(evm_typed_data_hash(arena, &data, texts[i], strlen(texts[i]), NULL), EVM_OK);
		CHECK_TEXT(evm_hex_encode(arena, data.digest.b, 32),
				   "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
		CHECK_TEXT(data.encode_type,
				   "Mail(Person from,Person to,string contents)"
				   "Person(string name,address wallet)");
		CHECK(data.has_chain_id && data.chain_id.limb[0] == 1);
		CHECK(data.has_verifying_contract && data.verifying_contract.b[0] == 0xcc);
	}
}

TEST(typed_data_of_a_domain_alone)
{
	struct evm_typed_data data;

	CHECK_NUMBER(hash_text(&data,
						   "{\"types\":{" DOMAIN_TYPE "},\"primaryType\":\"EIP712Domain\","
						   "\"domain\":{\"chainId\":\"0x1\"}}",
						   NULL),
				 EVM_OK);
	CHECK(memcmp(&data.struct_hash, &data.domain_separator, sizeof(data.struct_hash)) == 0);
	CHECK(memcmp(&data.digest, &data.domain_separator, sizeof(data.digest)) != 0);
}

TEST(typed_integers_in_all_forms)
{
	check_same("uint256", "255", "\"255\"");
	check_same("uint256", "255", "\"0xff\"");
	check_same("uint256",
			   "115792089237316195423570985008687907853269984665640564039457584007913129639935",
			   "\"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\"");
	check_same("int8", "-128", "\"-128\"");
	check_same("int8", "0", "\"-0\"");
	check_value("uint8", "256", "typed data: message.x: integer outside the range of its type");
	check_value("uint8", "-1", "typed data: message.x: integer outside the range of its type");
	check_value("int8", "128", "typed data: message.x: integer outside the range of its type");
	check_value("int8", "-129", "typed data: message.x: integer outside the range of its type");
	check_value("int256",
				"57896044618658097711785492504343953926634992332820282019728792003956564819968",
				"typed data: message.x: integer outside the range of its type");
	check_value("int256",
				"-57896044618658097711785492504343953926634992332820282019728792003956564819968",
				NULL);
	check_value("uint256", "1.5", "typed data: message.x: not an integer within 256 bits");
	check_value("uint256", "true", "typed data: message.x: not an integer within 256 bits");
	check_value("uint256", "\"\"", "typed data: message.x: not an integer within 256 bits");
	check_value("uint256", "\"0x\"", "typed data: message.x: not an integer within 256 bits");
	check_value("uint256", "\"1e3\"", "typed data: message.x: not an integer within 256 bits");
}

TEST(typed_values_of_wrong_kinds)
{
	check_value("bool", "true", NULL);
	check_value("bool", "1", "typed data: message.x: neither true nor false");
	check_value("bool", "\"true\"", "typed data: message.x: neither true nor false");
	check_value("string", "1", "typed data: message.x: not a string");
	check_value("string", "null", "typed data: message.x: missing or null");
	check_value("bytes", "\"0x\"", NULL);
	check_value("bytes", "\"00\"", "typed data: message.x: not 0x hexadecimal");
	check_value("bytes", "\"0x0\"", "typed data: message.x: not 0x hexadecimal");
	check_value("bytes", "7", "typed data: message.x: not 0x hexadecimal");
	check_value("bytes4", "\"0x01020304\"", NULL);
	check_value("bytes4", "\"0x010203\"",
				"typed data: message.x: not 0x hexadecimal of the length of its type");
	check_value("bytes4", "\"0x0102030405\"",
				"typed data: message.x: not 0x hexadecimal of the length of its type");
	check_value("address", "5", "typed data: message.x: not an address");
	check_value("address", "\"0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD827\"",
				"typed data: message.x: address has a wrong EIP-55 checksum; if it is the one "
				"meant, "
				"write 0xCd2a3d9f938E13cd947eC05abc7Fe734df8dd827");
	check_value("M", "7", "typed data: message.x: not an object");
}

TEST(typed_arrays_have_their_lengths)
{
	check_value("uint8[2]", "[1,2]", NULL);
	check_value("uint8[2]", "[1]",
				"typed data: message.x: array of another length than its type says");
	check_value("uint8[]", "[]", NULL);
	check_value("uint8[]", "{}", "typed data: message.x: not an array");
	check_value("uint8[][2]", "[[1,2,3],[]]", NULL);
	check_value("uint8[2][]", "[[1,2],[3]]",
				"typed data: message.x[1]: array of another length than its type says");
	check_value("uint8[2][]", "[[1,2],[3,true]]",
				"typed data: message.x[1][1]: not an integer within 256 bits");
	check_value("P", "{\"p\":[{\"p\":[]},{\"p\":[{\"p\":[]}]}]}", NULL);
	check_value("P", "{\"p\":[{\"p\":[]},{\"q\":[]}]}",
				"typed data: message.x.p[1].p: missing or null");
}

TEST(typed_types_are_read_strictly)
{
	static const char *const bad[] = {"uint",
									  "int",
									  "uint7",
									  "uint264",
									  "uint08",
									  "int0",
									  "bytes0",
									  "bytes33",
									  "Q",
									  "",
									  "uint8[0]",
									  "uint8[01]",
									  "uint8[",
									  "uint8]",
									  "uint8[]x",
									  "uint8[-1]",
									  "[]",
									  "uint8[ ]",
									  "uint8[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]",
									  " uint8",
									  "fixed"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_value(bad[i], "1",
					"typed data: field 1 of type M has a type that is neither elementary "
					"(with its width) nor defined");
}

/* Where the types, domain or message of the document are not what they should be. */
TEST(typed_documents_are_read_strictly)
{
	check_document("{\"types\":{}}", "typed data: primaryType is missing or not a string");
	check_document("{\"types\":[],\"primaryType\":\"M\"}", "typed data: types is not an object");
	check_document("{\"types\":{\"M\":{}},\"primaryType\":\"M\",\"domain\":{},\"message\":{}}",
				   "typed data: type M is not a list of fields");
	check_document("{\"types\":{\"uint8\":[]},\"primaryType\":\"M\"}",
				   "typed data: the name of type 1 is not one for a struct");
	check_document("{\"types\":{\"M(\":[]},\"primaryType\":\"M\"}",
				   "typed data: the name of type 1 is not one for a struct");
	check_document(
		"{\"types\":{\"M\":[{\"name\":\"a,uint8 b\",\"type\":\"uint8\"}]},"
		"\"primaryType\":\"M\"}",
		"typed data: field 1 of type M has no valid name and type");
	check_document(
		"{\"types\":{\"M\":[{\"name\":\"a\",\"type\":\"uint8\"},"
		"{\"name\":\"a\",\"type\":\"bool\"}]},\"primaryType\":\"M\"}",
		"typed data: field 2 of type M has the name of another");
	check_document("{\"types\":{},\"primaryType\":\"M\",\"domain\":{},\"message\":{}}",
				   "typed data: primaryType is not defined");
	check_document("{\"types\":{\"M\":[]},\"primaryType\":\"M\",\"domain\":{}}",
				   "typed data: message: not an object");
	check_document("{\"types\":{\"M\":[]},\"primaryType\":\"M\",\"message\":{}}",
				   "typed data: domain is not an object");
}

TEST(typed_domains_have_the_members_of_eip712)
{
	check_document(
		"{\"types\":{\"EIP712Domain\":[{\"name\":\"chainId\",\"type\":\"uint64\"}]},"
		"\"primaryType\":\"EIP712Domain\",\"domain\":{\"chainId\":1}}",
		"typed data: field 1 of EIP712Domain is not one of EIP-712, with its type");
	check_document(
		"{\"types\":{\"EIP712Domain\":[{\"name\":\"title\",\"type\":\"string\"}]},"
		"\"primaryType\":\"EIP712Domain\",\"domain\":{\"title\":\"x\"}}",
		"typed data: field 1 of EIP712Domain is not one of EIP-712, with its type");
	check_document(
		"{\"types\":{\"EIP712Domain\":[]},"
		"\"primaryType\":\"EIP712Domain\",\"domain\":{\"chainId\":1}}",
		"typed data: domain has a member that EIP712Domain does not declare");
	check_document("{\"types\":{},\"primaryType\":\"M\",\"domain\":{\"title\":\"x\"}}",
				   "typed data: domain has a member that EIP712Domain does not declare");
	check_document("{\"types\":{" DOMAIN_TYPE "},\"primaryType\":\"EIP712Domain\",\"domain\":{}}",
				   "typed data: domain.chainId: missing or null");
}

TEST(typed_data_size_is_limited)
{
	static char text[EVM_TYPED_DATA_MAX_BYTES + 2];

	memset(text, ' ', sizeof(text) - 1);
	check_document(text, "typed data: longer than 1048576 bytes");
}

/* Places are cut and cleaned: names of fields are the input's. */
TEST(typed_data_messages_are_safe_to_show)
{
	struct evm_typed_data data;
	struct evm_error err;

	CHECK_NUMBER(hash_text(&data,
						   "{\"types\":{\"M\":[{\"name\":\"\xc3\xa9\",\"type\":\"bool\"}]},"
						   "\"primaryType\":\"M\",\"domain\":{},\"message\":{}}",
						   &err),
				 EVM_ERR_MISMATCH);
	CHECK_TEXT(err.message, "typed data: message.??: missing or null");
}
