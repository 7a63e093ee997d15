/*
 * utility_hook.h
 *	  Lets commands through that workers are in the way of, and tells workers of
 *	  commands that concern them.
 */
#ifndef WORKER_UTILITY_HOOK_H
#define WORKER_UTILITY_HOOK_H

/* Called once from _PG_init. */
extern void worker_install_hooks(void);

#endif /* WORKER_UTILITY_HOOK_H */
