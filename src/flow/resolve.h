/*
 * resolve.h
 *	  What the names in a definition stand for, at the moment it is written.
 */
#ifndef FLOW_RESOLVE_H
#define FLOW_RESOLVE_H

#include "flow/definition.h"
#include "lib/stringinfo.h"

/* What resolving has at hand: SPI is connected, the user is one that may read our tables. */
struct flow_resolver
{
	struct evm_arena *arena; /* for ABIs; as long as the resolver */
	Oid owner;               /* of the workflow */
	const char *subject;     /* 'step "forward"' or 'trigger', for messages */
	StringInfoData members;  /* JSON members that the version adds, each with a leading comma */
};

/*
 * Adds network, chain_id, address and abi for an item of a contract, found by kind and by name or
 * signature. Raises when there is no such contract or item. The item lives in the resolver's
 * arena.
 */
extern const struct evm_abi_item *flow_resolve_item(struct flow_resolver *resolver,
													const char *contract,
													enum evm_abi_item_kind kind, const char *item);
/*
 * Adds network and chain_id of a relayer, and raises unless owner may use it; returns its
 * network.
 */
extern const char *flow_resolve_relayer(struct flow_resolver *resolver, const char *relayer);

/* The same of a pool: owner must be granted every relayer of it. */
extern const char *flow_resolve_pool(struct flow_resolver *resolver, const char *pool);

extern void flow_add_member(struct flow_resolver *resolver, const char *name, const char *text);
extern void flow_add_number(struct flow_resolver *resolver, const char *name, int64 number);

#endif /* FLOW_RESOLVE_H */
