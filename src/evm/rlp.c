/*
 * rlp.c
 *	  RLP: one buffer that grows in the arena for writing, borrowed slices for reading.
 *
 * The length of a list is known only when it is closed, so its payload is then
 * moved to make room for the prefix.  Lists are shallow, so a byte moves a few
 * times at most.
 */
#include "evm/rlp.h"

#include <string.h>

#include "evm/word.h"

/* Prefixes of appendix B: strings from 0x80, lists from 0xc0, 55 bytes at most in the prefix. */
#define STRING_PREFIX 0x80
#define LIST_PREFIX 0xc0
#define SHORT_LENGTH_MAX 55

/* The prefix byte and the bytes of a length. */
#define PREFIX_BYTES_MAX (1 + sizeof(uint64_t))

/* Room for a typical transaction. */
#define FIRST_CAPACITY 256

/* ---- writing ------------------------------------------------------------ */

void
evm_rlp_init(struct evm_rlp_writer *writer, struct evm_arena *arena)
{
	memset(writer, 0, sizeof(*writer));
	writer->arena = arena;
}

/* Makes room for more bytes; false when it failed, now or before. */
static bool
reserve(struct evm_rlp_writer *writer, size_t more)
{
	size_t capacity = writer->capacity == 0 ? FIRST_CAPACITY : writer->capacity;
	uint8_t *data;

	if (writer->status != EVM_OK)
		return false;
	if (more <= writer->capacity - writer->len)
		return true;
	while (capacity - writer->len < more)
	{
		if (capacity > SIZE_MAX / 2)
		{
			writer->status = EVM_ERR_MEMORY;
			return false;
		}
		capacity *= 2;
	}
	data = evm_arena_alloc(writer->arena, capacity);
	if (data == NULL)
	{
		writer->status = EVM_ERR_MEMORY;
		return false;
	}
	if (writer->len > 0)
		memcpy(data, writer->data, writer->len);
	writer->data = data;
	writer->capacity = capacity;
	return true;
}

void
evm_rlp_raw(struct evm_rlp_writer *writer, const uint8_t *encoded, size_t len)
{
	if (!reserve(writer, len) || len == 0)
		return;
	memcpy(writer->data + writer->len, encoded, len);
	writer->len += len;
}

/* The prefix of len bytes of payload; returns its size. */
static size_t
make_prefix(uint8_t out[PREFIX_BYTES_MAX], uint8_t kind, size_t len)
{
	size_t size = 0;

	if (len <= SHORT_LENGTH_MAX)
	{
		out[0] = (uint8_t) (kind + len);
		return 1;
	}
	for (size_t rest = len; rest != 0; rest >>= 8)
		size++;
	out[0] = (uint8_t) (kind + SHORT_LENGTH_MAX + size);
	for (size_t i = 0; i < size; i++)
		out[size - i] = (uint8_t) (len >> (8 * i));
	return 1 + size;
}

void
evm_rlp_bytes(struct evm_rlp_writer *writer, const uint8_t *data, size_t len)
{
	uint8_t prefix[PREFIX_BYTES_MAX];

	if (len != 1 || data[0] >= STRING_PREFIX)
	{
		size_t prefix_len = make_prefix(prefix, STRING_PREFIX, len);

		evm_rlp_raw(writer, prefix, prefix_len);
	}
	evm_rlp_raw(writer, data, len);
}

void
evm_rlp_word(struct evm_rlp_writer *writer, const struct evm_word *value)
{
	uint8_t bytes[32];
	size_t len = (evm_word_bits(value) + 7) / 8;

	evm_word_to_be(bytes, value);
	evm_rlp_bytes(writer, bytes + sizeof(bytes) - len, len);
}

void
evm_rlp_u64(struct evm_rlp_writer *writer, uint64_t value)
{
	struct evm_word word = evm_word_from_u64(value);

	evm_rlp_word(writer, &word);
}

void
evm_rlp_open_list(struct evm_rlp_writer *writer)
{
	if (writer->status != EVM_OK)
		return;
	if (writer->depth == EVM_RLP_MAX_DEPTH)
	{
		writer->status = EVM_ERR_LIMIT;
		return;
	}
	writer->list_start[writer->depth++] = writer->len;
}

void
evm_rlp_close_list(struct evm_rlp_writer *writer)
{
	uint8_t prefix[PREFIX_BYTES_MAX];
	size_t prefix_len;
	size_t start;
	size_t len;

	if (writer->status != EVM_OK)
		return;
	if (writer->depth == 0)
	{
		writer->status = EVM_ERR_MALFORMED;
		return;
	}
	start = writer->list_start[--writer->depth];
	len = writer->len - start;
	prefix_len = make_prefix(prefix, LIST_PREFIX, len);
	if (!reserve(writer, prefix_len))
		return;
	memmove(writer->data + start + prefix_len, writer->data + start, len);
	memcpy(writer->data + start, prefix, prefix_len);
	writer->len += prefix_len;
}

enum evm_status
evm_rlp_finish(struct evm_rlp_writer *writer, struct evm_bytes *out)
{
	out->data = NULL;
	out->len = 0;
	if (writer->status != EVM_OK)
		return writer->status;
	if (writer->depth != 0)
		return EVM_ERR_MALFORMED;
	out->data = writer->data;
	out->len = writer->len;
	return EVM_OK;
}

/* ---- reading ------------------------------------------------------------ */

/* A length of size bytes behind the prefix byte; it must need all of them, and the long form. */
static enum evm_status
read_long_length(uint64_t *out, const struct evm_bytes *input, size_t size, struct evm_error *err)
{
	uint64_t length = 0;

	*out = 0;
	if (input->len - 1 < size)
		return evm_fail(err, EVM_ERR_TRUNCATED, 0, "RLP data ends inside a length");
	for (size_t i = 0; i < size; i++)
		length = length << 8 | input->data[1 + i];
	if (input->data[1] == 0 || length <= SHORT_LENGTH_MAX)
		return evm_fail(err, EVM_ERR_MALFORMED, 1, "an RLP length is not minimal");
	*out = length;
	return EVM_OK;
}

enum evm_status
evm_rlp_next(struct evm_rlp_item *out, struct evm_bytes *cursor, struct evm_error *err)
{
	uint8_t first;
	uint8_t kind;
	size_t header = 1;
	uint64_t length;

	memset(out, 0, sizeof(*out));
	if (cursor->len == 0)
		return evm_fail(err, EVM_ERR_TRUNCATED, 0, "RLP data ends where an item should begin");
	first = cursor->data[0];
	out->is_list = first >= LIST_PREFIX;
	kind = out->is_list ? LIST_PREFIX : STRING_PREFIX;
	if (first < STRING_PREFIX)
	{
		/* A byte that stands for itself. */
		header = 0;
		length = 1;
	}
	else if (first - kind <= SHORT_LENGTH_MAX)
		length = (uint64_t) (first - kind);
	else
	{
		size_t size = (size_t) (first - kind - SHORT_LENGTH_MAX);
		enum evm_status status = read_long_length(&length, cursor, size, err);

		if (status != EVM_OK)
			return status;
		header += size;
	}
	if (length > cursor->len - header)
		return evm_fail(err, EVM_ERR_TRUNCATED, 0,
						"an RLP item of %llu bytes has only %zu bytes of data",
						(unsigned long long) length, cursor->len - header);
	if (header == 1 && length == 1 && !out->is_list && cursor->data[1] < STRING_PREFIX)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "an RLP byte below 0x80 has a prefix");
	out->payload.data = cursor->data + header;
	out->payload.len = (size_t) length;
	cursor->data += header + length;
	cursor->len -= header + length;
	return EVM_OK;
}

enum evm_status
evm_rlp_whole(struct evm_rlp_item *out, bool want_list, const uint8_t *data, size_t len,
			  struct evm_error *err)
{
	struct evm_bytes cursor = {data, len};
	enum evm_status status = evm_rlp_next(out, &cursor, err);

	if (status != EVM_OK)
		return status;
	if (cursor.len != 0)
		return evm_fail(err, EVM_ERR_MALFORMED, len - cursor.len, "%zu bytes follow the RLP item",
						cursor.len);
	if (out->is_list != want_list)
		return evm_fail(err, EVM_ERR_TYPE, 0, "RLP has a %s where a %s is wanted",
						out->is_list ? "list" : "string", want_list ? "list" : "string");
	return EVM_OK;
}

static enum evm_status
validate_items(const struct evm_bytes *items, const uint8_t *origin, unsigned depth,
			   struct evm_error *err)
{
	struct evm_bytes cursor = *items;

	while (cursor.len > 0)
	{
		size_t position = (size_t) (cursor.data - origin);
		struct evm_rlp_item item;
		enum evm_status status = evm_rlp_next(&item, &cursor, err);

		if (status != EVM_OK)
		{
			if (err != NULL)
				err->position += position;
			return status;
		}
		if (!item.is_list)
			continue;
		if (depth == EVM_RLP_MAX_DEPTH)
			return evm_fail(err, EVM_ERR_LIMIT, position,
							"RLP lists are nested deeper than %d levels", EVM_RLP_MAX_DEPTH);
		status = validate_items(&item.payload, origin, depth + 1, err);
		if (status != EVM_OK)
			return status;
	}
	return EVM_OK;
}

enum evm_status
evm_rlp_validate(const uint8_t *data, size_t len, struct evm_error *err)
{
	struct evm_bytes cursor = {data, len};
	struct evm_rlp_item item;
	enum evm_status status = evm_rlp_next(&item, &cursor, err);

	if (status != EVM_OK)
		return status;
	if (cursor.len != 0)
		return evm_fail(err, EVM_ERR_MALFORMED, len - cursor.len, "%zu bytes follow the RLP item",
						cursor.len);
	return item.is_list ? validate_items(&item.payload, data, 1, err) : EVM_OK;
}

enum evm_status
evm_rlp_item_word(struct evm_word *out, const struct evm_rlp_item *item, struct evm_error *err)
{
	const struct evm_bytes *payload = &item->payload;

	*out = evm_word_zero;
	if (item->is_list)
		return evm_fail(err, EVM_ERR_TYPE, 0, "RLP has a list where an integer is wanted");
	if (payload->len > 0 && payload->data[0] == 0)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "an RLP integer has leading zeros");
	if (payload->len > 32)
		return evm_fail(err, EVM_ERR_RANGE, 0,
						"an RLP integer of %zu bytes needs more than 256 bits", payload->len);
	evm_word_from_be(out, payload->data, payload->len);
	return EVM_OK;
}

enum evm_status
evm_rlp_item_u64(uint64_t *out, const struct evm_rlp_item *item, struct evm_error *err)
{
	struct evm_word word;
	enum evm_status status;

	*out = 0;
	status = evm_rlp_item_word(&word, item, err);
	if (status != EVM_OK)
		return status;
	if (!evm_word_to_u64(out, &word))
		return evm_fail(err, EVM_ERR_RANGE, 0, "an RLP integer needs more than 64 bits");
	return EVM_OK;
}
