/*
 * state.h
 *	  What a relayer process holds in memory: its network and accounts, and one round's view.
 *
 * The tables are the truth.  The view is loaded at the start of each round and thrown away at its
 * end; what stays in the process (struct relay_process) only paces it: when it asked last, what it
 * was told, how long to wait.  A process that dies and starts anew decides the same.
 */
#ifndef RELAY_STATE_H
#define RELAY_STATE_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "db/allowance.h"
#include "evm/bytes.h"
#include "relay/classify.h"
#include "relay/fees.h"
#include "relay/parse.h"
#include "relay/policy.h"
#include "relay/signer.h"

struct relay_top_up;
struct relay_block_transaction;
struct rpc_client;

/* Of a transaction: what chain and node know.  src/relay/README.md has the diagram. */
enum relay_state
{
	RELAY_QUEUED, /* → SIGNED, CANCELLED, FAILED: no nonce yet, so it can still end without one */
	RELAY_SIGNED, /* → BROADCAST, MINED: bytes are stored; whether a node has them is not known */
	RELAY_BROADCAST, /* → MINED, FAILED, CANCELLED, EXPIRED, REPLACED: a node has taken them */
	RELAY_MINED,     /* → CONFIRMED, FAILED; BROADCAST when its block has gone */
	RELAY_CONFIRMED, /* → BROADCAST when a deeper reorganisation undid it */
	RELAY_FAILED,
	RELAY_EXPIRED,
	RELAY_CANCELLED,
	RELAY_REPLACED
};

extern const char *relay_state_name(enum relay_state state);
extern enum relay_state relay_state_from_name(const char *name);

/* An account on a chain.  Several relayers may share it. */
struct relay_key
{
	struct evm_address address;
	bool owned;        /* this process alone of the server uses it */
	bool adopted;      /* has a row in relayer_keys */
	uint64 next_nonce; /* of that row */
	uint64 *gaps;      /* nonces that an operator wants filled, in the round's memory */
	int gap_count;
	bool has_gap; /* the chain waits for a nonce below ours that nothing of ours holds */
	uint64 gap;
	int64 gap_since; /* head at which that was first seen */
	bool fills_gap;  /* it has been so for long enough */
	int in_flight;   /* live nonces that are not mined */

	/* What the chain said last. */
	bool observed;
	bool fresh;     /* … in this round */
	uint64 latest;  /* nonces used in the newest block */
	uint64 pending; /* … and in the node's pool */
	struct evm_word balance;

	TimestampTz held_until; /* signs nothing before; 0: is not held */
	bool lacks_funds;       /* … because of that, when it was planned last */

	/* Not reconciled after a promotion or a restore (reconcile.h): signs nothing at all. */
	bool held;
	TimestampTz quiet_since; /* the counts are since then what they are; 0: never asked */
	uint64 quiet_latest;
	uint64 quiet_pending;
	int64 counted_block; /* everything that they count is in blocks up to this one */

	/* Its lowest live nonce seems to be used by somebody else: since which head. */
	bool suspected;
	uint64 suspect;
	int64 suspect_since;
	int64 reopened_head; /* its settled nonces were looked at again at this one */
};

/* What relayer_states says of an account. */
struct relay_told
{
	bool written;
	const struct relay_key *key;
	char problem[RELAY_PROBLEM_BYTES];
	uint64 latest;
	uint64 pending;
	struct evm_word balance;
};

/* A workflow whose queued sends are held, and what to say of it. */
struct relay_paused_workflow
{
	char *name;
	char *reason;
};

/* A row of rflow.relayers of this network. */
struct relay_account
{
	char *name;
	char *signer;
	bool paused; /* it is, or its network, or everything */
	bool paused_itself;
	int max_in_flight;
	bool has_cap;
	struct evm_word cap; /* of the fee per gas */
	int64 max_gas_limit; /* 0: none */
	int bump_blocks;
	bool has_low_balance;
	struct evm_word low_balance; /* wei */
	bool was_low;                /* as the tables say */
	bool is_low;
	bool watched;          /* its balance counts, whether it sends or not */
	struct relay_key *key; /* NULL while there is none: problem says why */
	bool has_due;          /* something is queued */
	TimestampTz first_due;
	char problem[RELAY_PROBLEM_BYTES];
	struct relay_told told;
};

/* A queued send that this round may sign. */
struct relay_candidate
{
	int64 id;   /* 0: of one that fills a gap, it is made when it is signed */
	bool fills; /* it is a no-op for a nonce that nothing holds */
	uint64 gap;
	struct relay_account *account;
	Oid owner;
	const char *workflow; /* NULL: not sent by a run */
	const char *network;  /* for which it was queued */
	int64 chain_id;
	bool creates;
	struct evm_address recipient;
	struct evm_word value;
	struct evm_bytes data;
	int64 gas_limit; /* 0: to be estimated */
	bool has_cap;
	struct evm_word cap;
	int estimate;             /* index of the question; -1: not asked */
	enum relay_class refusal; /* RELAY_ACCEPTED unless the estimate was refused */
	char *refusal_text;
	struct evm_bytes refusal_data; /* what a revert returned */
};

/* One signed payload. */
struct relay_attempt
{
	int number; /* from 1 */
	int64 transaction_id;
	bool noop;
	struct evm_hash hash;
	int64 gas_limit;
	struct relay_price price;
	int64 head_number; /* newest block when it was signed; -1: none was known */
	TimestampTz signed_at;
	TimestampTz broadcast_at; /* when a node first took it; 0: none did that we know */
	bool answered;
	enum relay_class class; /* when answered */
	TimestampTz answered_at;
};

/* What this round has found out about a nonce. */
enum relay_finding
{
	RELAY_NOTHING_ASKED,
	RELAY_NO_ANSWER,  /* the node could not say */
	RELAY_NO_RECEIPT, /* none of its attempts has one */
	RELAY_UNSURE,     /* a receipt whose block could not be verified, or none where there was one */
	RELAY_VANISHED,   /* none, and the block it was in is not on the chain any more */
	RELAY_FOUND       /* receipt, in a block that is on the chain */
};

/* The transaction that another one is to replace at their nonce. */
struct relay_original
{
	int64 id; /* 0: there is none */
	enum relay_state state;
	int64 block_number; /* -1 unless it was seen in a block */
	struct evm_hash block_hash;
};

/* A live nonce: assigned, and what mined at it is not deep enough yet. */
struct relay_nonce
{
	struct relay_key *key;
	struct relay_account *account; /* NULL when its row is gone */
	uint64 nonce;
	int64 transaction_id;
	enum relay_state state;
	Oid owner;
	const char *workflow;
	bool wanted;    /* intent is 'send', or: */
	bool adopting;  /* … 'adopt': nothing more is signed or sent for it (adopt.h) */
	bool has_error; /* its payload can never run */
	struct evm_word value;
	bool has_cap;
	struct evm_word cap;
	int confirmations;
	char *reason;
	int64 block_number; /* -1 unless it was seen in a block */
	struct evm_hash block_hash;
	struct relay_attempt *attempts;
	int attempt_count;
	int wanted_attempt; /* it is to be signed again until there is this one; 0: as it comes */
	int64 replacement_id;
	struct relay_candidate *replacement; /* queued, to be signed in its place; NULL: none */
	struct relay_original original;

	int first_question; /* of its receipts, then of its block; -1: not asked */
	enum relay_finding finding;
	struct relay_receipt receipt; /* when FOUND */
	bool send_again;              /* its block has gone: the pool may not have it */
	int noop_question;            /* the gas of a no-op; -1: not asked */
	int64 noop_gas;               /* 0: not known */
	bool used_at_depth; /* the chain's count is beyond it, at the depth of confirmations */
	enum relay_use use; /* who has used it then; foreign.h */
	struct evm_hash user;
	int64 used_in;                                    /* the block, where that is known */
	struct relay_block_transaction *user_transaction; /* that of it, when it is foreign */
	char *revert_text;                                /* why it reverted; NULL: not asked */
	struct evm_bytes revert_data;
};

/* One round's picture, in the round's memory context. */
struct relay_view
{
	TimestampTz now;
	struct relay_candidate *candidates;
	int candidate_count;
	struct relay_nonce *nonces; /* by address, then nonce */
	int nonce_count;
	bool signing_held; /* the new timeline is not recorded yet: nothing is signed */
};

struct relay_process
{
	/* The definitions, in config_context; read again when their generation has changed. */
	MemoryContext config_context;
	uint64 generation;
	char *network;
	int64 chain_id;
	int confirmations;
	int rpc_timeout_ms;
	struct db_allowance allowance; /* what its nodes may be asked */
	char *unit_costs;              /* NULL: as usual */
	char **urls;
	int url_count;
	struct relay_account *accounts;
	int account_count;
	struct relay_top_up *top_ups; /* top_up.h */
	int top_up_count;
	bool has_wishes;                 /* outside transactions are to be adopted (adopt.h) */
	TimestampTz wishes_at;           /* they were looked for then; 0: never */
	bool has_pools;                  /* relayers of the network are members of pools */
	struct relay_policies *policies; /* NULL: none */
	struct relay_paused_workflow *paused_workflows;
	int paused_workflow_count;
	int64 rules;          /* a hash of policies and pauses */
	int64 released_rules; /* … as they were when held sends were last released */

	/* In process_context, for the life of the process. */
	MemoryContext process_context;
	struct relay_key **keys;
	int key_count;
	struct rpc_client *client;
	bool chain_checked;   /* the endpoint has said that it is on our chain */
	uint64 endpoint;      /* rpc_client_generation() at that time */
	bool reconciling;     /* some account is or may be held */
	int64 restored_block; /* while it is: the newest one of the restored database; -1: none */
	int scan_blocks;      /* how many are read in a batch; 0: not known yet */
	bool has_genesis;     /* the watcher has been in contact with the chain */
	struct evm_hash genesis;

	/* What the process around it does for the round: opens transactions, keeps others off a key. */
	bool (*begin)(void *context, const char *activity);
	bool (*own)(void *context, int64 chain_id, const struct evm_address *address,
				char problem[RELAY_PROBLEM_BYTES]);
	void *context;

	TimestampTz first_expiry; /* of its transactions; 0: none expires */

	/* The newest block, from the watcher's table or, when that stands still, asked for. */
	int64 head_number; /* -1: none known */
	bool head_is_ours; /* asked for by this process */
	int64 seen_number; /* the watcher's, when it was looked at last; -1: never */
	struct evm_hash seen_hash;
	bool look_back; /* a block that was seen has gone */
	bool has_base_fee;
	TimestampTz head_changed_at;
	double block_ms;          /* usual distance between changes; 0: not known */
	int64 asked_head;         /* receipts were asked at this one */
	TimestampTz behind_since; /* the endpoint's own head is below head_number; 0: is not */
	bool ask_again;           /* something calls for receipts before the next head */
	int hurry_ms;             /* until the next look whether a full window has room again */
	bool progress;            /* this round has signed something, or found what was mined */

	bool has_quote;
	struct relay_quote quote;
	struct relay_price learnt; /* what was taken after less had been refused */
	TimestampTz learnt_until;  /* 0: nothing */
	int64 quoted_head;
	TimestampTz quoted_at;

	int64 watched_head; /* balances were asked at this one, for whom they count; -2: never */
	TimestampTz watched_at;
	int64 topped_head; /* top-ups were looked at at this one; -2: never */
	TimestampTz topped_at;
	TimestampTz move_at;    /* queued sends of pools change their relayer no earlier; 0: at once */
	int failures;           /* rounds in a row in which no node answered */
	TimestampTz retry_at;   /* not before, after a failure */
	TimestampTz resumed_at; /* when an operator last ended such waits */
	TimestampTz wake_at;    /* the next round is due; 0: only when woken */
};

/* A copy in the current context. */
extern struct evm_bytes relay_copy_bytes(struct evm_bytes bytes);
/* The newest block is number as of now: keeps the usual distance between blocks. */
extern void relay_note_head(struct relay_process *process, int64 number, TimestampTz now);
/* Makes sure the next round is not later than when. */
extern void relay_wake_by(struct relay_process *process, TimestampTz when);
extern struct relay_key *relay_find_key(struct relay_process *process,
										const struct evm_address *address);
extern struct relay_account *relay_find_account(struct relay_process *process, const char *name);
/* A queued send, as policies see it; texts and bytes are those of the candidate. */
extern struct relay_subject relay_subject_of(const struct relay_candidate *candidate);
/* Was what is in the block sent by the transaction that this one was to replace? */
extern bool relay_original_won(const struct relay_nonce *nonce);
/* The newest attempt. */
extern struct relay_attempt *relay_newest(const struct relay_nonce *nonce);
/* The attempt that pays most: what a replacement must outbid. */
extern struct relay_attempt *relay_highest(const struct relay_nonce *nonce);
/* How many payloads in a row, up to the newest, were refused as too cheap. */
extern int relay_refusals(const struct relay_nonce *nonce);
/* Has a node ever taken one of its attempts? */
extern bool relay_was_accepted(const struct relay_nonce *nonce);
/*
 * Of a receipt: is its block at the depth of confirmations, and does the row name that block
 * already?
 */
extern bool relay_is_deep(const struct relay_process *process, const struct relay_nonce *nonce);
/*
 * Is it used on the chain since so many heads that its receipt should have come?  However low the
 * confirmations.
 */
#define RELAY_SUSPECT_MIN_BLOCKS 3
extern bool relay_is_overdue(const struct relay_process *process, const struct relay_nonce *nonce);
extern bool relay_is_recorded(const struct relay_nonce *nonce);

/* Does the nonce need another payload: a no-op, or a better price? */
extern bool relay_needs_noop(const struct relay_nonce *nonce);
extern bool relay_may_need_bump(const struct relay_process *process,
								const struct relay_nonce *nonce);

#endif /* RELAY_STATE_H */
