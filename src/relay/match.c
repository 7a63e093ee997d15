/*
 * match.c
 *	  Which of our sends are the transactions of our account that were found on the chain?
 */
#include "relay/match.h"

#include <string.h>

#include "evm/word.h"

bool
relay_acts_equal(const struct relay_act *a, const struct relay_act *b)
{
	if (a->creates != b->creates || a->data.len != b->data.len ||
		evm_word_compare(&a->value, &b->value) != 0)
		return false;
	if (!a->creates && memcmp(&a->recipient, &b->recipient, sizeof(a->recipient)) != 0)
		return false;
	return a->data.len == 0 || memcmp(a->data.data, b->data.data, a->data.len) == 0;
}

static bool
is_noop(const struct relay_act *act, const struct evm_address *account)
{
	return !act->creates && act->data.len == 0 && evm_word_is_zero(&act->value) &&
		memcmp(&act->recipient, account, sizeof(*account)) == 0;
}

static struct relay_sendable *
find_send(struct relay_sendable *sends, int count, int64_t id)
{
	int i;

	for (i = 0; i < count; i++)
		if (sends[i].id == id)
			return &sends[i];
	return NULL;
}

static void
decide(struct relay_found *found, enum relay_match match, struct relay_sendable *send)
{
	found->match = match;
	found->id = send == NULL ? 0 : send->id;
	if (send != NULL)
		send->taken = true;
}

/* What the nonce itself says: its holder's payload, or a no-op in its place. */
static void
match_holder(struct relay_found *found, struct relay_sendable *sends, int send_count,
			 const struct evm_address *account)
{
	struct relay_sendable *holder = find_send(sends, send_count, found->holder);

	if (holder == NULL)
		return;
	if (relay_acts_equal(&found->act, &holder->act))
		decide(found, RELAY_MATCHES_HOLDER, holder);
	else if (is_noop(&found->act, account))
		decide(found, RELAY_MATCHES_NOOP, holder);
}

static void
match_send(struct relay_found *found, struct relay_sendable *sends, int send_count,
		   const struct evm_address *account)
{
	int i;

	for (i = 0; i < send_count; i++)
	{
		if (sends[i].taken || !relay_acts_equal(&found->act, &sends[i].act))
			continue;
		decide(found, RELAY_MATCHES_SEND, &sends[i]);
		return;
	}
	if (is_noop(&found->act, account))
		decide(found, RELAY_MATCHES_NOOP, NULL);
}

void
relay_match_found(struct relay_found *found, int found_count, struct relay_sendable *sends,
				  int send_count, const struct evm_address *account)
{
	int i;

	for (i = 0; i < found_count; i++)
	{
		decide(&found[i], RELAY_UNMATCHED, NULL);
		match_holder(&found[i], sends, send_count, account);
	}
	for (i = 0; i < found_count; i++)
		if (found[i].match == RELAY_UNMATCHED)
			match_send(&found[i], sends, send_count, account);
}
