/*
 * crash.h
 *	  Named points at which tests make a process die; inert in production.
 *
 * rflow.crash_point = 'claim-before-commit:abort' (superuser only).  Actions: error, exit
 * (proc_exit(1)), abort (SIGABRT: the server restarts), wait (until the setting changes:
 * for SIGTERM and for immediate shutdowns).  Without the setting a point costs one test
 * of a pointer.
 */
#ifndef DB_CRASH_H
#define DB_CRASH_H

#include "db/settings.h"

extern void db_crash_point_reached(const char *name);

#define DB_CRASH_POINT(name) \
	do \
	{ \
		if (unlikely(db_crash_point != NULL && db_crash_point[0] != '\0')) \
			db_crash_point_reached(name); \
	} while (0)

#endif /* DB_CRASH_H */
