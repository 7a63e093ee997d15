/*
 * vectors_relay.c
 *	  What nodes say to a signed transaction, in the words of their code, and what is made of it.
 */
#include "vectors.h"

#include <string.h>

#include "relay/classify.h"

static enum vector_result
check_refusal(struct evm_arena *arena, const struct evm_json *row, struct vector_note *note)
{
	const char *message = vector_text(row, "message");
	const char *want = vector_text(row, "class");
	const char *got;
	int64_t code;

	(void) arena;
	if (message == NULL || want == NULL ||
		!evm_json_integer(evm_json_object_get(row, "code"), &code))
		return vector_fail(note, "the row lacks code, message or class");
	if (strcmp(relay_class_name(relay_class_from_name(want)), want) != 0)
		return vector_fail(note, "there is no class %s", want);
	got = relay_class_name(relay_classify(code, message));
	if (strcmp(got, want) != 0)
		return vector_fail(note, "\"%s\" is taken for %s, not %s", message, got, want);
	return VECTOR_PASS;
}

static const struct vector_family relay_families[] = {
	{"node_refusals", check_refusal},
	{NULL, NULL},
};

VECTOR_FAMILIES(relay_families);
