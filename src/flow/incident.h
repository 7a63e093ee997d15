/*
 * incident.h
 *	  Rows of rflow_private.incidents: what cannot go on by itself, why, since when, and what to do.
 */
#ifndef FLOW_INCIDENT_H
#define FLOW_INCIDENT_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * Opens it, or says the reason anew while it is open; true when it was not. In the caller's
 * transaction; needs SPI.
 */
extern bool flow_open_incident(const char *kind, const char *workflow, const char *subject,
							   const char *reason, const char *what_to_do);

/* Closes those of a kind about these subjects (a List of char *).  Needs SPI. */
extern void flow_close_incidents(const char *kind, List *subjects);

/* Is any of that kind open?  Needs SPI. */
extern bool flow_has_incidents(const char *kind);

#endif /* FLOW_INCIDENT_H */
