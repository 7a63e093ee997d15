/*
 * formats.c
 *	  What src/evm does in a second of processor time, beside the C libraries that it is built on.
 *
 *	formats DATA SECONDS: a line of JSON for each operation, as libraries.mjs.
 *
 * Logs begin as the hexadecimal text that a node sends, for us as for the JavaScript libraries.
 * OpenSSL's SHA3-256 is the same permutation as Keccak-256; a bare call of libsecp256k1 is
 * the floor of a signature.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/evp.h>
#include <secp256k1.h>
#include <secp256k1_recovery.h>

#include "evm/abi.h"
#include "evm/address.h"
#include "evm/hex.h"
#include "evm/json.h"
#include "evm/keccak.h"
#include "evm/secp.h"
#include "evm/word.h"

#define DATA_ARENA_BYTES ((size_t) 1024 * 1024 * 1024)
#define OPERATION_ARENA_BYTES ((size_t) 16 * 1024 * 1024)
#define TOPICS_MAX 4
#define SIGNATURE_BYTES 65
#define WORD_BYTES 32
#define CHECK_TEXT_BYTES 256

/* ---- what is read once --------------------------------------------------- */

struct hex_text
{
	const char *text;
	size_t len;
};

struct hex_log
{
	struct hex_text topics[TOPICS_MAX];
	size_t topic_count;
	struct hex_text data;
};

static struct evm_arena *arena; /* of the data */
static struct evm_arena *work;  /* of one operation */
static const struct evm_json *root;
static double seconds;

static void
die(const char *what)
{
	fprintf(stderr, "formats: %s\n", what);
	exit(1);
}

static void *
keep(size_t count, size_t size)
{
	void *memory = evm_arena_zalloc(arena, count, size);

	if (memory == NULL)
		die("out of memory");
	return memory;
}

static struct hex_text
text_of(const struct evm_json *node)
{
	struct hex_text out;

	out.text = evm_json_string(node, &out.len);
	if (out.text == NULL)
		die("the data lacks a text");
	return out;
}

static struct evm_bytes
bytes_of(const struct evm_json *node)
{
	const struct hex_text hex = text_of(node);
	struct evm_bytes out = {keep(hex.len / 2, 1), 0};

	if (evm_hex_decode((uint8_t *) out.data, &out.len, hex.text, hex.len, NULL) != EVM_OK)
		die("the data has bytes that are not hexadecimal");
	return out;
}

static struct evm_word
word_of(const struct evm_json *node)
{
	size_t len;
	const char *text = evm_json_string(node, &len);
	struct evm_word word;
	bool negative;

	if (text == NULL)
	{
		if (!evm_json_word(node, &word, &negative))
			die("the data lacks an integer");
	}
	else if (evm_word_from_decimal(&word, &negative, text, len, NULL) != EVM_OK)
		die("the data has an integer that is none");
	return word;
}

static const struct evm_json *
list_of(const char *name, size_t *count)
{
	const struct evm_json *list = evm_json_object_get(root, name);

	*count = evm_json_array_size(list);
	if (*count == 0)
		die(name);
	return list;
}

static struct hex_log *
logs_of(const char *name, size_t *count)
{
	const struct evm_json *list = list_of(name, count);
	struct hex_log *logs = keep(*count, sizeof(*logs));

	for (size_t i = 0; i < *count; i++)
	{
		const struct evm_json *log = evm_json_array_get(list, i);
		const struct evm_json *topics = evm_json_object_get(log, "topics");

		logs[i].topic_count = evm_json_array_size(topics);
		for (size_t k = 0; k < logs[i].topic_count; k++)
			logs[i].topics[k] = text_of(evm_json_array_get(topics, k));
		logs[i].data = text_of(evm_json_object_get(log, "data"));
	}
	return logs;
}

static const struct evm_abi_item *
item_of(const char *fragment)
{
	const struct evm_bytes text = {(const uint8_t *) fragment, strlen(fragment)};
	struct evm_abi abi;

	if (evm_abi_parse_fragments(arena, &abi, &text, 1, NULL, NULL) != EVM_OK)
		die(fragment);
	return &abi.items[0];
}

/* ---- measuring ----------------------------------------------------------- */

static double
cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* What an operation made of all of its data: an integer and a count, or bytes that are hashed. */
struct outcome
{
	struct evm_word sum;
	size_t count;
	struct evm_keccak keccak;
	char text[CHECK_TEXT_BYTES];
};

struct operation
{
	const char *implementation;
	const char *name;
	size_t count;
	const void *data;
	const struct evm_abi_item *item;
	/* Does item i; notes what came of it when outcome is not NULL. */
	void (*run)(const struct operation *operation, size_t i, struct outcome *outcome);
	void (*finish)(struct outcome *outcome);
};

static double
spend(const struct operation *operation)
{
	const double start = cpu_seconds();
	double spent;
	size_t done = 0;

	do
	{
		for (size_t i = 0; i < operation->count; i++)
			operation->run(operation, i, NULL);
		done += operation->count;
		spent = cpu_seconds() - start;
	} while (spent < seconds);
	return (double) done / spent;
}

static void
measure(const struct operation *operation)
{
	struct outcome outcome = {.text = ""};
	double ops;

	evm_keccak_init(&outcome.keccak);
	for (size_t i = 0; i < operation->count; i++)
		operation->run(operation, i, &outcome);
	operation->finish(&outcome);
	(void) spend(operation);
	ops = spend(operation);
	printf("{\"implementation\":\"%s\",\"operation\":\"%s\",\"ops\":%.1f,\"check\":\"%s\"}\n",
		   operation->implementation, operation->name, ops, outcome.text);
	fflush(stdout);
}

static void
finish_sum(struct outcome *outcome)
{
	evm_word_to_decimal(outcome->text, &outcome->sum, false);
}

static void
finish_sum_and_count(struct outcome *outcome)
{
	char digits[EVM_WORD_DECIMAL_BYTES];

	evm_word_to_decimal(digits, &outcome->sum, false);
	snprintf(outcome->text, sizeof(outcome->text), "%s %zu", digits, outcome->count);
}

static void
finish_hash(struct outcome *outcome)
{
	struct evm_hash hash;

	evm_keccak_final(&hash, &outcome->keccak);
	memcpy(outcome->text, "0x", 2);
	evm_hex_digits(outcome->text + 2, hash.b, sizeof(hash.b));
	outcome->text[2 + 2 * sizeof(hash.b)] = '\0';
}

static void
note_bytes(struct outcome *outcome, const void *data, size_t len)
{
	if (outcome != NULL)
		evm_keccak_update(&outcome->keccak, data, len);
}

/* ---- logs ---------------------------------------------------------------- */

static struct evm_abi_value *
decode(const struct operation *operation, size_t i)
{
	const struct hex_log *log = (const struct hex_log *) operation->data + i;
	struct evm_hash topics[TOPICS_MAX];
	struct evm_abi_value *values;
	uint8_t *data;
	size_t len;

	evm_arena_reset(work);
	for (size_t k = 0; k < log->topic_count; k++)
		if (evm_hex_decode(topics[k].b, &len, log->topics[k].text, log->topics[k].len, NULL) !=
			EVM_OK)
			die("a topic is not hexadecimal");
	data = evm_arena_alloc(work, log->data.len / 2 + 1);
	if (evm_hex_decode(data, &len, log->data.text, log->data.len, NULL) != EVM_OK ||
		evm_abi_decode_log(work, &values, operation->item, topics, log->topic_count, data, len,
						   NULL) != EVM_OK)
		die("a log does not decode");
	return values;
}

static void
decode_transfer(const struct operation *operation, size_t i, struct outcome *outcome)
{
	const struct evm_abi_value *values = decode(operation, i);

	if (outcome != NULL)
		(void) evm_word_add(&outcome->sum, &outcome->sum, &values[2].word);
}

static void
decode_nested(const struct operation *operation, size_t i, struct outcome *outcome)
{
	const struct evm_abi_value *values = decode(operation, i);

	if (outcome == NULL)
		return;
	for (size_t k = 0; k < values[2].item_count; k++)
	{
		const struct evm_abi_value *item = values[2].items[k].items;

		(void) evm_word_add(&outcome->sum, &outcome->sum, &item[1].word);
		for (size_t leg = 0; leg < item[2].item_count; leg++)
			outcome->count += item[2].items[leg].items[1].bytes.len;
	}
}

/* ---- calls --------------------------------------------------------------- */

static void
encode(const struct operation *operation, size_t i, struct outcome *outcome)
{
	struct evm_abi_value *const *calls = operation->data;
	struct evm_bytes out;

	evm_arena_reset(work);
	if (evm_abi_encode_call(work, &out, operation->item, calls[i], operation->item->input_count,
							NULL) != EVM_OK)
		die("a call does not encode");
	note_bytes(outcome, out.data, out.len);
}

/* The members of an object as values, in the order of the parameters. */
static struct evm_abi_value *
values_of(const struct evm_json *node, const struct evm_abi_param *params, size_t count)
{
	struct evm_abi_value *values = keep(count, sizeof(*values));

	for (size_t i = 0; i < count; i++)
	{
		const struct evm_json *member = evm_json_object_get(node, params[i].name);

		if (params[i].type->kind == EVM_ABI_ADDRESS)
			values[i].bytes = bytes_of(member);
		else
			values[i].word = word_of(member);
	}
	return values;
}

/* Arguments of calls: the members of each object, or one tuple of them. */
static struct evm_abi_value **
calls_of(const char *name, const struct evm_abi_item *item, size_t *count)
{
	const struct evm_json *list = list_of(name, count);
	const struct evm_abi_type *first = item->inputs[0].type;
	struct evm_abi_value **calls = keep(*count, sizeof(*calls));

	for (size_t i = 0; i < *count; i++)
	{
		const struct evm_json *node = evm_json_array_get(list, i);

		if (first->kind != EVM_ABI_TUPLE)
		{
			calls[i] = values_of(node, item->inputs, item->input_count);
			continue;
		}
		calls[i] = keep(1, sizeof(**calls));
		calls[i]->items = values_of(node, first->components, first->component_count);
		calls[i]->item_count = first->component_count;
	}
	return calls;
}

/* ---- hashes -------------------------------------------------------------- */

static void
keccak(const struct operation *operation, size_t i, struct outcome *outcome)
{
	const struct evm_bytes *message = (const struct evm_bytes *) operation->data + i;
	struct evm_hash hash;

	evm_keccak256(&hash, message->data, message->len);
	note_bytes(outcome, hash.b, sizeof(hash.b));
}

static void
sha3(const struct operation *operation, size_t i, struct outcome *outcome)
{
	static EVP_MD *method;
	static EVP_MD_CTX *context;
	const struct evm_bytes *message = (const struct evm_bytes *) operation->data + i;
	struct evm_hash hash;
	unsigned len;

	if (method == NULL)
	{
		method = EVP_MD_fetch(NULL, "SHA3-256", NULL);
		context = EVP_MD_CTX_new();
	}
	if (EVP_DigestInit_ex2(context, method, NULL) != 1 ||
		EVP_DigestUpdate(context, message->data, message->len) != 1 ||
		EVP_DigestFinal_ex(context, hash.b, &len) != 1)
		die("SHA3-256 cannot be computed");
	note_bytes(outcome, hash.b, sizeof(hash.b));
}

static void
measure_hashes(const char *length, const struct evm_json *list)
{
	char name[32];
	const size_t count = evm_json_array_size(list);
	struct evm_bytes *messages = keep(count, sizeof(*messages));
	struct operation operation = {.implementation = "rflow",
								  .name = name,
								  .count = count,
								  .data = messages,
								  .run = keccak,
								  .finish = finish_hash};

	snprintf(name, sizeof(name), "keccak_%s", length);
	for (size_t i = 0; i < count; i++)
		messages[i] = bytes_of(evm_json_array_get(list, i));
	measure(&operation);
	operation.implementation = "openssl";
	operation.run = sha3;
	measure(&operation);
}

static bool
measure_length(void *context, const char *name, const struct evm_json *value)
{
	(void) context;
	measure_hashes(name, value);
	return true;
}

/* ---- signatures ---------------------------------------------------------- */

static struct evm_key signing_key;

static void
sign_ours(const struct operation *operation, size_t i, struct outcome *outcome)
{
	struct evm_signature signature;

	if (evm_sign_hash(&signature, &signing_key, (const struct evm_hash *) operation->data + i) !=
		EVM_OK)
		die("a hash cannot be signed");
	note_bytes(outcome, &signature, SIGNATURE_BYTES);
}

static secp256k1_context *
bare_context(void)
{
	static secp256k1_context *context;
	static const uint8_t seed[32] = {1};

	if (context == NULL)
	{
		context = secp256k1_context_create(SECP256K1_CONTEXT_SIGN | SECP256K1_CONTEXT_VERIFY);
		if (secp256k1_context_randomize(context, seed) != 1)
			die("no context");
	}
	return context;
}

static void
sign_bare(const struct operation *operation, size_t i, struct outcome *outcome)
{
	secp256k1_ecdsa_recoverable_signature signature;
	uint8_t bytes[SIGNATURE_BYTES];
	int parity;

	if (secp256k1_ecdsa_sign_recoverable(bare_context(), &signature,
										 ((const struct evm_hash *) operation->data)[i].b,
										 signing_key.secret, NULL, NULL) != 1)
		die("a hash cannot be signed");
	if (outcome == NULL)
		return;
	secp256k1_ecdsa_recoverable_signature_serialize_compact(bare_context(), bytes, &parity,
															&signature);
	bytes[SIGNATURE_BYTES - 1] = (uint8_t) parity;
	note_bytes(outcome, bytes, sizeof(bytes));
}

static void
recover_ours(const struct operation *operation, size_t i, struct outcome *outcome)
{
	const struct evm_hash *hash = (const struct evm_hash *) operation->data + i;
	static struct evm_signature *signatures;
	struct evm_address address;

	if (signatures == NULL)
	{
		signatures = keep(operation->count, sizeof(*signatures));
		for (size_t k = 0; k < operation->count; k++)
			(void) evm_sign_hash(&signatures[k], &signing_key,
								 (const struct evm_hash *) operation->data + k);
	}
	if (evm_recover(&address, hash, &signatures[i]) != EVM_OK)
		die("a signature recovers nobody");
	note_bytes(outcome, address.b, sizeof(address.b));
}

static void
measure_signatures(void)
{
	size_t count;
	const struct evm_json *list = list_of("hashes", &count);
	struct evm_hash *hashes = keep(count, sizeof(*hashes));
	struct operation operation = {.implementation = "rflow",
								  .name = "sign",
								  .count = count,
								  .data = hashes,
								  .run = sign_ours,
								  .finish = finish_hash};

	memcpy(signing_key.secret, bytes_of(evm_json_object_get(root, "key")).data, WORD_BYTES);
	for (size_t i = 0; i < count; i++)
		memcpy(hashes[i].b, bytes_of(evm_json_array_get(list, i)).data, WORD_BYTES);
	measure(&operation);
	operation.implementation = "libsecp256k1";
	operation.run = sign_bare;
	measure(&operation);
	operation.implementation = "rflow";
	operation.name = "recover";
	operation.run = recover_ours;
	measure(&operation);
}

/* ---- all ----------------------------------------------------------------- */

static const char transfer_event[] =
	"event Transfer(address indexed from, address indexed to, uint256 value)";
static const char nested_event[] =
	"event Order(bytes32 indexed id, address indexed maker, (address token, uint256 amount, "
	"(uint8 kind, bytes data)[] legs)[] items, string note)";
static const char transfer_function[] =
	"function transfer(address to, uint256 amount) returns (bool)";
static const char swap_function[] =
	"function exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, "
	"uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) "
	"params) payable returns (uint256 amountOut)";

static void
measure_abi(void)
{
	struct operation operation = {.implementation = "rflow"};

	operation.name = "decode_transfer";
	operation.item = item_of(transfer_event);
	operation.data = logs_of("transfers", &operation.count);
	operation.run = decode_transfer;
	operation.finish = finish_sum;
	measure(&operation);
	operation.name = "decode_nested";
	operation.item = item_of(nested_event);
	operation.data = logs_of("nested", &operation.count);
	operation.run = decode_nested;
	operation.finish = finish_sum_and_count;
	measure(&operation);
	operation.name = "encode_transfer";
	operation.item = item_of(transfer_function);
	operation.data = calls_of("calls", operation.item, &operation.count);
	operation.run = encode;
	operation.finish = finish_hash;
	measure(&operation);
	operation.name = "encode_swap";
	operation.item = item_of(swap_function);
	operation.data = calls_of("swaps", operation.item, &operation.count);
	measure(&operation);
}

static char *
read_file(const char *name, size_t *len)
{
	FILE *file = fopen(name, "rb");
	char *text;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		die(name);
	*len = (size_t) ftell(file);
	rewind(file);
	text = malloc(*len + 1);
	if (text == NULL || fread(text, 1, *len, file) != *len)
		die(name);
	fclose(file);
	return text;
}

int
main(int argc, char **argv)
{
	size_t len;
	char *text;

	if (argc != 3)
		die("usage: formats DATA SECONDS");
	seconds = atof(argv[2]);
	arena = evm_arena_create(&evm_malloc_allocator, DATA_ARENA_BYTES);
	work = evm_arena_create(&evm_malloc_allocator, OPERATION_ARENA_BYTES);
	text = read_file(argv[1], &len);
	if (arena == NULL || work == NULL || evm_json_parse(arena, &root, text, len, NULL) != EVM_OK)
		die("the data cannot be read");
	measure_abi();
	evm_json_object_each(evm_json_object_get(root, "messages"), measure_length, NULL);
	measure_signatures();
	return 0;
}
