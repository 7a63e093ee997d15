/*
 * tx_json.c
 *	  Transactions written as JSON objects, for people and programs that have them signed elsewhere.
 *
 * A member that is unknown, or that the transaction's type does not have, is refused: a fee that is
 * misspelt must not become a fee of zero.
 */
#include "evm/tx.h"

#include <string.h>

#include "evm/hex.h"
#include "evm/tx_fields.h"
#include "evm/word.h"

/* Walks the members of one object; the first failure sticks and names the member. */
struct reader
{
	struct evm_arena *arena;
	const struct evm_json *node;
	const char *what; /* of the object: "transaction" */
	struct evm_error *err;
	enum evm_status status;
};

/* Members of transactions, and of which types (bits). */
#define TYPE(type) (1u << (type))
#define ALL_TYPES 0x1fu
#define PRICED (TYPE(EVM_TX_LEGACY) | TYPE(EVM_TX_ACCESS_LIST))

struct member
{
	const char *name;
	unsigned types;
};

static const struct member tx_members[] = {
	{"type", ALL_TYPES},
	{"chain_id", ALL_TYPES},
	{"nonce", ALL_TYPES},
	{"gas_price", PRICED},
	{"max_priority_fee_per_gas", ALL_TYPES & ~PRICED},
	{"max_fee_per_gas", ALL_TYPES & ~PRICED},
	{"gas_limit", ALL_TYPES},
	{"to", ALL_TYPES},
	{"value", ALL_TYPES},
	{"data", ALL_TYPES},
	{"access_list", ALL_TYPES & ~TYPE(EVM_TX_LEGACY)},
	{"max_fee_per_blob_gas", TYPE(EVM_TX_BLOB)},
	{"blob_hashes", TYPE(EVM_TX_BLOB)},
	{"authorizations", TYPE(EVM_TX_SET_CODE)},
	{"y_parity", ALL_TYPES},
	{"r", ALL_TYPES},
	{"s", ALL_TYPES},
	/* What a decoded transaction says beside its fields. */
	{"hash", ALL_TYPES},
	{"from", ALL_TYPES},
	{NULL, 0},
};

static const struct member access_members[] = {
	{"address", ALL_TYPES},
	{"storage_keys", ALL_TYPES},
	{NULL, 0},
};

static const struct member authorization_members[] = {
	{"chain_id", ALL_TYPES},  {"address", ALL_TYPES},
	{"nonce", ALL_TYPES},     {"y_parity", ALL_TYPES},
	{"r", ALL_TYPES},         {"s", ALL_TYPES},
	{"authority", ALL_TYPES}, {NULL, 0},
};

static void
refuse(struct reader *reader, enum evm_status status, const char *member, const char *why)
{
	if (reader->status == EVM_OK)
		reader->status = evm_fail(reader->err, status, 0, "%s: %s %s", reader->what, member, why);
}

/* A member that is there and not null. */
static const struct evm_json *
find(const struct reader *reader, const char *name)
{
	const struct evm_json *node = evm_json_object_get(reader->node, name);

	return evm_json_kind(node) == EVM_JSON_NULL ? NULL : node;
}

static const struct evm_json *
need(struct reader *reader, const char *name)
{
	const struct evm_json *node = find(reader, name);

	if (node == NULL)
		refuse(reader, EVM_ERR_MALFORMED, name, "is missing");
	return node;
}

/* An integer: a JSON number, decimal text or 0x hex. */
static bool
node_word(struct evm_word *out, const struct evm_json *node)
{
	size_t len;
	const char *text = evm_json_string(node, &len);
	bool negative = false;

	if (text == NULL)
		return evm_json_word(node, out, &negative) && !negative;
	if (len >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return evm_quantity_decode(out, text, len, NULL) == EVM_OK;
	return evm_word_from_decimal(out, &negative, text, len, NULL) == EVM_OK && !negative;
}

static struct evm_word
read_word(struct reader *reader, const char *name)
{
	const struct evm_json *node = need(reader, name);
	struct evm_word word = evm_word_zero;

	if (node != NULL && !node_word(&word, node))
		refuse(reader, EVM_ERR_RANGE, name, "is not an integer of at most 256 bits");
	return word;
}

static uint64_t
read_u64(struct reader *reader, const char *name)
{
	const struct evm_word word = read_word(reader, name);
	uint64_t value = 0;

	if (!evm_word_to_u64(&value, &word))
		refuse(reader, EVM_ERR_RANGE, name, "is beyond 64 bits");
	return value;
}

static struct evm_bytes
node_bytes(struct reader *reader, const struct evm_json *node, const char *name)
{
	struct evm_bytes bytes = {NULL, 0};
	size_t len;
	const char *text = evm_json_string(node, &len);
	uint8_t *data = text == NULL ? NULL : evm_arena_alloc(reader->arena, len / 2 + 1);

	if (text == NULL)
		refuse(reader, EVM_ERR_TYPE, name, "is not a string of 0x and digits");
	else if (data == NULL)
		refuse(reader, EVM_ERR_MEMORY, name, "does not fit the memory it was given");
	else if (evm_hex_decode(data, &bytes.len, text, len, NULL) != EVM_OK)
		refuse(reader, EVM_ERR_SYNTAX, name, "is not 0x and an even number of digits");
	bytes.data = data;
	return bytes;
}

static void
node_hash(struct reader *reader, struct evm_hash *out, const struct evm_json *node,
		  const char *name)
{
	const struct evm_bytes bytes = node_bytes(reader, node, name);

	if (reader->status == EVM_OK && bytes.len != sizeof(out->b))
		refuse(reader, EVM_ERR_MALFORMED, name, "is not 32 bytes long");
	if (reader->status == EVM_OK)
		memcpy(out->b, bytes.data, sizeof(out->b));
}

static void
node_address(struct reader *reader, struct evm_address *out, const struct evm_json *node,
			 const char *name)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	if (text == NULL || evm_address_parse(out, text, len, NULL) != EVM_OK)
		refuse(reader, EVM_ERR_SYNTAX, name, "is not an address, or has a wrong checksum");
}

/* The elements of a list that may be missing; NULL after a failure and when there are none. */
static void *
begin_list(struct reader *reader, const char *name, size_t *count, size_t size)
{
	const struct evm_json *list = find(reader, name);
	void *array;

	*count = 0;
	if (list == NULL || reader->status != EVM_OK)
		return NULL;
	if (evm_json_kind(list) != EVM_JSON_ARRAY)
	{
		refuse(reader, EVM_ERR_TYPE, name, "is not an array");
		return NULL;
	}
	*count = evm_json_array_size(list);
	array = *count == 0 ? NULL : evm_arena_zalloc(reader->arena, *count, size);
	if (*count > 0 && array == NULL)
	{
		*count = 0;
		refuse(reader, EVM_ERR_MEMORY, name, "does not fit the memory it was given");
	}
	return array;
}

static const struct evm_hash *
read_hashes(struct reader *reader, const char *name, size_t *count)
{
	const struct evm_json *list = find(reader, name);
	struct evm_hash *hashes = begin_list(reader, name, count, sizeof(*hashes));

	for (size_t i = 0; i < *count; i++)
		node_hash(reader, &hashes[i], evm_json_array_get(list, i), name);
	return hashes;
}

/* ---- members ------------------------------------------------------------ */

struct check
{
	struct reader *reader;
	const struct member *members;
	unsigned type;
};

static bool
check_member(void *context, const char *name, const struct evm_json *value)
{
	const struct check *check = context;
	const struct member *member = check->members;

	while (member->name != NULL && strcmp(member->name, name) != 0)
		member++;
	/* The name is foreign: it is not repeated. */
	if (member->name == NULL)
		refuse(check->reader, EVM_ERR_MALFORMED, "a member", "has an unknown name");
	else if ((member->types & check->type) == 0 && evm_json_kind(value) != EVM_JSON_NULL)
		refuse(check->reader, EVM_ERR_MALFORMED, member->name,
			   "is not a member of transactions of its type");
	return check->reader->status == EVM_OK;
}

static void
check_members(struct reader *reader, const struct member *members, unsigned type)
{
	struct check check = {reader, members, type};

	if (reader->status == EVM_OK && evm_json_kind(reader->node) != EVM_JSON_OBJECT)
		reader->status = evm_fail(reader->err, EVM_ERR_TYPE, 0, "%s: not an object", reader->what);
	evm_json_object_each(reader->node, check_member, &check);
}

static struct reader
open_element(struct reader *reader, const char *list, size_t i, const char *what,
			 const struct member *members)
{
	struct reader element = *reader;

	element.node = evm_json_array_get(evm_json_object_get(reader->node, list), i);
	element.what = what;
	check_members(&element, members, ALL_TYPES);
	return element;
}

static void
read_signature(struct reader *reader, struct evm_signature *out)
{
	struct evm_word word = read_word(reader, "y_parity");

	if (evm_word_bits(&word) > 8)
		refuse(reader, EVM_ERR_RANGE, "y_parity", "is not below 2^8");
	out->y_parity = (uint8_t) word.limb[0];
	word = read_word(reader, "r");
	evm_word_to_be(out->r, &word);
	word = read_word(reader, "s");
	evm_word_to_be(out->s, &word);
}

static void
read_access_list(struct reader *reader, struct evm_tx *tx)
{
	struct evm_access *accesses =
		begin_list(reader, "access_list", &tx->access_count, sizeof(*accesses));

	for (size_t i = 0; i < tx->access_count; i++)
	{
		struct reader entry =
			open_element(reader, "access_list", i, "entry of access_list", access_members);
		const struct evm_json *address = need(&entry, "address");

		if (entry.status == EVM_OK)
			node_address(&entry, &accesses[i].address, address, "address");
		accesses[i].storage_keys =
			read_hashes(&entry, "storage_keys", &accesses[i].storage_key_count);
		reader->status = entry.status;
	}
	tx->access_list = accesses;
}

static void
read_authorizations(struct reader *reader, struct evm_tx *tx)
{
	struct evm_authorization *list =
		begin_list(reader, "authorizations", &tx->authorization_count, sizeof(*list));

	for (size_t i = 0; i < tx->authorization_count; i++)
	{
		struct reader entry =
			open_element(reader, "authorizations", i, "authorization", authorization_members);
		const struct evm_json *address = need(&entry, "address");

		list[i].chain_id = read_word(&entry, "chain_id");
		if (entry.status == EVM_OK)
			node_address(&entry, &list[i].address, address, "address");
		list[i].nonce = read_u64(&entry, "nonce");
		read_signature(&entry, &list[i].signature);
		reader->status = entry.status;
	}
	tx->authorizations = list;
}

/* Said, or what only one type has. */
static void
read_type(struct reader *reader, struct evm_tx *tx)
{
	uint64_t type = EVM_TX_LEGACY;

	if (find(reader, "type") != NULL)
		type = read_u64(reader, "type");
	else if (find(reader, "authorizations") != NULL)
		type = EVM_TX_SET_CODE;
	else if (find(reader, "blob_hashes") != NULL)
		type = EVM_TX_BLOB;
	else if (find(reader, "max_fee_per_gas") != NULL)
		type = EVM_TX_DYNAMIC_FEE;
	else if (find(reader, "access_list") != NULL)
		type = EVM_TX_ACCESS_LIST;
	if (type > EVM_TX_SET_CODE)
		refuse(reader, EVM_ERR_MALFORMED, "type", "is unknown");
	else
		tx->type = (enum evm_tx_type) type;
}

static void
read_fields(struct reader *reader, struct evm_tx *tx)
{
	const struct evm_json *to = evm_json_object_get(reader->node, "to");

	tx->has_chain_id = find(reader, "chain_id") != NULL;
	if (tx->has_chain_id)
		tx->chain_id = read_u64(reader, "chain_id");
	tx->nonce = read_u64(reader, "nonce");
	if (evm_tx_has_priority_fee(tx->type))
	{
		tx->max_priority_fee_per_gas = read_word(reader, "max_priority_fee_per_gas");
		tx->max_fee_per_gas = read_word(reader, "max_fee_per_gas");
	}
	else
		tx->gas_price = read_word(reader, "gas_price");
	tx->gas_limit = read_word(reader, "gas_limit");
	tx->creates = evm_json_kind(to) == EVM_JSON_NULL;
	if (to == NULL)
		refuse(reader, EVM_ERR_MALFORMED, "to", "is missing (null creates a contract)");
	else if (!tx->creates)
		node_address(reader, &tx->to, to, "to");
	if (find(reader, "value") != NULL)
		tx->value = read_word(reader, "value");
	if (find(reader, "data") != NULL)
		tx->data = node_bytes(reader, find(reader, "data"), "data");
	read_access_list(reader, tx);
	if (tx->type == EVM_TX_BLOB)
	{
		tx->max_fee_per_blob_gas = read_word(reader, "max_fee_per_blob_gas");
		tx->blob_hashes = read_hashes(reader, "blob_hashes", &tx->blob_hash_count);
	}
	read_authorizations(reader, tx);
}

enum evm_status
evm_tx_from_json(struct evm_arena *arena, struct evm_tx *out, bool *is_signed,
				 const struct evm_json *node, struct evm_error *err)
{
	struct reader reader = {.arena = arena,
							.node = node,
							.what = "transaction",
							.err = err,
							.status = EVM_OK};

	memset(out, 0, sizeof(*out));
	read_type(&reader, out);
	check_members(&reader, tx_members, TYPE(out->type));
	if (reader.status == EVM_OK)
		read_fields(&reader, out);
	*is_signed = find(&reader, "r") != NULL || find(&reader, "s") != NULL ||
		find(&reader, "y_parity") != NULL;
	if (*is_signed)
		read_signature(&reader, &out->signature);
	if (reader.status != EVM_OK)
		return reader.status;
	return evm_tx_check(out, err);
}
