/*
 * follow.h
 *	  The header chain of one network: the last blocks, as this database believes them.
 *
 * Headers are checked against each other before they are believed: each names its
 * parent.  They are stored on their own as soon as they are checked, so that the relayer
 * never waits for logs.
 */
#ifndef CHAIN_FOLLOW_H
#define CHAIN_FOLLOW_H

#include "postgres.h"

#include "chain/block.h"
#include "datatype/timestamp.h"
#include "rpc/client.h"

/* Headers in memory and in the table; a reorganisation that goes deeper stops the network. */
#define CHAIN_WINDOW 256
/* Branches that were given up and are remembered. */
#define CHAIN_LEFT 16

struct chain
{
	const char *network;
	int64 chain_id;
	struct evm_hash genesis_hash;
	struct chain_header headers[CHAIN_WINDOW]; /* ring by number % CHAIN_WINDOW */
	int64 first; /* oldest number in the ring; above tip when it is empty */
	int64 tip;   /* -1: nothing is known */
	int64 safe;  /* -1: not asked, or not given */
	int64 finalized;
	TimestampTz tip_seen_at;

	/* Another branch that the node has shown and that was not adopted: its first block. */
	struct evm_hash rival;
	int rival_polls; /* in a row */
	TimestampTz rival_since;
	TimestampTz unsteady_until;       /* the node has gone back to a branch that it had left */
	struct evm_hash left[CHAIN_LEFT]; /* ring: first blocks of the branches that were given up */
	int left_next;
};

enum chain_news
{
	CHAIN_NOTHING_NEW,
	CHAIN_NEW_BLOCKS,  /* on top of what we have */
	CHAIN_REORGANISED, /* blocks above fork were replaced */
	CHAIN_RIVAL,       /* another branch, which has to show itself again before it is adopted */
	CHAIN_NO_ANSWER, /* the node did not answer, or gave what cannot be believed: error says what */
	CHAIN_BROKEN     /* another chain, or deeper than the window: error says what */
};

struct chain_update
{
	enum chain_news news;
	int64 fork;        /* highest block that stays */
	const char *error; /* palloc'd */
};

/*
 * Reads the stored headers; a chain that was never followed is empty. Needs a transaction with
 * SPI.
 */
extern void chain_load(struct chain *chain, const char *network, int64 chain_id);

/*
 * Asks the endpoint who it is, once after it was taken into use: chain id, genesis block, and
 * whether it knows our tip. CHAIN_BROKEN when it is another chain; *first_contact when no genesis
 * was stored yet (it is then in chain).
 */
extern struct chain_update chain_identify(struct chain *chain, struct rpc_client *client,
										  bool *first_contact);

/*
 * What a head poll has to ask: the header when with_header, else the number alone; tags safe and
 * finalized when a trigger wants them. Returns the header when there is one that differs from our
 * tip.
 */
struct chain_poll
{
	bool with_header;
	bool with_finality;
};
extern struct chain_update chain_poll_head(struct chain *chain, struct rpc_client *client,
										   const struct chain_poll *poll,
										   struct chain_header *head);

/*
 * Connects a new head: fetches what lies between, finds the fork when the parents do not fit, and
 * takes the branch into the window. Nothing is written. A head below ours on another branch is
 * not adopted; one as high is when it was seen in several polls in a row without ours between them,
 * and in many more when the node has gone back to a branch that it had left before: behind one URL
 * there may be nodes that disagree.
 */
extern struct chain_update chain_connect(struct chain *chain, struct rpc_client *client,
										 const struct chain_header *head);

/*
 * Stores the headers that an update has brought, in the caller's transaction; old_tip is the tip
 * before it. After a reorganisation the rows above the fork are replaced and the cursors of the
 * network set back.
 */
extern void chain_store(struct chain *chain, const struct chain_update *update, int64 old_tip);
extern void chain_store_genesis(const struct chain *chain);

/* A header of the window, or NULL. */
extern const struct chain_header *chain_header_at(const struct chain *chain, int64 number);

extern TimestampTz chain_timestamp(int64 seconds);

#endif /* CHAIN_FOLLOW_H */
