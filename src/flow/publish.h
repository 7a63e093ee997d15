/*
 * publish.h
 *	  From a row of rflow.workflows to a version that watchers and executors read.
 */
#ifndef FLOW_PUBLISH_H
#define FLOW_PUBLISH_H

#include "flow/definition.h"

/* A row of rflow.workflows. */
struct flow_workflow
{
	const char *name;
	Jsonb *trigger;
	const char *filter;   /* or NULL */
	const char *once_per; /* or NULL */
	Jsonb *steps;
	Jsonb *vars;
	const char *start_at;
	Oid owner;
	const char *search_path;
	int version;
};

/*
 * Resolves the definition and checks every expression as the owner; raises the first error. Needs
 * SPI. Gives the version's definition.
 */
extern Jsonb *flow_compile(const struct flow_workflow *workflow);

/* Inserts the row of rflow.workflow_versions.  As a user that may; needs SPI. */
extern void flow_store_version(const struct flow_workflow *workflow, Jsonb *definition);
/* The number that the next version of a workflow has. */
extern int flow_next_version(const char *name);

/*
 * Makes the workflow's place on the chain what its trigger and start_at say. keep: a workflow
 * that is on this network already stays where it is, under another ceiling perhaps.
 */
extern void flow_subscribe(const struct flow_workflow *workflow, Jsonb *definition, bool keep);
extern void flow_unsubscribe(const char *name);
/* A workflow that is disabled keeps its place, whoever shares the cursor goes on without it. */
extern void flow_detach_cursor(const char *name);
/* Goes on where the network's watcher stands; records what is skipped. */
extern void flow_skip_to_head(const char *name);

#endif /* FLOW_PUBLISH_H */
