/*
 * parse_block.c
 *	  The transactions of one account in a block, as nodes give it with full transactions.
 *
 * The bytes that were signed are made again from the fields.  Where their hash is the one that the
 * node names, the fields are those that were signed, and the signature says by whom: a node can
 * leave a transaction out, but it cannot make one up.
 */
#include "relay/parse_block.h"

#include <string.h>

#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/tx.h"
#include "evm/word.h"
#include "relay/parse.h"

#define HASH_TEXT_LENGTH 66    /* "0x" and 64 digits */
#define ADDRESS_TEXT_LENGTH 42 /* "0x" and 40 digits */
/* v of EIP-155: 35 and 36 for chain id 0, two more for each. */
#define EIP155_FIRST_V 35

static bool
parse_fixed(uint8_t *out, size_t text_length, const struct evm_json *json)
{
	size_t len;
	size_t decoded;
	const char *text = evm_json_string(json, &len);

	return text != NULL && len == text_length &&
		evm_hex_decode(out, &decoded, text, len, NULL) == EVM_OK;
}

static bool
parse_bytes(struct evm_arena *arena, struct evm_bytes *out, const struct evm_json *json)
{
	size_t len;
	const char *text = evm_json_string(json, &len);
	uint8_t *data;

	if (text == NULL)
		return false;
	data = evm_arena_alloc(arena, len / 2 + 1);
	out->data = data;
	return data != NULL && evm_hex_decode(data, &out->len, text, len, NULL) == EVM_OK;
}

static bool
parse_act(struct evm_arena *arena, struct relay_act *out, const struct evm_json *json)
{
	const struct evm_json *to = evm_json_object_get(json, "to");

	memset(out, 0, sizeof(*out));
	out->creates = evm_json_kind(to) == EVM_JSON_NULL;
	return (out->creates || parse_fixed(out->recipient.b, ADDRESS_TEXT_LENGTH, to)) &&
		relay_parse_word(&out->value, evm_json_object_get(json, "value")) &&
		parse_bytes(arena, &out->data, evm_json_object_get(json, "input"));
}

static bool
parse_signature(struct evm_tx *tx, const struct evm_json *json)
{
	struct evm_word r;
	struct evm_word s;
	uint64_t v;

	if (!relay_parse_word(&r, evm_json_object_get(json, "r")) ||
		!relay_parse_word(&s, evm_json_object_get(json, "s")))
		return false;
	evm_word_to_be(tx->signature.r, &r);
	evm_word_to_be(tx->signature.s, &s);
	if (tx->type == EVM_TX_LEGACY)
	{
		if (!relay_parse_u64(&v, evm_json_object_get(json, "v")) || v < EIP155_FIRST_V)
			return false;
		tx->has_chain_id = true;
		tx->chain_id = (v - EIP155_FIRST_V) / 2;
		tx->signature.y_parity = (v - EIP155_FIRST_V) % 2;
		return true;
	}
	if (!relay_parse_u64(&v, evm_json_object_get(json, "yParity")) &&
		!relay_parse_u64(&v, evm_json_object_get(json, "v")))
		return false;
	tx->has_chain_id = true;
	tx->signature.y_parity = v & 1;
	return relay_parse_u64(&tx->chain_id, evm_json_object_get(json, "chainId"));
}

/* The two types that the relayer signs; false for all others, and for bytes with another hash. */
static bool
make_raw(struct evm_arena *arena, struct evm_bytes *raw, struct evm_tx *tx,
		 const struct relay_block_transaction *transaction, const struct evm_json *json,
		 uint64_t type)
{
	struct evm_hash hash;

	memset(tx, 0, sizeof(*tx));
	if ((type != EVM_TX_LEGACY && type != EVM_TX_DYNAMIC_FEE) ||
		evm_json_array_size(evm_json_object_get(json, "accessList")) != 0)
		return false;
	tx->type = (enum evm_tx_type) type;
	tx->nonce = transaction->nonce;
	tx->gas_limit = evm_word_from_u64(transaction->gas_limit);
	tx->creates = transaction->act.creates;
	tx->to = transaction->act.recipient;
	tx->value = transaction->act.value;
	tx->data = transaction->act.data;
	tx->gas_price = tx->max_fee_per_gas = transaction->max_fee;
	tx->max_priority_fee_per_gas = transaction->priority;
	if (!parse_signature(tx, json) || evm_tx_serialize(arena, raw, tx, NULL) != EVM_OK)
		return false;
	evm_keccak256(&hash, raw->data, raw->len);
	return memcmp(&hash, &transaction->hash, sizeof(hash)) == 0;
}

static bool
parse_prices(struct relay_block_transaction *out, const struct evm_json *json)
{
	if (relay_parse_word(&out->max_fee, evm_json_object_get(json, "maxFeePerGas")))
	{
		out->dynamic = true;
		return relay_parse_word(&out->priority, evm_json_object_get(json, "maxPriorityFeePerGas"));
	}
	return relay_parse_word(&out->max_fee, evm_json_object_get(json, "gasPrice"));
}

static bool
parse_transaction(struct evm_arena *arena, struct relay_block_transaction *out,
				  const struct evm_json *json, const struct evm_address *address)
{
	struct evm_address sender;
	struct evm_bytes raw;
	struct evm_tx tx;
	uint64_t type = EVM_TX_LEGACY;

	memset(out, 0, sizeof(*out));
	if (!relay_parse_u64(&out->nonce, evm_json_object_get(json, "nonce")) ||
		!parse_fixed(out->hash.b, HASH_TEXT_LENGTH, evm_json_object_get(json, "hash")) ||
		!relay_parse_u64(&out->gas_limit, evm_json_object_get(json, "gas")) ||
		!parse_act(arena, &out->act, json) || !parse_prices(out, json))
		return false;
	(void) relay_parse_u64(&type, evm_json_object_get(json, "type"));
	if (!make_raw(arena, &raw, &tx, out, json, type))
		return true;
	out->raw = raw;
	return evm_tx_sender(arena, &sender, &tx, NULL) == EVM_OK &&
		memcmp(&sender, address, sizeof(sender)) == 0;
}

bool
relay_parse_block(struct evm_arena *arena, struct relay_block_transaction **out, int *count,
				  const struct evm_json *block, int64_t number, const struct evm_address *address)
{
	const struct evm_json *transactions = evm_json_object_get(block, "transactions");
	size_t size = evm_json_array_size(transactions);
	struct evm_address from;
	uint64_t height;
	size_t i;

	*count = 0;
	*out = evm_arena_alloc(arena, sizeof(**out) * (size + 1));
	if (*out == NULL || evm_json_kind(transactions) != EVM_JSON_ARRAY ||
		!relay_parse_u64(&height, evm_json_object_get(block, "number")) ||
		height != (uint64_t) number)
		return false;
	for (i = 0; i < size; i++)
	{
		const struct evm_json *json = evm_json_array_get(transactions, i);

		if (!parse_fixed(from.b, ADDRESS_TEXT_LENGTH, evm_json_object_get(json, "from")))
			return false;
		if (memcmp(&from, address, sizeof(from)) == 0 &&
			!parse_transaction(arena, &(*out)[(*count)++], json, address))
			return false;
	}
	return true;
}

bool
relay_parse_place(struct relay_place *out, const struct evm_json *json, const struct evm_hash *hash)
{
	const struct evm_json *block = evm_json_object_get(json, "blockNumber");
	struct evm_hash found = {{0}};
	uint64_t number;

	if (!parse_fixed(found.b, HASH_TEXT_LENGTH, evm_json_object_get(json, "hash")) ||
		memcmp(&found, hash, sizeof(found)) != 0 ||
		!parse_fixed(out->from.b, ADDRESS_TEXT_LENGTH, evm_json_object_get(json, "from")))
		return false;
	out->block_number = -1;
	if (block == NULL || evm_json_kind(block) == EVM_JSON_NULL)
		return true;
	if (!relay_parse_u64(&number, block) || number > INT64_MAX)
		return false;
	out->block_number = (int64_t) number;
	return true;
}
