/*
 * policy_window.c
 *	  Counts value and number of what is signed, and says when there is room again.
 *
 * A window is counted in pieces, so that its cost does not grow with what is signed in it.  A piece
 * counts until a whole window after its end: a little too long, never too short.  Sends may thus
 * wait one piece longer than they would have to, and no interval ever has more than the limit.
 */
#include "postgres.h"

#include "relay/policy_window.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "db/datum.h"
#include "db/statement.h"
#include "evm/word.h"

#define PIECES 64
/* What waits for longer is looked at again: its policy may have become another. */
#define LONGEST_HOLD_MS (10 * 60 * 1000)

static struct db_statement add_policies = {
	.sql =
		"INSERT INTO rflow_private.policy_windows (policy, upto, value, transactions)"
		"SELECT policy, '-infinity', 0, 0"
		"  FROM pg_catalog.unnest($1) AS p (policy)"
		" ORDER BY policy"
		"    ON CONFLICT DO NOTHING",
	.types = {TEXTARRAYOID},
	.count = 1,
};

static struct db_statement lock_policies = {
	.sql =
		"SELECT policy"
		"  FROM rflow_private.policy_windows"
		" WHERE policy = ANY ($1) AND upto = '-infinity'"
		" ORDER BY policy"
		"   FOR UPDATE",
	.types = {TEXTARRAYOID},
	.count = 1,
};

static struct db_statement load_pieces = {
	.sql =
		"SELECT policy, upto, value, transactions"
		"  FROM rflow_private.policy_windows"
		" WHERE policy = ANY ($1) AND upto > '-infinity'"
		" ORDER BY policy, upto",
	.types = {TEXTARRAYOID},
	.count = 1,
};

static struct db_statement add_pieces = {
	.sql =
		"INSERT INTO rflow_private.policy_windows AS w (policy, upto, value, transactions)"
		"SELECT policy, upto, value, transactions"
		"  FROM unnest($1, $2, $3, $4) AS p (policy, upto, value, transactions)"
		"    ON CONFLICT (policy, upto) DO UPDATE"
		"   SET value = w.value + EXCLUDED.value,"
		"       transactions = w.transactions + EXCLUDED.transactions",
	.types = {TEXTARRAYOID, TIMESTAMPTZARRAYOID, NUMERICARRAYOID, INT8ARRAYOID},
	.count = 4,
};

static struct db_statement remove_pieces = {
	.sql =
		"DELETE FROM rflow_private.policy_windows w"
		" USING unnest($1, $2) AS p (policy, before)"
		" WHERE w.policy = p.policy AND w.upto > '-infinity' AND w.upto <= p.before",
	.types = {TEXTARRAYOID, TIMESTAMPTZARRAYOID},
	.count = 2,
};

struct piece
{
	TimestampTz upto;
	struct evm_word value;
	int64 transactions;
};

struct window
{
	const struct relay_policy *policy;
	struct piece *pieces; /* by time; the last one is what is signed now, and not stored yet */
	int count;
};

struct relay_windows
{
	struct relay_plan *plan;
	TimestampTz now;
	struct window *windows; /* by name of the policy */
	int count;
};

static bool
is_needed(const struct relay_plan *plan, const struct relay_policy *policy)
{
	int i;

	for (i = 0; policy->window_us != 0 && i < plan->order_count; i++)
	{
		const struct relay_order *order = &plan->orders[i];
		struct relay_subject subject;

		if (order->candidate == NULL || order->dropped)
			continue;
		subject = relay_subject_of(order->candidate);
		if (relay_policy_applies(policy, &subject))
			return true;
	}
	return false;
}

static ArrayType *
names_of(const struct relay_windows *windows)
{
	Datum *names = palloc(sizeof(Datum) * (windows->count + 1));
	int i;

	for (i = 0; i < windows->count; i++)
		names[i] = CStringGetTextDatum(windows->windows[i].policy->name);
	return construct_array(names, windows->count, TEXTOID, -1, false, TYPALIGN_INT);
}

/* The end of the piece that a moment is in. */
static TimestampTz
piece_of(const struct relay_policy *policy, TimestampTz at)
{
	int64 length = Max(policy->window_us / PIECES, 1);

	return at - at % length + length;
}

static void
read_pieces(struct relay_windows *windows, Datum names)
{
	uint64 rows = db_execute(&load_pieces, &names, NULL);
	uint64 row = 0;
	int i;

	for (i = 0; i < windows->count; i++)
	{
		struct window *window = &windows->windows[i];

		window->pieces = palloc0(sizeof(struct piece) * (rows - row + 1));
		for (; row < rows && strcmp(db_text(row, 1), window->policy->name) == 0; row++)
		{
			struct piece *piece = &window->pieces[window->count++];
			bool negative;

			piece->upto = DatumGetTimestampTz(db_value(row, 2, NULL));
			if (!db_numeric_word(&piece->value, &negative, db_value(row, 3, NULL)))
				memset(&piece->value, 0xff, sizeof(piece->value));
			piece->transactions = db_int64(row, 4);
		}
		window->pieces[window->count++].upto = piece_of(window->policy, windows->now);
	}
}

struct relay_windows *
relay_windows_lock(struct relay_plan *plan, TimestampTz now)
{
	struct relay_windows *windows;
	Datum names;
	int i;

	if (plan->policies == NULL || !plan->policies->has_windows)
		return NULL;
	windows = palloc0(sizeof(struct relay_windows));
	windows->plan = plan;
	windows->now = now;
	windows->windows = palloc0(sizeof(struct window) * plan->policies->count);
	for (i = 0; i < plan->policies->count; i++)
		if (is_needed(plan, &plan->policies->policies[i]))
			windows->windows[windows->count++].policy = &plan->policies->policies[i];
	if (windows->count == 0)
		return NULL;
	names = PointerGetDatum(names_of(windows));
	if (db_execute(&lock_policies, &names, NULL) != (uint64) windows->count)
	{
		(void) db_execute(&add_policies, &names, NULL);
		db_execute_exactly(&lock_policies, &names, NULL, windows->count, "the window of a policy");
	}
	read_pieces(windows, names);
	return windows;
}

static TimestampTz
end_of(const struct window *window, int index)
{
	return window->pieces[index].upto + window->policy->window_us;
}

/*
 * Is there room for one more transaction of this value, besides the pieces from first on that have
 * not ended at that moment?  Otherwise *field is what is in the way.
 */
static bool
has_room(const struct window *window, int first, TimestampTz at, const struct evm_word *value,
		 const char **field, struct piece *used)
{
	const struct relay_policy *policy = window->policy;
	struct evm_word sum;
	int i;

	memset(used, 0, sizeof(*used));
	for (i = first; i < window->count; i++)
	{
		if (end_of(window, i) <= at)
			continue;
		used->transactions += window->pieces[i].transactions;
		if (evm_word_add(&used->value, &used->value, &window->pieces[i].value))
			memset(&used->value, 0xff, sizeof(used->value));
	}
	*field = "max_transactions_per_window";
	if (policy->window_transactions != 0 && used->transactions >= policy->window_transactions)
		return false;
	*field = "max_value_per_window";
	return !policy->window_value.set ||
		(!evm_word_add(&sum, &used->value, value) &&
		 evm_word_compare(&sum, &policy->window_value.amount) <= 0);
}

/* When enough of what was signed has left the window. */
static TimestampTz
room_at(const struct window *window, TimestampTz now, const struct evm_word *value)
{
	const char *field;
	struct piece used;
	int i;

	for (i = 0; i < window->count; i++)
		if (end_of(window, i) > now &&
			has_room(window, i + 1, end_of(window, i), value, &field, &used))
			return end_of(window, i);
	/* Never: a limit was lowered, and the policy refuses it when it is looked at again. */
	return TimestampTzPlusMilliseconds(now, LONGEST_HOLD_MS);
}

static void
hold(struct relay_windows *windows, const struct window *window, const struct relay_order *order,
	 const char *field, const struct piece *used, TimestampTz until)
{
	const struct relay_policy *policy = window->policy;
	TimestampTz look_at = Min(until, TimestampTzPlusMilliseconds(windows->now, LONGEST_HOLD_MS));
	char signed_value[EVM_WORD_DECIMAL_BYTES];
	char limit[EVM_WORD_DECIMAL_BYTES];
	char *what;

	evm_word_to_decimal(signed_value, &used->value, false);
	evm_word_to_decimal(limit, &policy->window_value.amount, false);
	what = strcmp(field, "max_value_per_window") == 0
		? psprintf("%s of %s wei are signed for", signed_value, limit)
		: psprintf("%lld of %d transactions are signed", (long long) used->transactions,
				   policy->window_transactions);
	relay_hold_queued(order->candidate->id,
					  psprintf("policy \"%s\" (%s): %s in %s; there is room at %s", policy->name,
							   field, what, policy->window_text, timestamptz_to_str(until)),
					  look_at);
	if (windows->plan->look_at == 0 || look_at < windows->plan->look_at)
		windows->plan->look_at = look_at;
}

/* What is signed now, in each window that counts it. */
static void
count_in(struct relay_windows *windows, const struct relay_order *order, bool add)
{
	struct relay_subject subject = relay_subject_of(order->candidate);
	int i;

	for (i = 0; i < windows->count; i++)
	{
		struct window *window = &windows->windows[i];
		struct piece *now = &window->pieces[window->count - 1];

		if (!relay_policy_applies(window->policy, &subject))
			continue;
		now->transactions += add ? 1 : -1;
		if (add)
			(void) evm_word_add(&now->value, &now->value, &subject.value);
		else
			(void) evm_word_sub(&now->value, &now->value, &subject.value);
	}
}

bool
relay_windows_take(struct relay_windows *windows, const struct relay_order *order)
{
	const struct window *full = NULL;
	const char *full_field = NULL;
	struct piece full_used = {0};
	struct relay_subject subject;
	TimestampTz until = 0;
	int i;

	if (windows == NULL)
		return true;
	subject = relay_subject_of(order->candidate);
	for (i = 0; i < windows->count; i++)
	{
		const struct window *window = &windows->windows[i];
		const char *field;
		struct piece used;
		TimestampTz at;

		if (!relay_policy_applies(window->policy, &subject) ||
			has_room(window, 0, windows->now, &subject.value, &field, &used))
			continue;
		at = room_at(window, windows->now, &subject.value);
		if (full != NULL && at <= until)
			continue;
		full = window;
		full_field = field;
		full_used = used;
		until = at;
	}
	if (full != NULL)
		hold(windows, full, order, full_field, &full_used, until);
	else
		count_in(windows, order, true);
	return full == NULL;
}

void
relay_windows_give_back(struct relay_windows *windows, const struct relay_order *order)
{
	if (windows != NULL)
		count_in(windows, order, false);
}

/* For each window that counted something: what is signed now, and the same for the row of all. */
static void
put_pieces(struct relay_windows *windows, Datum parameters[4], Datum removal[2])
{
	int room = 2 * windows->count;
	Datum *policies = palloc(sizeof(Datum) * room);
	Datum *uptos = palloc(sizeof(Datum) * room);
	Datum *values = palloc(sizeof(Datum) * room);
	Datum *transactions = palloc(sizeof(Datum) * room);
	Datum *befores = palloc(sizeof(Datum) * room);
	int count = 0;
	int i;

	for (i = 0; i < room; i++)
	{
		const struct window *window = &windows->windows[i / 2];
		const struct piece *now = &window->pieces[window->count - 1];

		if (now->transactions == 0)
			continue;
		policies[count] = CStringGetTextDatum(window->policy->name);
		uptos[count] = TimestampTzGetDatum(i % 2 == 0 ? DT_NOBEGIN : now->upto);
		values[count] = db_word_numeric(&now->value, false);
		transactions[count] = Int64GetDatum(now->transactions);
		befores[count++] = TimestampTzGetDatum(windows->now - window->policy->window_us);
	}
	parameters[0] = removal[0] =
		PointerGetDatum(construct_array(policies, count, TEXTOID, -1, false, TYPALIGN_INT));
	parameters[1] =
		PointerGetDatum(construct_array(uptos, count, TIMESTAMPTZOID, sizeof(TimestampTz),
										FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	parameters[2] =
		PointerGetDatum(construct_array(values, count, NUMERICOID, -1, false, TYPALIGN_INT));
	parameters[3] = PointerGetDatum(construct_array(transactions, count, INT8OID, sizeof(int64),
													FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	removal[1] =
		PointerGetDatum(construct_array(befores, count, TIMESTAMPTZOID, sizeof(TimestampTz),
										FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

void
relay_windows_store(struct relay_windows *windows)
{
	Datum parameters[4];
	Datum removal[2];

	if (windows == NULL)
		return;
	put_pieces(windows, parameters, removal);
	(void) db_execute(&add_pieces, parameters, NULL);
	(void) db_execute(&remove_pieces, removal, NULL);
}
