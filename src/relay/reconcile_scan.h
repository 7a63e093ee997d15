/*
 * reconcile_scan.h
 *	  Reads a range of blocks for the accounts that miss something, and stores what is found.
 */
#ifndef RELAY_RECONCILE_SCAN_H
#define RELAY_RECONCILE_SCAN_H

#include "relay/reconcile.h"

/*
 * One batch to the node for all accounts that are not complete: the blocks after the lowest of
 * their scanned_to, up to the newest one that is deep enough, and for accounts without a first
 * nonce their count at the restored block.  Then one transaction.  *advanced: blocks have been
 * read.  False when the node did not answer as it should (the range gets smaller) or the worker
 * may not act.
 */
extern bool relay_scan(struct relay_process *process, struct relay_account_progress *progress,
					   int count, bool *advanced);

#endif /* RELAY_RECONCILE_SCAN_H */
