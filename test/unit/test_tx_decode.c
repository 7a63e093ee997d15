/*
 * test_tx_decode.c
 *	  Raw transactions that are nearly right, each refused for what is wrong with it.
 */
#include "check.h"

#include "evm/rlp.h"
#include "evm/tx.h"
#include "evm/word.h"

#define ARENA_BYTES (1024 * 1024)

/* n, the order of the curve. */
static const struct evm_word order = {
	{0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff}};

/* A signed EIP-1559 transaction, as its items; a test replaces one. */
enum item
{
	CHAIN_ID,
	NONCE,
	PRIORITY,
	FEE,
	GAS,
	TO,
	VALUE,
	DATA,
	ACCESS,
	PARITY,
	R,
	S,
	ITEMS
};

struct items
{
	struct evm_arena *arena;
	struct evm_tx tx;
	struct evm_bytes encoded[ITEMS];
};

static struct items
signed_items(void)
{
	struct items items = {.arena = test_arena(ARENA_BYTES)};
	struct evm_key key = {{1}};
	struct evm_bytes raw;
	struct evm_bytes cursor;
	struct evm_hash hash;
	struct evm_rlp_item item;

	items.tx = (struct evm_tx){.type = EVM_TX_DYNAMIC_FEE,
							   .has_chain_id = true,
							   .chain_id = 31337,
							   .nonce = 7,
							   .max_fee_per_gas = {{100}},
							   .max_priority_fee_per_gas = {{2}},
							   .gas_limit = {{21000}},
							   .to = {{0x35}}};
	CHECK_NUMBER(evm_tx_sign(items.arena, &raw, &hash, &items.tx, &key, NULL), EVM_OK);
	CHECK_NUMBER(evm_rlp_whole(&item, true, raw.data + 1, raw.len - 1, NULL), EVM_OK);
	cursor = item.payload;
	for (int i = 0; i < ITEMS; i++)
	{
		const uint8_t *start = cursor.data;

		CHECK_NUMBER(evm_rlp_next(&item, &cursor, NULL), EVM_OK);
		items.encoded[i].data = start;
		items.encoded[i].len = (size_t) (cursor.data - start);
	}
	return items;
}

static struct evm_bytes
join(const struct items *items, uint8_t type, size_t count, struct evm_bytes behind)
{
	struct evm_rlp_writer writer;
	struct evm_bytes raw = {NULL, 0};

	evm_rlp_init(&writer, items->arena);
	evm_rlp_raw(&writer, &type, 1);
	evm_rlp_open_list(&writer);
	for (size_t i = 0; i < count; i++)
		evm_rlp_raw(&writer, items->encoded[i].data, items->encoded[i].len);
	evm_rlp_raw(&writer, behind.data, behind.len);
	evm_rlp_close_list(&writer);
	CHECK_NUMBER(evm_rlp_finish(&writer, &raw), EVM_OK);
	return raw;
}

static void
check_decode(const struct items *items, struct evm_bytes raw, enum evm_status want,
			 const char *message)
{
	struct evm_tx tx;
	struct evm_error err = {0};

	CHECK_NUMBER(evm_tx_decode(items->arena, &tx, raw.data, raw.len, &err), want);
	if (want != EVM_OK)
		CHECK_TEXT(err.message, message);
}

static struct evm_bytes
word_item(const struct items *items, const struct evm_word *word)
{
	struct evm_rlp_writer writer;
	struct evm_bytes encoded = {NULL, 0};

	evm_rlp_init(&writer, items->arena);
	evm_rlp_word(&writer, word);
	CHECK_NUMBER(evm_rlp_finish(&writer, &encoded), EVM_OK);
	return encoded;
}

static void
check_replaced(enum item which, const char *encoded, size_t len, enum evm_status want,
			   const char *message)
{
	const struct evm_bytes nothing = {NULL, 0};
	struct items items = signed_items();

	items.encoded[which].data = (const uint8_t *) encoded;
	items.encoded[which].len = len;
	check_decode(&items, join(&items, EVM_TX_DYNAMIC_FEE, ITEMS, nothing), want, message);
}

#define REPLACED(which, encoded, want, message) \
	check_replaced((which), (encoded), sizeof(encoded) - 1, (want), (message))

TEST(raw_tx_fields_are_canonical)
{
	REPLACED(NONCE, "\x07", EVM_OK, NULL);
	REPLACED(NONCE, "\x82\x00\x07", EVM_ERR_MALFORMED,
			 "transaction: nonce has leading zeros or is longer than 64 bits");
	REPLACED(NONCE, "\x81\x07", EVM_ERR_MALFORMED, "transaction: nonce is not canonical RLP");
	REPLACED(NONCE, "\x00", EVM_ERR_MALFORMED,
			 "transaction: nonce has leading zeros or is longer than 64 bits");
	REPLACED(NONCE, "\x88\xff\xff\xff\xff\xff\xff\xff\xff", EVM_ERR_RANGE,
			 "nonce is not below 2^64 - 1");
	REPLACED(NONCE, "\xc0", EVM_ERR_MALFORMED, "transaction: nonce is a list");
	REPLACED(GAS, "\x89\x01\x00\x00\x00\x00\x00\x00\x00\x00", EVM_OK, NULL);
	REPLACED(GAS, "\x89\x00\x01\x00\x00\x00\x00\x00\x00\x00", EVM_ERR_MALFORMED,
			 "transaction: gas limit has leading zeros or is longer than 256 bits");
	REPLACED(TO, "\x82\x01\x02", EVM_ERR_MALFORMED, "transaction: recipient is not 20 bytes long");
	REPLACED(ACCESS, "\x80", EVM_ERR_MALFORMED, "transaction: access list is not a list");
	REPLACED(ACCESS, "\xc1\xc0", EVM_ERR_TRUNCATED, "transaction: access list address is missing");
	REPLACED(ACCESS, "\xc3\xc2\x01\xc0", EVM_ERR_MALFORMED,
			 "transaction: access list address has a wrong length");
}

TEST(raw_tx_signatures_are_canonical)
{
	const struct evm_bytes nothing = {NULL, 0};
	struct items items = signed_items();
	struct evm_word s;

	REPLACED(PARITY, "\x02", EVM_ERR_MALFORMED, "transaction: y parity is neither 0 nor 1");
	REPLACED(PARITY, "\x1b", EVM_ERR_MALFORMED, "transaction: y parity is neither 0 nor 1");
	REPLACED(R, "\x80", EVM_ERR_CRYPTO, "transaction: signature is out of range or has a high s");
	REPLACED(S, "\x80", EVM_ERR_CRYPTO, "transaction: signature is out of range or has a high s");

	/* The twin with s' = n - s and the other parity signs as well, but is not low. */
	evm_word_from_be(&s, items.tx.signature.s, 32);
	CHECK(!evm_word_sub(&s, &order, &s));
	items.encoded[S] = word_item(&items, &s);
	items.encoded[PARITY].data = (const uint8_t *) (items.tx.signature.y_parity ? "\x80" : "\x01");
	check_decode(&items, join(&items, EVM_TX_DYNAMIC_FEE, ITEMS, nothing), EVM_ERR_CRYPTO,
				 "transaction: signature is out of range or has a high s");
	items.encoded[R] = word_item(&items, &order);
	items.encoded[S] = word_item(&items, &items.tx.max_fee_per_gas);
	check_decode(&items, join(&items, EVM_TX_DYNAMIC_FEE, ITEMS, nothing), EVM_ERR_CRYPTO,
				 "transaction: signature is out of range or has a high s");
}

TEST(raw_tx_has_all_fields_and_no_more)
{
	const struct evm_bytes nothing = {NULL, 0};
	const struct evm_bytes zero = {(const uint8_t *) "\x80", 1};
	struct items items = signed_items();
	struct evm_bytes raw;

	check_decode(&items, join(&items, EVM_TX_DYNAMIC_FEE, ITEMS, nothing), EVM_OK, NULL);
	check_decode(&items, join(&items, EVM_TX_DYNAMIC_FEE, S, nothing), EVM_ERR_TRUNCATED,
				 "transaction: s is missing");
	check_decode(&items, join(&items, EVM_TX_DYNAMIC_FEE, ITEMS, zero), EVM_ERR_MALFORMED,
				 "transaction: list of fields has too many elements");
	check_decode(&items, join(&items, 0x05, ITEMS, nothing), EVM_ERR_MALFORMED,
				 "unknown transaction type 0x05");
	check_decode(&items, join(&items, 0x00, ITEMS, nothing), EVM_ERR_MALFORMED,
				 "unknown transaction type 0x00");
	check_decode(&items, nothing, EVM_ERR_TRUNCATED, "transaction is empty");
	raw = join(&items, EVM_TX_DYNAMIC_FEE, ITEMS, nothing);
	raw.len--;
	check_decode(&items, raw, EVM_ERR_MALFORMED, "transaction is not one canonical RLP list");
}

TEST(raw_tx_keeps_authorizations_that_a_chain_skips)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	struct evm_authorization authorization = {.chain_id = {{1}}, .nonce = UINT64_MAX};
	struct evm_tx tx = {.type = EVM_TX_SET_CODE,
						.has_chain_id = true,
						.chain_id = 1,
						.gas_limit = {{100000}},
						.authorizations = &authorization,
						.authorization_count = 1};
	struct evm_tx decoded;
	struct evm_key key = {{1}};
	struct evm_address authority;
	struct evm_bytes raw;
	struct evm_hash hash;

	memset(&authorization.signature, 0xff, sizeof(authorization.signature));
	CHECK_NUMBER(evm_tx_sign(arena, &raw, &hash, &tx, &key, NULL), EVM_OK);
	CHECK_NUMBER(evm_tx_decode(arena, &decoded, raw.data, raw.len, NULL), EVM_OK);
	CHECK_NUMBER(decoded.authorization_count, 1);
	CHECK(memcmp(&decoded.authorizations[0].signature, &authorization.signature,
				 sizeof(authorization.signature)) == 0);
	CHECK_NUMBER(evm_authorization_authority(arena, &authority, &decoded.authorizations[0]),
				 EVM_ERR_CRYPTO);
}

TEST(raw_tx_lists_are_bounded_by_the_arena)
{
	struct evm_arena *arena = test_arena(ARENA_BYTES);
	const struct evm_bytes nothing = {NULL, 0};
	struct items items = signed_items();
	struct evm_rlp_writer writer;
	struct evm_bytes raw;
	struct evm_tx tx;

	evm_rlp_init(&writer, arena);
	evm_rlp_open_list(&writer);
	for (int i = 0; i < 50000; i++)
		evm_rlp_raw(&writer, (const uint8_t *) "\xc0", 1);
	evm_rlp_close_list(&writer);
	CHECK_NUMBER(evm_rlp_finish(&writer, &items.encoded[ACCESS]), EVM_OK);
	raw = join(&items, EVM_TX_DYNAMIC_FEE, ITEMS, nothing);
	CHECK_NUMBER(evm_tx_decode(test_arena(ARENA_BYTES), &tx, raw.data, raw.len, NULL),
				 EVM_ERR_MEMORY);
}
