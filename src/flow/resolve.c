/*
 * resolve.c
 *	  Makes a version of a workflow self-contained: contracts and relayers become chain ids,
 *	  addresses and ABI items.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "db/datum.h"
#include "db/statement.h"
#include "flow/resolve.h"
#include "flow/step_kind.h"
#include "miscadmin.h"
#include "relay/pool.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/memutils.h"

/* The ABIs of all contracts that one definition names. */
#define RESOLVE_MAX_BYTES (64 * 1024 * 1024)

static struct db_statement contract_by_name = {
	.sql =
		"SELECT c.network, n.chain_id, c.address::text, c.abi::text "
		"  FROM rflow.contracts c "
		"  JOIN rflow.networks n ON n.name = c.network "
		" WHERE c.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement relayer_by_name = {
	.sql =
		"SELECT r.network, n.chain_id "
		"  FROM rflow.relayers r "
		"  JOIN rflow.networks n ON n.name = r.network "
		" WHERE r.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

void
flow_add_member(struct flow_resolver *resolver, const char *name, const char *text)
{
	appendStringInfo(&resolver->members, ",\"%s\":", name);
	escape_json(&resolver->members, text);
}

void
flow_add_number(struct flow_resolver *resolver, const char *name, int64 number)
{
	appendStringInfo(&resolver->members, ",\"%s\":" INT64_FORMAT, name, number);
}

/* True when the human-readable line of an item gives the same item when it is read again. */
static bool
reads_back(struct flow_resolver *resolver, const struct evm_abi_item *item, const char *line)
{
	struct evm_bytes fragment = {(const uint8_t *) line, strlen(line)};
	const struct evm_abi_item *again;
	struct evm_abi abi;
	size_t which;

	if (evm_abi_parse_fragments(resolver->arena, &abi, &fragment, 1, &which, NULL) != EVM_OK)
		return false;
	again = &abi.items[0];
	if (strcmp(again->signature, item->signature) != 0 || again->input_count != item->input_count ||
		again->output_count != item->output_count)
		return false;
	for (size_t i = 0; i < item->input_count; i++)
	{
		if (strcmp(again->inputs[i].name, item->inputs[i].name) != 0)
			return false;
	}
	for (size_t i = 0; i < item->output_count; i++)
	{
		if (strcmp(again->outputs[i].name, item->outputs[i].name) != 0)
			return false;
	}
	return true;
}

/*
 * The item as one line; as JSON where its names are such that no line can say it. NULL when the
 * arena is full.
 */
static const char *
item_text(struct flow_resolver *resolver, const struct evm_abi_item *item)
{
	const char *line = evm_abi_item_text(resolver->arena, item);
	struct evm_abi alone = {item, 1};
	struct evm_bytes json;

	if (line != NULL && reads_back(resolver, item, line))
		return line;
	if (evm_abi_to_json(resolver->arena, &json, &alone) != EVM_OK)
		return NULL;
	return evm_arena_strndup(resolver->arena, (const char *) json.data, json.len);
}

/* The custom errors of the contract, so that a revert can be told in its words. */
static void
add_errors(struct flow_resolver *resolver, const struct evm_abi *abi)
{
	const char *separator = "";

	appendStringInfoString(&resolver->members, ",\"errors\":[");
	for (size_t i = 0; i < abi->item_count; i++)
	{
		const struct evm_abi_item *item = &abi->items[i];
		const char *line;

		if (item->kind != EVM_ABI_ITEM_ERROR)
			continue;
		line = evm_abi_item_text(resolver->arena, item);
		if (line == NULL || !reads_back(resolver, item, line))
			continue;
		appendStringInfoString(&resolver->members, separator);
		escape_json(&resolver->members, line);
		separator = ",";
	}
	appendStringInfoChar(&resolver->members, ']');
}

const struct evm_abi_item *
flow_resolve_item(struct flow_resolver *resolver, const char *contract, enum evm_abi_item_kind kind,
				  const char *item)
{
	Datum name = CStringGetTextDatum(contract);
	const struct evm_abi_item *found;
	struct evm_abi abi;
	struct evm_error error;
	char *text;
	const char *line;

	if (db_execute(&contract_by_name, &name, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("%s: contract \"%s\" does not exist", resolver->subject, contract),
				 errhint("Contracts are rows of rflow.contracts.")));
	text = db_text(0, 4);
	if (evm_abi_parse_json(resolver->arena, &abi, NULL, text, strlen(text), &error) != EVM_OK)
		db_raise(&error, psprintf("ABI of contract \"%s\"", contract));
	if (evm_abi_find(&found, &abi, kind, item, &error) != EVM_OK)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("%s: contract \"%s\": %s", resolver->subject, contract, error.message),
				 strchr(item, '(') == NULL && strstr(error.message, "several") != NULL
					 ? errhint("Write the whole signature.")
					 : 0));

	line = item_text(resolver, found);
	if (line == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("%s: the ABI of contract \"%s\" is too large", resolver->subject,
						contract)));
	flow_add_member(resolver, "network", db_text(0, 1));
	flow_add_number(resolver, "chain_id", db_int64(0, 2));
	flow_add_member(resolver, "address", db_text(0, 3));
	flow_add_member(resolver, "abi", line);
	if (kind == EVM_ABI_ITEM_FUNCTION)
		add_errors(resolver, &abi);
	return found;
}

const char *
flow_resolve_relayer(struct flow_resolver *resolver, const char *relayer)
{
	Datum name = CStringGetTextDatum(relayer);
	const char *network;
	int64 chain_id;

	if (db_execute(&relayer_by_name, &name, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("%s: relayer \"%s\" does not exist", resolver->subject, relayer),
				 errhint("Relayers are rows of rflow.relayers.")));
	network = db_text(0, 1);
	chain_id = db_int64(0, 2);
	if (!relay_may_use(relayer, resolver->owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("%s: role \"%s\" may not use relayer \"%s\"", resolver->subject,
						GetUserNameFromId(resolver->owner, true), relayer),
				 errhint("Insert a row into rflow.relayer_grants.")));
	flow_add_member(resolver, "relayer_network", network);
	flow_add_number(resolver, "relayer_chain_id", chain_id);
	return network;
}

const char *
flow_resolve_pool(struct flow_resolver *resolver, const char *name)
{
	struct relay_pool *pool = relay_read_pool(name);
	const char *denied;

	if (pool == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("%s: pool \"%s\" does not exist", resolver->subject, name),
				 errhint("Pools are rows of rflow.relayer_pools.")));
	denied = relay_pool_denied(pool, resolver->owner);
	if (denied != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("%s: role \"%s\" may not use relayer \"%s\" of pool \"%s\"",
						resolver->subject, GetUserNameFromId(resolver->owner, true), denied, name),
				 errhint("Insert a row into rflow.relayer_grants.")));
	flow_add_member(resolver, "relayer_network", pool->network);
	flow_add_number(resolver, "relayer_chain_id", pool->chain_id);
	return pool->network;
}

/* The user's object with the resolver's members added to it. */
static Jsonb *
extend(Jsonb *object, struct flow_resolver *resolver)
{
	Datum added;

	if (resolver->members.len == 0)
		return object;
	resolver->members.data[0] = '{';
	appendStringInfoChar(&resolver->members, '}');
	added = DirectFunctionCall1(jsonb_in, CStringGetDatum(resolver->members.data));
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(object), added));
}

static Jsonb *
resolve_trigger(struct flow_resolver *resolver, Jsonb *trigger)
{
	const struct evm_json *node = flow_parse_json(resolver->arena, trigger, "trigger");
	const struct evm_json *confirmations = evm_json_object_get(node, "confirmations");
	const char *finality = flow_json_string(node, "finality");
	int64_t depth = 0;

	resolver->subject = "trigger";
	initStringInfo(&resolver->members);
	if (strcmp(flow_json_string(node, "kind"), "event") != 0)
		return trigger;
	flow_resolve_item(resolver, flow_json_string(node, "contract"), EVM_ABI_ITEM_EVENT,
					  flow_json_string(node, "event"));
	evm_json_integer(confirmations, &depth);
	if (finality != NULL)
		flow_add_member(resolver, "ceiling", finality);
	else if (depth > 0)
		flow_add_member(resolver, "ceiling", psprintf("%d", (int) depth));
	else
		flow_add_member(resolver, "ceiling", "head");
	return extend(trigger, resolver);
}

static Jsonb *
resolve_step(struct flow_resolver *resolver, Jsonb *step)
{
	const struct evm_json *node = flow_parse_json(resolver->arena, step, "step");
	const struct flow_step_kind *kind = flow_step_kind_find(flow_json_string(node, "kind"));

	resolver->subject = psprintf("step \"%s\"", flow_json_string(node, "name"));
	initStringInfo(&resolver->members);
	if (kind->resolve != NULL)
		kind->resolve(resolver, node);
	return extend(step, resolver);
}

static void
push_member(JsonbParseState **state, const char *name, JsonbValue *value)
{
	JsonbValue key = {.type = jbvString};

	key.val.string.val = unconstify(char *, name);
	key.val.string.len = strlen(name);
	pushJsonbValue(state, WJB_KEY, &key);
	pushJsonbValue(state, WJB_VALUE, value);
}

static void
push_jsonb(JsonbParseState **state, const char *name, Jsonb *json)
{
	JsonbValue value;

	value.type = jbvBinary;
	value.val.binary.data = &json->root;
	value.val.binary.len = VARSIZE(json) - VARHDRSZ;
	push_member(state, name, &value);
}

static void
push_text(JsonbParseState **state, const char *name, const char *text)
{
	JsonbValue value = {.type = jbvString};

	if (text == NULL)
		return;
	value.val.string.val = unconstify(char *, text);
	value.val.string.len = strlen(text);
	push_member(state, name, &value);
}

Jsonb *
flow_resolve(Jsonb *trigger, const char *filter, const char *once_per, Jsonb *steps, Jsonb *vars,
			 Oid owner)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "rflow resolve", ALLOCSET_SMALL_SIZES);
	struct flow_resolver resolver = {.owner = owner};
	JsonbParseState *state = NULL;
	JsonbValue key = {.type = jbvString};
	JsonbValue element;
	Jsonb *result;
	int count = JB_ROOT_COUNT(steps);

	resolver.arena = db_arena_create(context, RESOLVE_MAX_BYTES);
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	push_jsonb(&state, "trigger", resolve_trigger(&resolver, trigger));
	push_text(&state, "filter", filter);
	push_text(&state, "once_per", once_per);
	push_jsonb(&state, "vars", vars);
	key.val.string.val = "steps";
	key.val.string.len = strlen("steps");
	pushJsonbValue(&state, WJB_KEY, &key);
	pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < count; i++)
	{
		Jsonb *step = JsonbValueToJsonb(getIthJsonbValueFromContainer(&steps->root, i));

		step = resolve_step(&resolver, step);
		element.type = jbvBinary;
		element.val.binary.data = &step->root;
		element.val.binary.len = VARSIZE(step) - VARHDRSZ;
		pushJsonbValue(&state, WJB_ELEM, &element);
	}
	pushJsonbValue(&state, WJB_END_ARRAY, NULL);
	result = JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL));
	MemoryContextDelete(context);
	return result;
}
