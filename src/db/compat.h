/*
 * compat.h
 *	  What differs between PostgreSQL 14 and 18, spelt with the newest names.
 */
#ifndef DB_COMPAT_H
#define DB_COMPAT_H

#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/guc.h"

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Named wait events of extensions, and wait event sets owned by a resource owner, came in 17. */
#if PG_VERSION_NUM < 170000
#define WaitEventExtensionNew(name) ((void) (name), PG_WAIT_EXTENSION)
#define CreateWaitEventSet(owner, events) CreateWaitEventSet(CurrentMemoryContext, events)
#define MyProcNumber (MyProc->pgprocno)
typedef int ProcNumber;
#define INVALID_PROC_NUMBER (-1)
#endif

#if PG_VERSION_NUM < 160000
/* Input functions could only raise. */
#define errsave(context, ...) ereport(ERROR, __VA_ARGS__)
#endif

#if PG_VERSION_NUM < 160000
#include "catalog/pg_database.h"
#include "utils/acl.h"

/* Only databases are asked about. */
static inline bool
object_ownercheck(Oid class_id, Oid object_id, Oid role_id)
{
	Assert(class_id == DatabaseRelationId);
	return pg_database_ownercheck(object_id, role_id);
}
#endif

/* Shared memory is asked for in a hook; before 15, while the library is loaded. */
#if PG_VERSION_NUM >= 150000
#define DB_REQUEST_SHMEM_BY(function, next) \
	((next) = shmem_request_hook, shmem_request_hook = (function))
#else
typedef void (*shmem_request_hook_type)(void);
#define DB_REQUEST_SHMEM_BY(function, next) ((next) = NULL, (function) ())
#endif

#if PG_VERSION_NUM < 150000
#include "funcapi.h"
#include "nodes/execnodes.h"

#define MarkGUCPrefixReserved(prefix) EmitWarningsOnPlaceholders(prefix)

static inline TimeLineID
GetWALInsertionTimeLine(void)
{
	/* Sets ThisTimeLineID as a side effect. */
	(void) RecoveryInProgress();
	return ThisTimeLineID;
}

/* A set-returning function that fills a tuplestore; flags are not supported. */
static inline void
InitMaterializedSRF(FunctionCallInfo fcinfo, bits32 flags)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext saved;
	TupleDesc desc;

	Assert(flags == 0);
	if (result == NULL || !IsA(result, ReturnSetInfo) ||
		(result->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	saved = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	result->returnMode = SFRM_Materialize;
	result->setResult = tuplestore_begin_heap((result->allowedModes & SFRM_Materialize_Random) != 0,
											  false, work_mem);
	result->setDesc = desc;
	MemoryContextSwitchTo(saved);
}
#endif

#if PG_VERSION_NUM < 150000
#define pg_analyze_and_rewrite_withcb pg_analyze_and_rewrite_params
#endif

/* Runs a query once, to its end; the last argument of ExecutorRun went away in 18. */
#if PG_VERSION_NUM < 180000
#define executor_run(query) ExecutorRun((query), ForwardScanDirection, 0, true)
#else
#define executor_run(query) ExecutorRun((query), ForwardScanDirection, 0)
#endif

#endif /* DB_COMPAT_H */
