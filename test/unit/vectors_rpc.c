/*
 * vectors_rpc.c
 *	  Vectors of exchanges with a real node: what a node says, in the terms of src/evm.
 *
 * A response is searched for what can be verified by itself, wherever it stands: transactions are
 * rebuilt from their members and must give the hash and the sender that the node names, raw bytes
 * must be canonical, and revert data must say what the node's message says.
 */
#include "vectors.h"

#include <string.h>

#include "evm/abi.h"
#include "evm/hex.h"
#include "evm/keccak.h"
#include "evm/rlp.h"
#include "evm/tx.h"
#include "evm/word.h"

#define UNREADABLE "the row cannot be read"
/* Of a signature of a transaction without EIP-155, and of one with it (EIP-155). */
#define V_PLAIN 27
#define V_EIP155 35

struct search
{
	struct evm_arena *arena;
	struct vector_note *note;
	enum vector_result result;
};

static void
fail(struct search *search, const char *what, const char *why)
{
	if (search->result == VECTOR_PASS)
		search->result = vector_fail(search->note, "%s: %s", what, why);
}

/* ---- transactions as members -------------------------------------------- */

static bool
member_word(const struct evm_json *node, const char *name, struct evm_word *out)
{
	size_t len;
	const char *text = evm_json_string(evm_json_object_get(node, name), &len);

	return text != NULL && evm_quantity_decode(out, text, len, NULL) == EVM_OK;
}

static bool
member_u64(const struct evm_json *node, const char *name, uint64_t *out)
{
	struct evm_word word;

	return member_word(node, name, &word) && evm_word_to_u64(out, &word);
}

static bool
member_fixed(struct evm_arena *arena, const struct evm_json *node, const char *name, uint8_t *out,
			 size_t len)
{
	struct evm_bytes bytes;

	if (!vector_bytes(arena, node, name, &bytes) || bytes.len != len)
		return false;
	memcpy(out, bytes.data, len);
	return true;
}

static struct evm_hash *
member_hashes(struct evm_arena *arena, const struct evm_json *list, size_t *count)
{
	struct evm_hash *hashes;

	*count = evm_json_array_size(list);
	hashes = evm_arena_zalloc(arena, *count, sizeof(*hashes));
	for (size_t i = 0; i < *count; i++)
	{
		struct evm_bytes bytes;

		if (!vector_node_bytes(arena, evm_json_array_get(list, i), &bytes) || bytes.len != 32)
			return NULL;
		memcpy(hashes[i].b, bytes.data, sizeof(hashes[i].b));
	}
	return hashes;
}

static bool
member_accesses(struct evm_arena *arena, const struct evm_json *node, struct evm_tx *tx)
{
	const struct evm_json *list = evm_json_object_get(node, "accessList");
	const size_t count = evm_json_array_size(list);
	struct evm_access *accesses = evm_arena_zalloc(arena, count, sizeof(*accesses));

	for (size_t i = 0; i < count; i++)
	{
		const struct evm_json *entry = evm_json_array_get(list, i);
		const struct evm_json *keys = evm_json_object_get(entry, "storageKeys");

		accesses[i].storage_keys = member_hashes(arena, keys, &accesses[i].storage_key_count);
		if (accesses[i].storage_keys == NULL ||
			!member_fixed(arena, entry, "address", accesses[i].address.b, 20))
			return false;
	}
	tx->access_list = accesses;
	tx->access_count = count;
	return true;
}

static bool
member_signature(const struct evm_json *node, struct evm_signature *out)
{
	struct evm_word r;
	struct evm_word s;

	if (!member_word(node, "r", &r) || !member_word(node, "s", &s))
		return false;
	evm_word_to_be(out->r, &r);
	evm_word_to_be(out->s, &s);
	return true;
}

static bool
member_authorizations(struct evm_arena *arena, const struct evm_json *node, struct evm_tx *tx)
{
	const struct evm_json *list = evm_json_object_get(node, "authorizationList");
	const size_t count = evm_json_array_size(list);
	struct evm_authorization *out = evm_arena_zalloc(arena, count, sizeof(*out));

	for (size_t i = 0; i < count; i++)
	{
		const struct evm_json *entry = evm_json_array_get(list, i);
		uint64_t parity;

		if (!member_word(entry, "chainId", &out[i].chain_id) ||
			!member_fixed(arena, entry, "address", out[i].address.b, 20) ||
			!member_u64(entry, "nonce", &out[i].nonce) || !member_u64(entry, "yParity", &parity) ||
			!member_signature(entry, &out[i].signature))
			return false;
		out[i].signature.y_parity = (uint8_t) parity;
	}
	tx->authorizations = out;
	tx->authorization_count = count;
	return true;
}

/* v of a legacy transaction holds the parity, and the chain id where there is one. */
static bool
member_parity(const struct evm_json *node, struct evm_tx *tx)
{
	const uint64_t first = tx->has_chain_id ? V_EIP155 + 2 * tx->chain_id : V_PLAIN;
	uint64_t v;

	if (!member_u64(node, "v", &v))
		return false;
	if (tx->type == EVM_TX_LEGACY)
		v -= first;
	tx->signature.y_parity = (uint8_t) v;
	return v <= 1;
}

static bool
member_fees(const struct evm_json *node, struct evm_tx *tx)
{
	if (tx->type < EVM_TX_DYNAMIC_FEE)
		return member_word(node, "gasPrice", &tx->gas_price);
	return member_word(node, "maxFeePerGas", &tx->max_fee_per_gas) &&
		member_word(node, "maxPriorityFeePerGas", &tx->max_priority_fee_per_gas);
}

static bool
read_transaction(struct evm_arena *arena, const struct evm_json *node, struct evm_tx *tx)
{
	uint64_t type;

	memset(tx, 0, sizeof(*tx));
	tx->has_chain_id = evm_json_object_get(node, "chainId") != NULL;
	tx->creates = evm_json_kind(evm_json_object_get(node, "to")) == EVM_JSON_NULL;
	if (!member_u64(node, "type", &type) || !member_u64(node, "nonce", &tx->nonce) ||
		!member_word(node, "gas", &tx->gas_limit) || !member_word(node, "value", &tx->value) ||
		!vector_bytes(arena, node, "input", &tx->data) || !member_signature(node, &tx->signature) ||
		(tx->has_chain_id && !member_u64(node, "chainId", &tx->chain_id)) ||
		(!tx->creates && !member_fixed(arena, node, "to", tx->to.b, 20)))
		return false;
	tx->type = (enum evm_tx_type) type;
	if (!member_fees(node, tx) || !member_parity(node, tx) || !member_accesses(arena, node, tx) ||
		!member_authorizations(arena, node, tx))
		return false;
	if (tx->type != EVM_TX_BLOB)
		return true;
	tx->blob_hashes = member_hashes(arena, evm_json_object_get(node, "blobVersionedHashes"),
									&tx->blob_hash_count);
	return tx->blob_hashes != NULL &&
		member_word(node, "maxFeePerBlobGas", &tx->max_fee_per_blob_gas);
}

static void
check_transaction(struct search *search, const struct evm_json *node)
{
	struct evm_tx tx;
	struct evm_bytes raw;
	struct evm_hash hash;
	struct evm_hash want_hash;
	struct evm_address sender;
	struct evm_address from;
	struct evm_error err;

	if (!read_transaction(search->arena, node, &tx) ||
		!member_fixed(search->arena, node, "hash", want_hash.b, 32) ||
		!member_fixed(search->arena, node, "from", from.b, 20))
	{
		fail(search, "transaction", "its members cannot be read");
		return;
	}
	if (evm_tx_serialize(search->arena, &raw, &tx, &err) != EVM_OK ||
		evm_tx_sender(search->arena, &sender, &tx, &err) != EVM_OK)
	{
		fail(search, "transaction", err.message);
		return;
	}
	evm_keccak256(&hash, raw.data, raw.len);
	if (memcmp(&hash, &want_hash, sizeof(hash)) != 0)
		fail(search, "transaction", "its members give another hash");
	if (memcmp(&sender, &from, sizeof(sender)) != 0)
		fail(search, "transaction", "its signature gives another sender");
}

/* ---- everything else ---------------------------------------------------- */

static void search_node(struct search *search, const struct evm_json *node);

static bool
search_member(void *context, const char *name, const struct evm_json *value)
{
	struct search *search = context;

	(void) name;
	search_node(search, value);
	return search->result == VECTOR_PASS;
}

/* What begins with 0x is bytes or a quantity. */
static void
check_hex(struct search *search, const char *text, size_t len)
{
	uint8_t *bytes = evm_arena_alloc(search->arena, len / 2);
	struct evm_word word;
	size_t count;

	if (evm_hex_decode(bytes, &count, text, len, NULL) != EVM_OK &&
		evm_quantity_decode(&word, text, len, NULL) != EVM_OK)
		fail(search, "hexadecimal text", text);
}

static void
search_node(struct search *search, const struct evm_json *node)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	if (text != NULL && strncmp(text, "0x", 2) == 0)
		check_hex(search, text, len);
	if (evm_json_object_get(node, "hash") != NULL && evm_json_object_get(node, "gasPrice") != NULL)
		check_transaction(search, node);
	for (size_t i = 0; i < evm_json_array_size(node); i++)
		search_node(search, evm_json_array_get(node, i));
	evm_json_object_each(node, search_member, search);
}

/* Raw headers, blocks and receipts are canonical RLP. */
static void
check_raw(struct search *search, const struct evm_json *result)
{
	struct evm_bytes raw;
	struct evm_error err;

	if (vector_node_bytes(search->arena, result, &raw) &&
		evm_rlp_validate(raw.data, raw.len, &err) != EVM_OK)
		fail(search, "raw answer", err.message);
}

static void
check_raw_transaction(struct search *search, const struct evm_json *raw_node,
					  const struct evm_json *hash_node)
{
	struct evm_bytes raw;
	struct evm_bytes want;
	struct evm_hash hash;
	struct evm_tx tx;
	struct evm_address sender;
	struct evm_error err;

	if (!vector_node_bytes(search->arena, raw_node, &raw) ||
		!vector_node_bytes(search->arena, hash_node, &want))
		fail(search, "raw transaction", UNREADABLE);
	else if (evm_tx_decode(search->arena, &tx, raw.data, raw.len, &err) != EVM_OK ||
			 evm_tx_sender(search->arena, &sender, &tx, &err) != EVM_OK)
		fail(search, "raw transaction", err.message);
	else
	{
		evm_keccak256(&hash, raw.data, raw.len);
		if (want.len != sizeof(hash.b) || memcmp(hash.b, want.data, sizeof(hash.b)) != 0)
			fail(search, "raw transaction", "its hash is another");
	}
}

static void
check_refusal(struct search *search, const struct evm_json *error)
{
	const char *message = vector_text(error, "message");
	struct evm_revert revert;
	struct evm_bytes data;

	if (message == NULL)
		fail(search, "error", "it has no message");
	else if (vector_bytes(search->arena, error, "data", &data) &&
			 (evm_abi_decode_revert(search->arena, &revert, NULL, data.data, data.len) != EVM_OK ||
			  strstr(message, revert.text) == NULL))
		fail(search, "revert", message);
}

static void
check_exchange(struct search *search, const struct evm_json *request,
			   const struct evm_json *response)
{
	const char *method = vector_text(request, "method");
	const struct evm_json *param = evm_json_array_get(evm_json_object_get(request, "params"), 0);
	const struct evm_json *result = evm_json_object_get(response, "result");
	const struct evm_json *error = evm_json_object_get(response, "error");
	int64_t asked;
	int64_t answered;

	if (method == NULL || !evm_json_integer(evm_json_object_get(request, "id"), &asked) ||
		!evm_json_integer(evm_json_object_get(response, "id"), &answered) || asked != answered ||
		(result == NULL) == (error == NULL))
	{
		fail(search, "exchange", UNREADABLE);
		return;
	}
	search_node(search, result);
	if (error != NULL)
		check_refusal(search, error);
	else if (strcmp(method, "eth_sendRawTransaction") == 0)
		check_raw_transaction(search, param, result);
	else if (strcmp(method, "debug_getRawTransaction") == 0)
		check_raw_transaction(search, result, param);
	else if (strncmp(method, "debug_getRaw", strlen("debug_getRaw")) == 0)
		check_raw(search, result);
}

static enum vector_result
check_rpc_io(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const struct evm_json *requests = evm_json_object_get(row, "request");
	const struct evm_json *responses = evm_json_object_get(row, "response");
	const size_t count = evm_json_array_size(requests);
	struct search search = {arena, note, VECTOR_PASS};

	if (count == 0 || evm_json_array_size(responses) != count)
		return vector_fail(note, UNREADABLE);
	for (size_t i = 0; i < count; i++)
		check_exchange(&search, evm_json_array_get(requests, i), evm_json_array_get(responses, i));
	return search.result;
}

static const struct vector_family rpc_families[] = {{"rpc_io", check_rpc_io}, {NULL, NULL}};

VECTOR_FAMILIES(rpc_families);
