/*
 * fuzz_rlp.c
 *	  RLP is canonical: what the reader accepts is what the writer writes.
 */
#include "fuzz.h"

#include <string.h>

#include "evm/rlp.h"

static void
copy_items(struct evm_rlp_writer *writer, struct evm_bytes items)
{
	while (items.len > 0)
	{
		struct evm_rlp_item item;
		struct evm_word word;

		FUZZ_CHECK(evm_rlp_next(&item, &items, NULL) == EVM_OK);
		if (item.is_list)
		{
			evm_rlp_open_list(writer);
			copy_items(writer, item.payload);
			evm_rlp_close_list(writer);
		}
		else if (evm_rlp_item_word(&word, &item, NULL) == EVM_OK)
			evm_rlp_word(writer, &word);
		else
			evm_rlp_bytes(writer, item.payload.data, item.payload.len);
	}
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	struct evm_bytes whole = {data, len};
	struct evm_bytes written;
	struct evm_rlp_writer writer;
	struct evm_rlp_item item;
	struct evm_error err;
	enum evm_status status = evm_rlp_validate(data, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		FUZZ_CHECK(err.position <= len);
		return;
	}
	FUZZ_CHECK((evm_rlp_whole(&item, true, data, len, NULL) == EVM_OK) !=
			   (evm_rlp_whole(&item, false, data, len, NULL) == EVM_OK));
	evm_rlp_init(&writer, arena);
	copy_items(&writer, whole);
	status = evm_rlp_finish(&writer, &written);
	if (status == EVM_ERR_MEMORY)
		return;
	FUZZ_CHECK(status == EVM_OK);
	FUZZ_CHECK(written.len == len && memcmp(written.data, data, len) == 0);
}
