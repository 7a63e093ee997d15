/*
 * pool.c
 *	  Pools of relayers: which member a send is given to.
 *
 * What members have to do is read from the queue and the live nonces, not from counters: those
 * would be rows that every claim has to update.  Reading takes no locks, so two transactions at
 * once may choose the same member; who lacks funds then gives queued sends to another (move.c).
 */
#include "postgres.h"

#include "relay/pool.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "db/datum.h"
#include "db/statement.h"
#include "evm/word.h"

#define POOL_PREFIX "pool:"
/* Gas of a send that does not say: enough for a token's transfer, with room. */
#define ASSUMED_GAS 100000

/*
 * Rows of relayers that share an account count for all of these.  Of a queue the first 500 sends
 * are counted, and the first 32 stand for what they cost.  Sub-selects by key, not joins: the plan
 * must not depend on how large the history is.
 */
static struct db_statement read_members = {
	.sql =
		"SELECT n.name, n.chain_id, n.enabled, m.relayer, r.paused, s.address, s.balance,"
		"       s.fee_per_gas, l.sends + q.sends, l.cost + q.cost,"
		"       ARRAY(SELECT g.grantee::oid"
		"               FROM rflow.relayer_grants g"
		"              WHERE g.relayer = r.name), r.expires_in"
		"  FROM rflow.relayer_pools p"
		"  JOIN rflow.networks n ON n.name = p.network"
		" CROSS JOIN LATERAL pg_catalog.unnest(p.relayers) WITH ORDINALITY m (relayer, place)"
		"  JOIN rflow.relayers r ON r.name = m.relayer AND r.network = p.network"
		"  LEFT JOIN rflow_private.relayer_states s ON s.relayer = r.name"
		" CROSS JOIN LATERAL ("
		"     SELECT pg_catalog.sum(c.sends)::bigint AS sends,"
		"            pg_catalog.sum(pg_catalog.ceil(f.cost * c.sends / GREATEST(f.sends, 1)))"
		"            AS cost"
		"       FROM rflow.relayers o"
		"       LEFT JOIN rflow_private.relayer_states e ON e.relayer = o.name"
		"      CROSS JOIN LATERAL ("
		"          SELECT pg_catalog.count(*) AS sends"
		"            FROM (SELECT"
		"                    FROM rflow_private.due d"
		"                   WHERE d.kind = 'send' AND d.owner = o.name"
		"                   ORDER BY d.wake_at, d.id"
		"                   LIMIT 500) d) c"
		"      CROSS JOIN LATERAL ("
		"          SELECT pg_catalog.count(*) AS sends, COALESCE(pg_catalog.sum(d.cost), 0) AS cost"
		"            FROM (SELECT (SELECT t.value + COALESCE(t.gas_limit, $2) *"
		"                                 COALESCE(LEAST(t.max_fee_per_gas, s.fee_per_gas), 0)"
		"                            FROM rflow_private.relayer_transactions t"
		"                           WHERE t.id = d.id::bigint) AS cost"
		"                    FROM rflow_private.due d"
		"                   WHERE d.kind = 'send' AND d.owner = o.name"
		"                   ORDER BY d.wake_at, d.id"
		"                   LIMIT 32) d) f"
		"      WHERE o.network = p.network AND (o.name = r.name OR e.address = s.address)) q"
		" CROSS JOIN LATERAL ("
		"     SELECT pg_catalog.count(*) AS sends, COALESCE(pg_catalog.sum(v.cost), 0) AS cost"
		"       FROM (SELECT (SELECT t.value"
		"                       FROM rflow_private.relayer_transactions t"
		"                      WHERE t.id = v.transaction_id AND t.state <> 'mined')"
		"                    + (SELECT pg_catalog.max(b.gas_limit *"
		"                                  COALESCE(b.max_fee_per_gas, b.gas_price))"
		"                         FROM rflow_private.relayer_attempts b"
		"                        WHERE b.chain_id = v.chain_id AND b.address = v.address"
		"                          AND b.nonce = v.nonce) AS cost"
		"               FROM rflow_private.nonces v"
		"              WHERE v.chain_id = n.chain_id AND v.address = s.address"
		"                AND NOT v.settled) v"
		"      WHERE v.cost IS NOT NULL) l"
		" WHERE p.name = $1"
		" ORDER BY m.place",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

const char *
relay_pool_name(const char *relayer)
{
	return strncmp(relayer, POOL_PREFIX, strlen(POOL_PREFIX)) == 0 ? relayer + strlen(POOL_PREFIX)
																   : NULL;
}

/* False when NULL.  More than 2^256 - 1 of what is outstanding is as good as that. */
static bool
word_at(struct evm_word *out, uint64 row, int column)
{
	bool isnull;
	bool negative;
	Datum value = db_value(row, column, &isnull);

	*out = evm_word_zero;
	if (!isnull && (!db_numeric_word(out, &negative, value) || negative))
		memset(out, 0xff, sizeof(*out));
	return !isnull;
}

static void
read_grantees(struct relay_grants *grants, uint64 row, int column)
{
	Datum *elements;
	int i;

	deconstruct_array(DatumGetArrayTypeP(db_value(row, column, NULL)), OIDOID, sizeof(Oid), true,
					  TYPALIGN_INT, &elements, NULL, &grants->count);
	grants->exists = true;
	grants->grantees = palloc(Max(grants->count, 1) * sizeof(Oid));
	for (i = 0; i < grants->count; i++)
		grants->grantees[i] = DatumGetObjectId(elements[i]);
}

static void
read_member(struct relay_member *member, uint64 row)
{
	bool isnull;
	Datum address;

	member->relayer = db_text(row, 4);
	member->paused = DatumGetBool(db_value(row, 5, NULL));
	address = db_value(row, 6, &isnull);
	member->known = !isnull;
	if (!isnull)
		member->address = *db_datum_address(address);
	member->observed = word_at(&member->balance, row, 7);
	member->has_fee = word_at(&member->fee, row, 8);
	member->load = db_int64(row, 9);
	(void) word_at(&member->outstanding, row, 10);
	read_grantees(&member->grants, row, 11);
	relay_read_expiry(&member->grants, row, 12);
}

/*
 * The plan is kept, and may be made while the tables are empty: by the keys it is as good then as
 * it is later.
 */
static uint64
read_by_keys(Datum *parameters)
{
	int nest_level = NewGUCNestLevel();
	uint64 rows;

	(void) set_config_option("enable_seqscan", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
							 true, 0, false);
	rows = db_execute(&read_members, parameters, NULL);
	AtEOXact_GUC(true, nest_level);
	return rows;
}

struct relay_pool *
relay_read_pool(const char *name)
{
	struct relay_pool *pool = palloc0(sizeof(struct relay_pool));
	Datum parameters[2];
	uint64 rows;
	uint64 row;

	parameters[0] = CStringGetTextDatum(name);
	parameters[1] = Int64GetDatum(ASSUMED_GAS);
	rows = read_by_keys(parameters);
	if (rows == 0)
		return NULL;
	pool->name = pstrdup(name);
	pool->network = db_text(0, 1);
	pool->chain_id = db_int64(0, 2);
	pool->enabled = DatumGetBool(db_value(0, 3, NULL));
	pool->members = palloc0(rows * sizeof(struct relay_member));
	pool->count = (int) rows;
	for (row = 0; row < rows; row++)
		read_member(&pool->members[row], row);
	return pool;
}

/* What the account may have to pay for it; all there is, where that is beyond 256 bits. */
static struct evm_word
cost_of(const struct relay_member *member, const struct relay_need *need)
{
	struct evm_word fee = member->has_fee ? member->fee : evm_word_zero;
	struct evm_word cost;

	if (need->has_cap && (!member->has_fee || evm_word_compare(&need->cap, &fee) < 0))
		fee = need->cap;
	if (evm_word_mul_u64(&cost, &fee,
						 need->gas_limit == 0 ? ASSUMED_GAS : (uint64) need->gas_limit) ||
		evm_word_add(&cost, &cost, &need->value))
		memset(&cost, 0xff, sizeof(cost));
	return cost;
}

/* What is left of the balance when all that is outstanding is paid. */
static struct evm_word
room_of(const struct relay_member *member)
{
	struct evm_word room;

	if (!member->observed || evm_word_sub(&room, &member->balance, &member->outstanding))
		return evm_word_zero;
	return room;
}

static bool
can_send(const struct relay_member *member, const struct relay_need *need)
{
	struct evm_word room = room_of(member);
	struct evm_word cost = cost_of(member, need);

	return !member->paused && !member->unusable && member->known && member->observed &&
		evm_word_compare(&cost, &room) <= 0;
}

/* Among those that cannot send now: the one that will most likely be able to first. */
static bool
has_more_room(const struct relay_member *a, const struct relay_member *b)
{
	struct evm_word room_a = room_of(a);
	struct evm_word room_b = room_of(b);
	int order;

	if (a->paused != b->paused)
		return b->paused;
	if (a->unusable != b->unusable)
		return b->unusable;
	if (a->known != b->known)
		return a->known;
	order = evm_word_compare(&room_a, &room_b);
	return order != 0 ? order > 0 : a->load < b->load;
}

struct relay_member *
relay_pool_choose(struct relay_pool *pool, const struct relay_need *need, bool *qualifies)
{
	struct relay_member *best = NULL;
	int i;

	*qualifies = false;
	for (i = 0; i < pool->count; i++)
	{
		struct relay_member *member = &pool->members[i];
		bool able = can_send(member, need);

		if (!relay_grants_allow(&member->grants, need->owner))
			continue;
		if (best == NULL || (able && !*qualifies) ||
			(able == *qualifies &&
			 (able ? member->load < best->load : has_more_room(member, best))))
		{
			best = member;
			*qualifies = able;
		}
	}
	return best;
}

void
relay_pool_take(struct relay_pool *pool, const struct relay_member *member,
				const struct relay_need *need)
{
	struct evm_word cost = cost_of(member, need);
	int i;

	for (i = 0; i < pool->count; i++)
	{
		struct relay_member *other = &pool->members[i];
		bool shares = other->known && member->known &&
			memcmp(&other->address, &member->address, sizeof(member->address)) == 0;

		if (other != member && !shares)
			continue;
		other->load++;
		if (evm_word_add(&other->outstanding, &other->outstanding, &cost))
			memset(&other->outstanding, 0xff, sizeof(other->outstanding));
	}
}

static const char *
why_not(const struct relay_member *member, const struct relay_need *need)
{
	char needed[EVM_WORD_DECIMAL_BYTES];
	char has[EVM_WORD_DECIMAL_BYTES];
	struct evm_word room = room_of(member);
	struct evm_word cost = cost_of(member, need);

	if (member->paused)
		return "paused";
	if (!member->known || member->unusable)
		return "cannot sign";
	if (!member->observed)
		return "its balance is not known yet";
	evm_word_to_decimal(has, &room, false);
	evm_word_to_decimal(needed, &cost, false);
	return psprintf("has %s wei beside what is outstanding, needs %s", has, needed);
}

char *
relay_pool_reason(const struct relay_pool *pool, const struct relay_need *need,
				  const struct relay_member *chosen)
{
	StringInfoData text;
	const char *separator = "";
	int i;

	initStringInfo(&text);
	appendStringInfo(&text, "no relayer of pool \"%s\" can send it now (", pool->name);
	for (i = 0; i < pool->count; i++)
	{
		const struct relay_member *member = &pool->members[i];

		if (!relay_grants_allow(&member->grants, need->owner))
			continue;
		appendStringInfo(&text, "%s%s: %s", separator, member->relayer, why_not(member, need));
		separator = "; ";
	}
	appendStringInfo(&text, "); it waits for \"%s\"", chosen->relayer);
	return text.data;
}

bool
relay_pool_assign(struct relay_pool *pool, struct relay_send *send,
				  const struct relay_member **chosen)
{
	struct relay_need need = {0};
	struct relay_member *member;
	bool qualifies;

	need.owner = send->owner;
	need.value = send->value;
	need.gas_limit = send->gas_limit;
	need.has_cap = send->has_max_fee;
	need.cap = send->max_fee_per_gas;
	member = relay_pool_choose(pool, &need, &qualifies);
	if (member == NULL)
		return false;
	send->pool = pstrdup(pool->name);
	send->relayer = pstrdup(member->relayer);
	if (send->valid_until == 0)
		send->valid_until = relay_valid_until(NULL, &member->grants);
	send->reason = qualifies ? NULL : relay_pool_reason(pool, &need, member);
	relay_pool_take(pool, member, &need);
	if (chosen != NULL)
		*chosen = member;
	return true;
}

const char *
relay_pool_denied(const struct relay_pool *pool, Oid owner)
{
	int i;

	for (i = 0; i < pool->count; i++)
		if (!relay_grants_allow(&pool->members[i].grants, owner))
			return pool->members[i].relayer;
	return NULL;
}
