/*
 * tx_decode.c
 *	  Raw bytes to a transaction, accepting only what a chain would.
 */
#include "evm/tx.h"

#include <string.h>

#include "evm/rlp.h"
#include "evm/tx_fields.h"
#include "evm/word.h"

/* Bytes from here on open an RLP list: a legacy transaction (EIP-2718). */
#define FIRST_LIST_BYTE 0xc0

/* Walks the items of one list; the first failure sticks and names the field. */
struct reader
{
	struct evm_arena *arena;
	struct evm_bytes cursor;
	struct evm_error *err;
	enum evm_status status;
};

static void
refuse(struct reader *reader, enum evm_status status, const char *field, const char *why)
{
	if (reader->status == EVM_OK)
		reader->status = evm_fail(reader->err, status, 0, "transaction: %s %s", field, why);
}

/* The next item, or an empty one after a failure. */
static struct evm_rlp_item
next_item(struct reader *reader, const char *field, bool want_list)
{
	struct evm_rlp_item item = {0};

	if (reader->status != EVM_OK)
		return item;
	if (reader->cursor.len == 0)
		refuse(reader, EVM_ERR_TRUNCATED, field, "is missing");
	else if (evm_rlp_next(&item, &reader->cursor, NULL) != EVM_OK)
		refuse(reader, EVM_ERR_MALFORMED, field, "is not canonical RLP");
	else if (item.is_list != want_list)
		refuse(reader, EVM_ERR_MALFORMED, field, want_list ? "is not a list" : "is a list");
	if (reader->status != EVM_OK)
		memset(&item, 0, sizeof(item));
	return item;
}

static struct evm_bytes
read_bytes(struct reader *reader, const char *field)
{
	return next_item(reader, field, false).payload;
}

static struct evm_word
read_word(struct reader *reader, const char *field)
{
	const struct evm_rlp_item item = next_item(reader, field, false);
	struct evm_word word = evm_word_zero;

	if (reader->status == EVM_OK && evm_rlp_item_word(&word, &item, NULL) != EVM_OK)
		refuse(reader, EVM_ERR_MALFORMED, field, "has leading zeros or is longer than 256 bits");
	return word;
}

static uint64_t
read_u64(struct reader *reader, const char *field)
{
	const struct evm_rlp_item item = next_item(reader, field, false);
	uint64_t value = 0;

	if (reader->status == EVM_OK && evm_rlp_item_u64(&value, &item, NULL) != EVM_OK)
		refuse(reader, EVM_ERR_MALFORMED, field, "has leading zeros or is longer than 64 bits");
	return value;
}

/* Exactly len bytes; zeros after a failure. */
static void
read_fixed(struct reader *reader, const char *field, uint8_t *out, size_t len)
{
	const struct evm_bytes bytes = read_bytes(reader, field);

	memset(out, 0, len);
	if (reader->status != EVM_OK)
		return;
	if (bytes.len != len)
		refuse(reader, EVM_ERR_MALFORMED, field, "has a wrong length");
	else
		memcpy(out, bytes.data, len);
}

static struct reader
read_list(struct reader *reader, const char *field)
{
	struct reader inner = *reader;

	inner.cursor = next_item(reader, field, true).payload;
	inner.status = reader->status;
	return inner;
}

/* Carries the failure of an inner list outwards. */
static void
close_list(struct reader *reader, const struct reader *inner)
{
	if (reader->status == EVM_OK)
		reader->status = inner->status;
}

/* Counts the items of the list that remain, so that an array of them can be made. */
static size_t
count_items(struct reader *reader, const char *field)
{
	struct evm_bytes cursor = reader->cursor;
	struct evm_rlp_item item;
	size_t count = 0;

	while (reader->status == EVM_OK && cursor.len > 0)
	{
		if (evm_rlp_next(&item, &cursor, NULL) != EVM_OK)
			refuse(reader, EVM_ERR_MALFORMED, field, "is not canonical RLP");
		count++;
	}
	return reader->status == EVM_OK ? count : 0;
}

static void *
make_array(struct reader *reader, const char *field, size_t count, size_t size)
{
	void *array = evm_arena_zalloc(reader->arena, count, size);

	if (array == NULL)
		refuse(reader, EVM_ERR_MEMORY, field, "does not fit the memory it was given");
	return array;
}

/* A list of 32-byte strings; NULL when empty or after a failure. */
static struct evm_hash *
read_hashes(struct reader *reader, const char *field, size_t *count)
{
	struct reader inner = read_list(reader, field);
	const size_t n = count_items(&inner, field);
	struct evm_hash *hashes = NULL;

	*count = 0;
	if (n > 0)
		hashes = make_array(&inner, field, n, sizeof(*hashes));
	if (hashes != NULL)
	{
		for (size_t i = 0; i < n; i++)
			read_fixed(&inner, field, hashes[i].b, sizeof(hashes[i].b));
		*count = n;
	}
	close_list(reader, &inner);
	return hashes;
}

/* Refuses what stands behind the last field of a list. */
static void
expect_end(struct reader *reader, const char *field)
{
	if (reader->status == EVM_OK && reader->cursor.len != 0)
		refuse(reader, EVM_ERR_MALFORMED, field, "has too many elements");
}

static void
read_access_list(struct reader *reader, struct evm_tx *tx)
{
	struct reader list = read_list(reader, "access list");
	const size_t n = count_items(&list, "access list");
	struct evm_access *accesses = NULL;

	if (n > 0)
		accesses = make_array(&list, "access list", n, sizeof(*accesses));
	for (size_t i = 0; accesses != NULL && i < n; i++)
	{
		struct reader entry = read_list(&list, "access list entry");

		read_fixed(&entry, "access list address", accesses[i].address.b,
				   sizeof(accesses[i].address.b));
		accesses[i].storage_keys =
			read_hashes(&entry, "access list storage key", &accesses[i].storage_key_count);
		expect_end(&entry, "access list entry");
		close_list(&list, &entry);
	}
	tx->access_list = accesses;
	tx->access_count = accesses == NULL ? 0 : n;
	close_list(reader, &list);
}

static void
read_authorization(struct reader *list, struct evm_authorization *out)
{
	struct reader entry = read_list(list, "authorization");
	struct evm_word word;
	uint64_t parity;

	out->chain_id = read_word(&entry, "authorization chain id");
	read_fixed(&entry, "authorization address", out->address.b, sizeof(out->address.b));
	out->nonce = read_u64(&entry, "authorization nonce");
	parity = read_u64(&entry, "authorization y parity");
	if (parity > UINT8_MAX)
		refuse(&entry, EVM_ERR_RANGE, "authorization y parity", "is not below 2^8");
	out->signature.y_parity = (uint8_t) parity;
	word = read_word(&entry, "authorization r");
	evm_word_to_be(out->signature.r, &word);
	word = read_word(&entry, "authorization s");
	evm_word_to_be(out->signature.s, &word);
	expect_end(&entry, "authorization");
	close_list(list, &entry);
}

static void
read_authorizations(struct reader *reader, struct evm_tx *tx)
{
	struct reader list = read_list(reader, "authorization list");
	const size_t n = count_items(&list, "authorization list");
	struct evm_authorization *authorizations = NULL;

	if (n > 0)
		authorizations = make_array(&list, "authorization list", n, sizeof(*authorizations));
	for (size_t i = 0; authorizations != NULL && i < n; i++)
		read_authorization(&list, &authorizations[i]);
	tx->authorizations = authorizations;
	tx->authorization_count = authorizations == NULL ? 0 : n;
	close_list(reader, &list);
}

static void
read_recipient(struct reader *reader, struct evm_tx *tx)
{
	const struct evm_bytes to = read_bytes(reader, "recipient");

	tx->creates = to.len == 0;
	if (to.len == sizeof(tx->to.b))
		memcpy(tx->to.b, to.data, to.len);
	else if (to.len != 0)
		refuse(reader, EVM_ERR_MALFORMED, "recipient", "is not 20 bytes long");
}

static void
read_fields(struct reader *reader, struct evm_tx *tx)
{
	if (tx->type != EVM_TX_LEGACY)
	{
		tx->chain_id = read_u64(reader, "chain id");
		tx->has_chain_id = true;
	}
	tx->nonce = read_u64(reader, "nonce");
	if (evm_tx_has_priority_fee(tx->type))
	{
		tx->max_priority_fee_per_gas = read_word(reader, "max priority fee per gas");
		tx->max_fee_per_gas = read_word(reader, "max fee per gas");
	}
	else
		tx->gas_price = read_word(reader, "gas price");
	tx->gas_limit = read_word(reader, "gas limit");
	read_recipient(reader, tx);
	tx->value = read_word(reader, "value");
	tx->data = read_bytes(reader, "data");
	if (tx->type != EVM_TX_LEGACY)
		read_access_list(reader, tx);
	if (tx->type == EVM_TX_BLOB)
	{
		tx->max_fee_per_blob_gas = read_word(reader, "max fee per blob gas");
		tx->blob_hashes = read_hashes(reader, "versioned hash", &tx->blob_hash_count);
	}
	if (tx->type == EVM_TX_SET_CODE)
		read_authorizations(reader, tx);
}

static void
read_legacy_v(struct reader *reader, struct evm_tx *tx)
{
	const struct evm_word base = evm_word_from_u64(EVM_TX_V_EIP155);
	struct evm_word v = read_word(reader, "v");
	uint64_t plain;

	if (reader->status != EVM_OK)
		return;
	if (evm_word_to_u64(&plain, &v) && (plain == EVM_TX_V_PLAIN || plain == EVM_TX_V_PLAIN + 1))
	{
		tx->signature.y_parity = (uint8_t) (plain - EVM_TX_V_PLAIN);
		return;
	}
	tx->has_chain_id = true;
	if (evm_word_sub(&v, &v, &base))
		refuse(reader, EVM_ERR_MALFORMED, "v", "is neither 27, 28 nor of EIP-155");
	tx->signature.y_parity = (uint8_t) evm_word_div_u64(&v, &v, 2);
	if (!evm_word_to_u64(&tx->chain_id, &v))
		refuse(reader, EVM_ERR_RANGE, "v", "has a chain id beyond 64 bits");
}

static void
read_signature(struct reader *reader, struct evm_tx *tx)
{
	struct evm_word word;

	if (tx->type == EVM_TX_LEGACY)
		read_legacy_v(reader, tx);
	else
	{
		const uint64_t parity = read_u64(reader, "y parity");

		if (parity > 1)
			refuse(reader, EVM_ERR_MALFORMED, "y parity", "is neither 0 nor 1");
		tx->signature.y_parity = (uint8_t) parity;
	}
	word = read_word(reader, "r");
	evm_word_to_be(tx->signature.r, &word);
	word = read_word(reader, "s");
	evm_word_to_be(tx->signature.s, &word);
	if (reader->status == EVM_OK && !evm_signature_is_canonical(&tx->signature))
		refuse(reader, EVM_ERR_CRYPTO, "signature", "is out of range or has a high s");
}

/* Finds the type and the list of the fields. */
static enum evm_status
open_envelope(struct evm_tx *tx, struct evm_bytes *fields, const uint8_t *raw, size_t len,
			  struct evm_error *err)
{
	struct evm_rlp_item list;
	size_t skip = 0;

	if (len == 0)
		return evm_fail(err, EVM_ERR_TRUNCATED, 0, "transaction is empty");
	if (raw[0] < FIRST_LIST_BYTE)
	{
		if (raw[0] == EVM_TX_LEGACY || raw[0] > EVM_TX_SET_CODE)
			return evm_fail(err, EVM_ERR_MALFORMED, 0, "unknown transaction type 0x%02x", raw[0]);
		tx->type = (enum evm_tx_type) raw[0];
		skip = 1;
	}
	if (evm_rlp_whole(&list, true, raw + skip, len - skip, NULL) != EVM_OK)
		return evm_fail(err, EVM_ERR_MALFORMED, skip, "transaction is not one canonical RLP list");
	*fields = list.payload;
	return EVM_OK;
}

enum evm_status
evm_tx_decode(struct evm_arena *arena, struct evm_tx *out, const uint8_t *raw, size_t len,
			  struct evm_error *err)
{
	struct reader reader = {.arena = arena, .err = err, .status = EVM_OK};
	enum evm_status status;

	memset(out, 0, sizeof(*out));
	status = open_envelope(out, &reader.cursor, raw, len, err);
	if (status != EVM_OK)
		return status;
	read_fields(&reader, out);
	read_signature(&reader, out);
	expect_end(&reader, "list of fields");
	if (reader.status != EVM_OK)
		return reader.status;
	return evm_tx_check(out, err);
}
