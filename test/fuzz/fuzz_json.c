/*
 * fuzz_json.c
 *	  JSON: we accept what jansson accepts, and long integers beside, and lose nothing.
 *
 * The tree is compared with the one that jansson makes by itself.  jansson's
 * json_object() may not be called in the extension; here it is not either.
 */
#include "fuzz.h"

#include <jansson.h>
#include <string.h>

#include "evm/json.h"
#include "evm/word.h"

static void check_same(const struct evm_json *node, json_t *reference);

struct members
{
	json_t *reference;
	void *next;
};

static bool
check_member(void *context, const char *name, const struct evm_json *value)
{
	struct members *members = context;

	FUZZ_CHECK(members->next != NULL);
	FUZZ_CHECK(strcmp(name, json_object_iter_key(members->next)) == 0);
	check_same(value, json_object_iter_value(members->next));
	members->next = json_object_iter_next(members->reference, members->next);
	return true;
}

static void
check_integer(const struct evm_json *node, json_int_t reference)
{
	struct evm_word word;
	bool negative;
	int64_t small;

	FUZZ_CHECK(evm_json_integer(node, &small) && small == reference);
	FUZZ_CHECK(evm_json_word(node, &word, &negative));
	FUZZ_CHECK(negative == (small < 0) && word.limb[0] == (uint64_t) small);
}

static void
check_string(const struct evm_json *node, const json_t *reference)
{
	size_t len;
	const char *text = evm_json_string(node, &len);

	FUZZ_CHECK(text != NULL && len == json_string_length(reference));
	FUZZ_CHECK(memcmp(text, json_string_value(reference), len) == 0);
}

static void
check_same(const struct evm_json *node, json_t *reference)
{
	struct members members = {reference, NULL};

	switch (evm_json_kind(node))
	{
		case EVM_JSON_OBJECT:
			FUZZ_CHECK(evm_json_object_size(node) == json_object_size(reference));
			members.next = json_object_iter(reference);
			evm_json_object_each(node, check_member, &members);
			FUZZ_CHECK(members.next == NULL);
			break;
		case EVM_JSON_ARRAY:
			FUZZ_CHECK(evm_json_array_size(node) == json_array_size(reference));
			for (size_t i = 0; i < json_array_size(reference); i++)
				check_same(evm_json_array_get(node, i), json_array_get(reference, i));
			break;
		case EVM_JSON_STRING:
			FUZZ_CHECK(json_is_string(reference));
			check_string(node, reference);
			break;
		case EVM_JSON_INTEGER:
			FUZZ_CHECK(json_is_integer(reference));
			check_integer(node, json_integer_value(reference));
			break;
		case EVM_JSON_REAL:
			FUZZ_CHECK(json_is_real(reference));
			break;
		case EVM_JSON_TRUE:
			FUZZ_CHECK(json_is_true(reference) && evm_json_is_true(node));
			break;
		case EVM_JSON_FALSE:
			FUZZ_CHECK(json_is_false(reference));
			break;
		case EVM_JSON_NULL:
			FUZZ_CHECK(json_is_null(reference));
			break;
	}
}

void
fuzz_one(struct evm_arena *arena, const uint8_t *data, size_t len)
{
	const struct evm_json *root;
	struct evm_error err;
	json_error_t error;
	json_t *reference;
	enum evm_status status = evm_json_parse(arena, &root, (const char *) data, len, &err);

	if (status != EVM_OK)
	{
		fuzz_check_failure(status, &err);
		FUZZ_CHECK(root == NULL && err.position <= len);
	}
	/* jansson takes some texts with a NUL. */
	if (len > 0 && memchr(data, 0, len) != NULL)
	{
		FUZZ_CHECK(status == EVM_ERR_SYNTAX);
		return;
	}
	reference = json_loadb((const char *) data, len,
						   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (reference == NULL)
	{
		/* A number that jansson cannot hold ends its parse; ours may go on, to any end. */
		FUZZ_CHECK(status != EVM_OK || json_error_code(&error) == json_error_numeric_overflow);
		return;
	}
	if (status == EVM_OK)
		check_same(root, reference);
	else
		FUZZ_CHECK(status == EVM_ERR_LIMIT || status == EVM_ERR_MEMORY);
	json_decref(reference);
}
