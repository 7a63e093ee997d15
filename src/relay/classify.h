/*
 * classify.h
 *	  What a node means when it refuses a signed transaction.
 *
 * Plain C without PostgreSQL.  Nodes agree on no code, so the text decides: a table of
 * patterns, each with the clients that say it.  The first pattern that fits wins.
 */
#ifndef RELAY_CLASSIFY_H
#define RELAY_CLASSIFY_H

#include <stdbool.h>
#include <stdint.h>

enum relay_class
{
	RELAY_ACCEPTED,       /* the node took it: what follows is waiting for a receipt */
	RELAY_KNOWN,          /* these very bytes are there already: as good as accepted */
	RELAY_REVERTS,        /* it would run and revert; may be mined all the same */
	RELAY_SLOT_TAKEN,     /* another transaction holds the nonce in the pool and pays too well */
	RELAY_NONCE_CONSUMED, /* something was mined at this nonce: ours or not, receipts tell */
	RELAY_NONCE_AHEAD,    /* a lower nonce is missing at this node */
	RELAY_FUNDS,          /* the account cannot pay for it now */
	RELAY_FEE_TOO_LOW,    /* needs a better price */
	RELAY_NEVER_VALID,    /* no chain of this kind will ever run these bytes */
	RELAY_NODE_TROUBLE,   /* says something about the node: try again */
	RELAY_UNKNOWN         /* not understood: outcome unknown, try again */
};

/* From code and message of a JSON-RPC error of eth_sendRawTransaction. */
extern enum relay_class relay_classify(int64_t code, const char *message);

/* As it is stored in relayer_attempts.answer_class: "accepted", "nonce_consumed", … */
extern const char *relay_class_name(enum relay_class class);
/* RELAY_UNKNOWN for a name that is none. */
extern enum relay_class relay_class_from_name(const char *name);

#endif /* RELAY_CLASSIFY_H */
