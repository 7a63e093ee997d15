/*
 * reorg.c
 *	  rflow.accept_branch: an operator lets a halted network follow a branch that is deeper than the
 *	  headers that are kept.
 *
 * Where it begins only the operator can say: the headers are forgotten, the runs from that block on
 * are detached, and the watcher begins with what the node has, reading from there.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "api/relay.h"
#include "db/statement.h"
#include "db/wake.h"
#include "relay/operator_log.h"

PG_FUNCTION_INFO_V1(rflow_accept_branch);

static struct db_statement halted_network = {
	.sql =
		"SELECT s.status LIKE 'halted:%'"
		"  FROM rflow.networks n"
		"  LEFT JOIN rflow_private.own_workers s ON s.kind = 'watcher' AND s.network = n.name"
		" WHERE n.name = $1",
	.types = {TEXTOID},
	.count = 1,
};

static struct db_statement forget_branch = {
	.sql = "SELECT rflow_private.forget_branch($1, $2)",
	.types = {TEXTOID, INT8OID},
	.count = 2,
};

static void
require_halted(const char *network)
{
	Datum name = CStringGetTextDatum(network);
	bool isnull;
	Datum halted;

	if (db_execute(&halted_network, &name, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("network \"%s\" does not exist", network)));
	halted = db_value(0, 1, &isnull);
	if (isnull || !DatumGetBool(halted))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("network \"%s\" is not halted", network),
				 errdetail("Reorganisations within the headers that are kept are followed without "
						   "being told.")));
}

/* accept_branch(network, from_block, reason) */
Datum
rflow_accept_branch(PG_FUNCTION_ARGS)
{
	struct db_identity_frame frame;
	struct relay_verb entry = {0};
	Datum parameters[2];
	char *network;
	int64 detached;

	api_need_argument(fcinfo, 0, "network");
	api_need_argument(fcinfo, 1, "from_block");
	network = text_to_cstring(PG_GETARG_TEXT_PP(0));
	if (PG_GETARG_INT64(1) < 1)
		ereport(
			ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("from_block must be above 0"),
			 errdetail(
				 "A chain with another genesis block is another network: give it a new name.")));
	api_require_operator("accept a branch");
	entry.verb = "accept_branch";
	entry.subject = psprintf("network %s", network);
	entry.caller = GetUserId();
	entry.reason = api_text_or_null(fcinfo, 2);
	entry.detail = psprintf("{\"from_block\": " INT64_FORMAT "}", PG_GETARG_INT64(1));
	parameters[0] = PG_GETARG_DATUM(0);
	parameters[1] = PG_GETARG_DATUM(1);
	api_begin_private(&frame);
	require_halted(network);
	(void) db_execute(&forget_branch, parameters, NULL);
	detached = db_int64(0, 1);
	entry.outcome = psprintf(INT64_FORMAT " runs detached", detached);
	relay_log_verb(&entry);
	db_definitions_changed();
	api_end_private(&frame);
	PG_RETURN_INT64(detached);
}
