/*
 * abi_event.c
 *	  Logs to the values of an event.
 *
 * topic0 and the number of topics choose the event: contracts differ in what
 * they index of the same signature (ERC-20 and ERC-721 Transfer).
 */
#include "evm/abi_internal.h"

#include <string.h>

/* Topics in front of the indexed arguments. */
static size_t
first_indexed_topic(const struct evm_abi_item *event)
{
	return event->anonymous ? 0 : 1;
}

static size_t
wanted_topics(const struct evm_abi_item *event)
{
	return first_indexed_topic(event) + evm_abi_indexed_count(event);
}

static bool
is_topic0(const struct evm_abi_item *event, const struct evm_hash *topics, size_t topic_count)
{
	return topic_count > 0 && memcmp(topics[0].b, event->hash.b, sizeof(event->hash.b)) == 0;
}

static enum evm_status
check_topics(const struct evm_abi_item *event, const struct evm_hash *topics, size_t topic_count,
			 struct evm_error *err)
{
	int shown = evm_abi_shown(strlen(event->signature));

	if (!event->anonymous && !is_topic0(event, topics, topic_count))
		return evm_fail(err, EVM_ERR_MISMATCH, 0, "the log is not one of %.*s: another topic0",
						shown, event->signature);
	if (topic_count != wanted_topics(event))
		return evm_fail(err, EVM_ERR_MISMATCH, 0,
						"the log has %zu topics, and %.*s with its indexed arguments has %zu",
						topic_count, shown, event->signature, wanted_topics(event));
	return EVM_OK;
}

static enum evm_status
decode_topic(struct evm_abi_decoder *decoder, struct evm_abi_value *out,
			 const struct evm_abi_type *type, const struct evm_hash *topic)
{
	if (!evm_abi_is_reference(type))
		return evm_abi_decode_word(decoder, out, type, topic->b, 0);
	memset(out, 0, sizeof(*out));
	out->hashed = true;
	out->bytes.data = topic->b;
	out->bytes.len = sizeof(topic->b);
	return EVM_OK;
}

static enum evm_status
decode_topics(struct evm_abi_decoder *decoder, struct evm_abi_value *values,
			  const struct evm_abi_item *event, const struct evm_hash *topics)
{
	size_t topic = first_indexed_topic(event);
	enum evm_status status = EVM_OK;

	decoder->path.depth = 1;
	for (size_t i = 0; i < event->input_count && status == EVM_OK; i++)
	{
		const struct evm_abi_param *param = &event->inputs[i];

		if (!param->indexed)
			continue;
		decoder->path.steps[0] = (struct evm_abi_step){param, i};
		status = decode_topic(decoder, &values[i], param->type, &topics[topic]);
		topic++;
	}
	decoder->path.depth = 0;
	return status;
}

enum evm_status
evm_abi_decode_log(struct evm_arena *arena, struct evm_abi_value **values,
				   const struct evm_abi_item *event, const struct evm_hash *topics,
				   size_t topic_count, const uint8_t *data, size_t len, struct evm_error *err)
{
	struct evm_abi_decoder decoder;
	enum evm_status status = check_topics(event, topics, topic_count, err);

	if (status != EVM_OK)
		return status;
	evm_abi_decoder_init(&decoder, arena, data, len, err);
	*values = evm_arena_zalloc(arena, event->input_count, sizeof(**values));
	if (*values == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "out of memory for the arguments of %.*s",
						evm_abi_shown(strlen(event->signature)), event->signature);
	status = decode_topics(&decoder, *values, event, topics);
	if (status != EVM_OK)
		return status;
	return evm_abi_decode_params(&decoder, *values, event->inputs, event->input_count, 0,
								 EVM_ABI_NOT_INDEXED);
}

static bool
is_candidate(const struct evm_abi_item *event, bool anonymous, const struct evm_hash *topics,
			 size_t topic_count)
{
	if (event->kind != EVM_ABI_ITEM_EVENT || event->anonymous != anonymous ||
		topic_count != wanted_topics(event))
		return false;
	return anonymous || is_topic0(event, topics, topic_count);
}

enum evm_status
evm_abi_find_log(const struct evm_abi_item **out, const struct evm_abi *abi,
				 const struct evm_hash *topics, size_t topic_count, struct evm_error *err)
{
	size_t anonymous = 0;

	*out = NULL;
	for (size_t i = 0; i < abi->item_count; i++)
	{
		if (is_candidate(&abi->items[i], false, topics, topic_count))
		{
			*out = &abi->items[i];
			return EVM_OK;
		}
	}
	for (size_t i = 0; i < abi->item_count; i++)
	{
		if (is_candidate(&abi->items[i], true, topics, topic_count))
		{
			*out = &abi->items[i];
			anonymous++;
		}
	}
	if (anonymous == 1)
		return EVM_OK;
	*out = NULL;
	return evm_fail(err, EVM_ERR_MISMATCH, 0,
					anonymous == 0
						? "no event of the ABI has topic0 and the %zu topics of the log"
						: "several anonymous events of the ABI have the %zu topics of the log",
					topic_count);
}
