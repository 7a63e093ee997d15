/*
 * parse.c
 *	  What nodes answer to the relayer's questions, from JSON to structs.
 */
#include "relay/parse.h"

#include <string.h>

#include "evm/hex.h"
#include "evm/word.h"

#define HASH_TEXT_LENGTH 66    /* "0x" and 64 digits */
#define ADDRESS_TEXT_LENGTH 42 /* "0x" and 40 digits */

bool
relay_parse_word(struct evm_word *out, const struct evm_json *json)
{
	size_t len;
	const char *text = evm_json_string(json, &len);

	return text != NULL && evm_quantity_decode(out, text, len, NULL) == EVM_OK;
}

bool
relay_parse_u64(uint64_t *out, const struct evm_json *json)
{
	size_t len;
	const char *text = evm_json_string(json, &len);

	return text != NULL && evm_quantity_decode_u64(out, text, len, NULL) == EVM_OK;
}

static bool
parse_hash(struct evm_hash *out, const struct evm_json *json)
{
	size_t len;
	size_t decoded;
	const char *text = evm_json_string(json, &len);

	return text != NULL && len == HASH_TEXT_LENGTH &&
		evm_hex_decode(out->b, &decoded, text, len, NULL) == EVM_OK;
}

static bool
parse_block_number(int64_t *out, const struct evm_json *json)
{
	uint64_t number;

	if (!relay_parse_u64(&number, json) || number > INT64_MAX)
		return false;
	*out = (int64_t) number;
	return true;
}

bool
relay_parse_header(struct relay_header *out, const struct evm_json *json)
{
	struct evm_word base_fee;

	out->has_base_fee = relay_parse_word(&base_fee, evm_json_object_get(json, "baseFeePerGas"));
	return parse_block_number(&out->number, evm_json_object_get(json, "number")) &&
		parse_hash(&out->hash, evm_json_object_get(json, "hash"));
}

bool
relay_parse_receipt(struct relay_receipt *out, const struct evm_json *json,
					const struct evm_hash *hash)
{
	struct evm_hash transaction;
	uint64_t status;

	if (!parse_hash(&transaction, evm_json_object_get(json, "transactionHash")) ||
		memcmp(&transaction, hash, sizeof(transaction)) != 0 ||
		!parse_hash(&out->block_hash, evm_json_object_get(json, "blockHash")) ||
		!parse_block_number(&out->block_number, evm_json_object_get(json, "blockNumber")) ||
		!relay_parse_u64(&out->gas_used, evm_json_object_get(json, "gasUsed")) ||
		!relay_parse_u64(&status, evm_json_object_get(json, "status")))
		return false;
	out->reverted = status == 0;
	out->has_price = relay_parse_word(&out->price, evm_json_object_get(json, "effectiveGasPrice"));
	return true;
}

static bool
is_from(const struct evm_json *transaction, const struct evm_address *from, uint64_t nonce)
{
	struct evm_address sender = {{0}};
	uint64_t used;
	size_t len;
	size_t decoded;
	const char *text = evm_json_string(evm_json_object_get(transaction, "from"), &len);

	return text != NULL && len == ADDRESS_TEXT_LENGTH &&
		evm_hex_decode(sender.b, &decoded, text, len, NULL) == EVM_OK &&
		memcmp(&sender, from, sizeof(sender)) == 0 &&
		relay_parse_u64(&used, evm_json_object_get(transaction, "nonce")) && used == nonce;
}

static bool
is_one_of(const struct evm_hash *hash, const struct evm_hash *hashes, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (memcmp(&hashes[i], hash, sizeof(*hash)) == 0)
			return true;
	return false;
}

enum relay_use
relay_parse_use(struct evm_hash *user, const struct evm_json *json, int64_t number,
				const struct evm_address *from, uint64_t nonce, const struct evm_hash *hashes,
				int count)
{
	const struct evm_json *transactions = evm_json_object_get(json, "transactions");
	struct relay_header header;
	struct evm_hash hash;
	size_t i;

	memset(user, 0, sizeof(*user));
	if (!relay_parse_header(&header, json) || header.number != number ||
		evm_json_kind(transactions) != EVM_JSON_ARRAY)
		return RELAY_USE_UNKNOWN;
	for (i = 0; i < evm_json_array_size(transactions); i++)
	{
		const struct evm_json *transaction = evm_json_array_get(transactions, i);

		if (!parse_hash(&hash, evm_json_object_get(transaction, "hash")))
			return RELAY_USE_UNKNOWN;
		if (is_one_of(&hash, hashes, count))
			return RELAY_USE_OURS;
		if (is_from(transaction, from, nonce))
			*user = hash;
	}
	return RELAY_USE_FOREIGN;
}

bool
relay_parse_fee_history(struct relay_fee_history *out, const struct evm_json *json)
{
	const struct evm_json *fees = evm_json_object_get(json, "baseFeePerGas");
	const struct evm_json *rewards = evm_json_object_get(json, "reward");
	size_t count = evm_json_array_size(rewards);
	size_t i;

	/* The last one is that of the next block. */
	if (evm_json_array_size(fees) == 0 ||
		!relay_parse_word(&out->base_fee, evm_json_array_get(fees, evm_json_array_size(fees) - 1)))
		return false;
	out->reward_count = 0;
	for (i = 0; i < count && out->reward_count < RELAY_FEE_BLOCKS; i++)
		if (relay_parse_word(&out->rewards[out->reward_count],
							 evm_json_array_get(evm_json_array_get(rewards, i), 0)))
			out->reward_count++;
	return true;
}
