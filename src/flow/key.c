/*
 * key.c
 *	  Occurrence keys: what makes two events the same event, whatever block they are found in.
 */
#include "postgres.h"

#include "evm/keccak.h"
#include "flow/claim.h"

/*
 * Integers are hashed as 8 big-endian bytes, texts behind their length: no two field lists read
 * alike.
 */
static void
add_number(struct evm_keccak *hash, uint64 number)
{
	uint8 bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = number >> (56 - 8 * i);
	evm_keccak_update(hash, bytes, sizeof(bytes));
}

static void
add_text(struct evm_keccak *hash, const char *text)
{
	add_number(hash, strlen(text));
	evm_keccak_update(hash, text, strlen(text));
}

static void
finish(uint8 out[32], struct evm_keccak *hash)
{
	struct evm_hash result;

	evm_keccak_final(&result, hash);
	memcpy(out, result.b, sizeof(result.b));
}

void
flow_log_key(uint8 out[32], const struct flow_log_identity *log)
{
	struct evm_keccak hash;
	struct evm_hash data;

	evm_keccak256(&data, log->data.data, log->data.len);
	evm_keccak_init(&hash);
	add_text(&hash, "log");
	add_text(&hash, log->workflow);
	add_number(&hash, log->chain_id);
	evm_keccak_update(&hash, log->genesis_hash.b, sizeof(log->genesis_hash.b));
	evm_keccak_update(&hash, log->transaction_hash.b, sizeof(log->transaction_hash.b));
	evm_keccak_update(&hash, log->address.b, sizeof(log->address.b));
	add_number(&hash, log->topic_count);
	for (int i = 0; i < log->topic_count; i++)
		evm_keccak_update(&hash, log->topics[i].b, sizeof(log->topics[i].b));
	evm_keccak_update(&hash, data.b, sizeof(data.b));
	add_number(&hash, log->ordinal);
	finish(out, &hash);
}

void
flow_once_per_key(uint8 out[32], const char *workflow, int64 chain_id, const char *value)
{
	struct evm_keccak hash;

	evm_keccak_init(&hash);
	add_text(&hash, "once_per");
	add_text(&hash, workflow);
	add_number(&hash, chain_id);
	add_text(&hash, value);
	finish(out, &hash);
}

void
flow_start_key(uint8 out[32], const char *workflow, const char *key)
{
	struct evm_keccak hash;

	evm_keccak_init(&hash);
	add_text(&hash, "start");
	add_text(&hash, workflow);
	add_text(&hash, key);
	finish(out, &hash);
}
