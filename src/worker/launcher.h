/*
 * launcher.h
 *	  The only static worker: finds the databases that have the extension.
 */
#ifndef WORKER_LAUNCHER_H
#define WORKER_LAUNCHER_H

/* Called once from _PG_init. */
extern void worker_register_launcher(void);

#endif /* WORKER_LAUNCHER_H */
