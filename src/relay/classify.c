/*
 * classify.c
 *	  What a node means when it refuses a signed transaction.
 *
 * Codes that mean one thing everywhere go first, then texts.  The order of the table matters.  A
 * revert's text comes from a contract and can quote any other wording ("nonce too low",
 * "insufficient balance"), so reverts are looked for first; "underpriced" alone is looked for after
 * "replacement transaction underpriced".
 */
#include "relay/classify.h"

#include <stddef.h>
#include <string.h>

/*
 * Codes that mean the same whatever the text; the others are used by each client as it likes.  3 is
 * said by geth, reth, erigon and anvil.
 */
static const struct
{
	int64_t code;
	enum relay_class class;
} codes[] = {
	{-32601, RELAY_NODE_TROUBLE}, /* JSON-RPC 2.0: no such method */
	{429, RELAY_NODE_TROUBLE},    /* hosted nodes that think in HTTP */
	{-32015, RELAY_REVERTS},      /* openethereum, nethermind */
	{3, RELAY_REVERTS},
};

struct pattern
{
	enum relay_class class;
	const char *text;   /* lower case, anywhere in the message */
	const char *unless; /* not when this is there too; may be NULL */
};

static const struct pattern patterns[] = {
	{RELAY_REVERTS, "execution reverted", NULL}, /* geth, reth, erigon, nethermind, anvil */
	{RELAY_REVERTS, "vm exception while processing transaction", NULL}, /* hardhat */
	{RELAY_REVERTS, "transaction reverted", NULL},                      /* hardhat */
	{RELAY_REVERTS, "call reverted", NULL},

	{RELAY_KNOWN, "already known", NULL},                      /* geth, reth, erigon */
	{RELAY_KNOWN, "alreadyknown", NULL},                       /* nethermind */
	{RELAY_KNOWN, "already imported", NULL},                   /* anvil, openethereum */
	{RELAY_KNOWN, "known transaction", "unknown transaction"}, /* besu, hardhat */
	{RELAY_KNOWN, "known_transaction", NULL},
	{RELAY_KNOWN, "existing tx with same hash", NULL},     /* erigon */
	{RELAY_KNOWN, "same hash was already imported", NULL}, /* openethereum */
	{RELAY_KNOWN, "tx already in mempool", NULL},          /* cosmos chains */
	{RELAY_KNOWN, "alreadyimported", NULL},                /* substrate */
	{RELAY_KNOWN, "already in the pool", NULL},
	{RELAY_KNOWN, "already exists in the mempool", NULL},

	{RELAY_SLOT_TAKEN, "replacement transaction underpriced", NULL},
	{RELAY_SLOT_TAKEN, "replacement_underpriced", NULL},
	{RELAY_SLOT_TAKEN, "could not replace existing tx", NULL}, /* erigon */
	{RELAY_SLOT_TAKEN, "replacementnotallowed", NULL},         /* nethermind */
	{RELAY_SLOT_TAKEN, "ownnoncealreadyused", NULL},           /* nethermind */
	{RELAY_SLOT_TAKEN, "replacement not allowed", NULL},
	{RELAY_SLOT_TAKEN, "future transaction tries to replace pending", NULL},      /* geth */
	{RELAY_SLOT_TAKEN, "another transaction with same nonce in the queue", NULL}, /* openethereum */

	{RELAY_NONCE_AHEAD, "nonce too high", NULL},
	{RELAY_NONCE_AHEAD, "nonce is too high", NULL},
	{RELAY_NONCE_AHEAD, "nonce too far in the future", NULL},
	{RELAY_NONCE_AHEAD, "too distant from current sender nonce", NULL}, /* besu */
	{RELAY_NONCE_AHEAD, "nonce too distant", NULL},                     /* conflux */
	{RELAY_NONCE_AHEAD, "transaction with a lower nonce exists", NULL}, /* besu */
	{RELAY_NONCE_AHEAD, "noncetoofarinfuture", NULL},                   /* nethermind */
	{RELAY_NONCE_AHEAD, "notcurrentnoncefordelegation", NULL},          /* nethermind */
	{RELAY_NONCE_AHEAD, "gapped nonce", NULL},                          /* geth */
	{RELAY_NONCE_AHEAD, "nonce gap", NULL},
	{RELAY_NONCE_AHEAD, "noncegap", NULL}, /* nethermind */
	{RELAY_NONCE_AHEAD, "exceeds next nonce", NULL},
	{RELAY_NONCE_AHEAD, "nonce out of range", NULL},
	{RELAY_NONCE_AHEAD, "tx-nonce-too-high", NULL},
	{RELAY_NONCE_AHEAD, "gapped-nonce", NULL}, /* geth, delegated accounts */

	{RELAY_NONCE_CONSUMED, "nonce too low", NULL},
	{RELAY_NONCE_CONSUMED, "nonce is too low", NULL},
	{RELAY_NONCE_CONSUMED, "nonce_too_low", NULL},
	{RELAY_NONCE_CONSUMED, "nonce has already been used", NULL},
	{RELAY_NONCE_CONSUMED, "oldnonce", NULL},      /* nethermind */
	{RELAY_NONCE_CONSUMED, "invalid nonce", NULL}, /* may be either side: receipts tell */
	{RELAY_NONCE_CONSUMED, "invalid transaction nonce", NULL},     /* arbitrum: either side */
	{RELAY_NONCE_CONSUMED, "incorrect nonce", NULL},               /* besu: either side */
	{RELAY_NONCE_CONSUMED, "pool(stale)", NULL},                   /* substrate */
	{RELAY_NONCE_CONSUMED, "transaction already finalized", NULL}, /* harmony */

	{RELAY_FUNDS, "insufficient funds", NULL},
	{RELAY_FUNDS, "insufficientfunds", NULL}, /* nethermind */
	{RELAY_FUNDS, "gas required exceeds allowance", NULL},
	{RELAY_FUNDS, "upfront cost exceeds account balance", NULL}, /* besu */
	{RELAY_FUNDS, "doesn't have enough funds", NULL},            /* hardhat */
	{RELAY_FUNDS, "insufficient balance for transaction", NULL}, /* openethereum */
	{RELAY_FUNDS, "not enough funds", NULL},                     /* arbitrum */
	{RELAY_FUNDS, "overshot", NULL}, /* geth, tip of delegated accounts */

	{RELAY_NEVER_VALID, "intrinsic gas too low", NULL},
	{RELAY_NEVER_VALID, "intrinsic gas exceeds gas limit", NULL}, /* besu */
	{RELAY_NEVER_VALID, "intrinsic gas too high", NULL},          /* anvil */
	{RELAY_NEVER_VALID, "transaction gas is too low", NULL},      /* openethereum */
	{RELAY_NEVER_VALID, "exceeds current gas limit", NULL},       /* openethereum */
	{RELAY_NEVER_VALID, "supplied gas is beyond limit", NULL},    /* openethereum */
	{RELAY_NEVER_VALID, "transaction is too big", NULL},          /* openethereum */
	{RELAY_NEVER_VALID, "int256overflow", NULL},                  /* nethermind */
	{RELAY_NEVER_VALID, "negative value", NULL},
	{RELAY_NEVER_VALID, "transaction requires at least", NULL}, /* hardhat */
	{RELAY_NEVER_VALID, "floor data gas cost", NULL},
	{RELAY_NEVER_VALID, "exceeds block gas limit", NULL},
	{RELAY_NEVER_VALID, "gaslimitexceeded", NULL},   /* nethermind */
	{RELAY_NEVER_VALID, "gas limit too high", NULL}, /* EIP-7825 */
	{RELAY_NEVER_VALID, "gas limit is too high", NULL},
	{RELAY_NEVER_VALID, "gas uint64 overflow", NULL},
	{RELAY_NEVER_VALID, "oversized data", NULL},
	{RELAY_NEVER_VALID, "maxtxsizeexceeded", NULL}, /* nethermind */
	{RELAY_NEVER_VALID, "rlp too long", NULL},      /* erigon */
	{RELAY_NEVER_VALID, "max initcode size exceeded", NULL},
	{RELAY_NEVER_VALID, "initcode too large", NULL},
	{RELAY_NEVER_VALID, "initcode size", NULL},
	{RELAY_NEVER_VALID, "invalid opcode", NULL},
	{RELAY_NEVER_VALID, "sender not an eoa", NULL},
	{RELAY_NEVER_VALID, "senderiscontract", NULL}, /* nethermind */
	{RELAY_NEVER_VALID, "transaction type not supported", NULL},
	{RELAY_NEVER_VALID, "tx type not supported", NULL},
	{RELAY_NEVER_VALID, "notsupportedtxtype", NULL},
	{RELAY_NEVER_VALID, "invalid transaction type", NULL},     /* besu */
	{RELAY_NEVER_VALID, "unsupported transaction type", NULL}, /* arbitrum */
	{RELAY_NEVER_VALID, "max priority fee per gas higher than max fee per gas", NULL},
	{RELAY_NEVER_VALID, "max priority fee per gas exceeds max fee per gas", NULL}, /* besu */
	{RELAY_NEVER_VALID, "nonce has max value", NULL},

	{RELAY_FEE_TOO_LOW, "underpriced", NULL},
	{RELAY_FEE_TOO_LOW, "feetoolow", NULL},   /* nethermind, also FeeTooLowToCompete */
	{RELAY_FEE_TOO_LOW, "fee too low", NULL}, /* erigon */
	{RELAY_FEE_TOO_LOW, "less than block base fee", NULL},
	{RELAY_FEE_TOO_LOW, "below current base fee", NULL},     /* besu */
	{RELAY_FEE_TOO_LOW, "too low for the next block", NULL}, /* hardhat */
	{RELAY_FEE_TOO_LOW, "gas price below", NULL},            /* besu, geth */
	{RELAY_FEE_TOO_LOW, "gas price too low", NULL},          /* arbitrum */
	{RELAY_FEE_TOO_LOW, "gas price is too low", NULL},       /* openethereum */

	/* Our signatures are right, so the node is on another chain. */
	{RELAY_NODE_TROUBLE, "invalid sender", NULL}, /* geth */
	{RELAY_NODE_TROUBLE, "invalid signature", NULL},
	{RELAY_NODE_TROUBLE, "invalid chain id", NULL},
	{RELAY_NODE_TROUBLE, "chainid", NULL},                      /* besu */
	{RELAY_NODE_TROUBLE, "only replay-protected", NULL},        /* geth */
	{RELAY_NODE_TROUBLE, "failedtoresolvesender", NULL},        /* nethermind */
	{RELAY_NODE_TROUBLE, "not authorized to send", NULL},       /* besu */
	{RELAY_NODE_TROUBLE, "transaction is not permitted", NULL}, /* openethereum */
	{RELAY_NODE_TROUBLE, "pool is full", NULL},
	{RELAY_NODE_TROUBLE, "pool overflow", NULL},
	{RELAY_NODE_TROUBLE, "pool disabled", NULL},                      /* erigon */
	{RELAY_NODE_TROUBLE, "pool not enabled", NULL},                   /* besu */
	{RELAY_NODE_TROUBLE, "too many transactions in the queue", NULL}, /* openethereum */
	{RELAY_NODE_TROUBLE, "conflictingtype", NULL},                    /* nethermind */
	{RELAY_NODE_TROUBLE, "delegatorhaspendingtx", NULL},              /* nethermind */
	{RELAY_NODE_TROUBLE, "account limit exceeded", NULL},
	{RELAY_NODE_TROUBLE, "in-flight transaction limit", NULL},
	{RELAY_NODE_TROUBLE, "already reserved", NULL},
	{RELAY_NODE_TROUBLE, "exceeds the configured cap", NULL},
	{RELAY_NODE_TROUBLE, "fee cap exceeded", NULL},
	{RELAY_NODE_TROUBLE, "connection refused", NULL},
	{RELAY_NODE_TROUBLE, "timed out", NULL},
	{RELAY_NODE_TROUBLE, "timeout", NULL},
	{RELAY_NODE_TROUBLE, "load balancer error", NULL},
	{RELAY_NODE_TROUBLE, "rate limit", NULL},
	{RELAY_NODE_TROUBLE, "too many requests", NULL},
	{RELAY_NODE_TROUBLE, "limit exceeded", NULL},
	{RELAY_NODE_TROUBLE, "internal error", NULL},
	{RELAY_NODE_TROUBLE, "not synced", NULL},
	{RELAY_NODE_TROUBLE, "syncing", NULL},
	{RELAY_NODE_TROUBLE, "initial sync", NULL},              /* besu */
	{RELAY_NODE_TROUBLE, "world state unavailable", NULL},   /* besu */
	{RELAY_NODE_TROUBLE, "please retry", NULL},              /* arbitrum */
	{RELAY_NODE_TROUBLE, "temporarily not available", NULL}, /* arbitrum */
	{RELAY_NODE_TROUBLE, "deadline exceeded", NULL},
	{RELAY_NODE_TROUBLE, "service unavailable", NULL},
	{RELAY_NODE_TROUBLE, "bad gateway", NULL},
	{RELAY_NODE_TROUBLE, "upstream connect error", NULL},
};

static const char *const class_names[] = {
	[RELAY_ACCEPTED] = "accepted",
	[RELAY_KNOWN] = "known",
	[RELAY_REVERTS] = "reverts",
	[RELAY_SLOT_TAKEN] = "slot_taken",
	[RELAY_NONCE_CONSUMED] = "nonce_consumed",
	[RELAY_NONCE_AHEAD] = "nonce_ahead",
	[RELAY_FUNDS] = "funds",
	[RELAY_FEE_TOO_LOW] = "fee_too_low",
	[RELAY_NEVER_VALID] = "never_valid",
	[RELAY_NODE_TROUBLE] = "node_trouble",
	[RELAY_UNKNOWN] = "unknown",
};

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* ASCII only: nodes speak English, and a locale must not change what is found. */
static bool
contains(const char *message, const char *text)
{
	size_t len = strlen(text);
	size_t i;

	for (; *message != '\0'; message++)
	{
		for (i = 0; i < len && lower(message[i]) == text[i]; i++)
			;
		if (i == len)
			return true;
	}
	return false;
}

enum relay_class
relay_classify(int64_t code, const char *message)
{
	size_t i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (code == codes[i].code)
			return codes[i].class;
	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (contains(message, patterns[i].text) &&
			(patterns[i].unless == NULL || !contains(message, patterns[i].unless)))
			return patterns[i].class;
	return RELAY_UNKNOWN;
}

const char *relay_class_name(enum relay_class class)
{
	return class_names[class];
}

enum relay_class
relay_class_from_name(const char *name)
{
	int i;

	for (i = RELAY_ACCEPTED; i < RELAY_UNKNOWN; i++)
		if (strcmp(class_names[i], name) == 0)
			return (enum relay_class) i;
	return RELAY_UNKNOWN;
}
