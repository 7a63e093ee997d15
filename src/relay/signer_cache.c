/*
 * signer_cache.c
 *	  Keys whose derivation takes long, kept in this process as long as a relayer names them.
 */
#include "postgres.h"

#include "relay/signer_cache.h"

#include "storage/ipc.h"
#include "utils/memutils.h"

struct entry
{
	char *signer; /* NULL: free */
	struct evm_hash origin;
	bool usable;
	struct evm_key key;
	char problem[RELAY_PROBLEM_BYTES];
};

static struct entry *entries;
static int entry_count;

static void
clear(struct entry *entry)
{
	if (entry->signer != NULL)
		pfree(entry->signer);
	evm_wipe(entry, sizeof(*entry));
}

static void
wipe_all(int code, Datum arg)
{
	evm_wipe(entries, sizeof(*entries) * entry_count);
}

static struct entry *
find(const char *signer)
{
	int i;

	for (i = 0; i < entry_count; i++)
		if (entries[i].signer != NULL && strcmp(entries[i].signer, signer) == 0)
			return &entries[i];
	return NULL;
}

/* A larger array is a new one, since the old one must be wiped. */
static struct entry *
add(void)
{
	struct entry *larger;
	int i;

	for (i = 0; i < entry_count; i++)
		if (entries[i].signer == NULL)
			return &entries[i];
	larger = MemoryContextAllocZero(TopMemoryContext, sizeof(*larger) * (2 * entry_count + 1));
	if (entries == NULL)
		on_proc_exit(wipe_all, (Datum) 0);
	else
	{
		memcpy(larger, entries, sizeof(*entries) * entry_count);
		evm_wipe(entries, sizeof(*entries) * entry_count);
		pfree(entries);
	}
	entries = larger;
	i = entry_count;
	entry_count = 2 * entry_count + 1;
	return &entries[i];
}

bool
relay_cache_find(bool *usable, struct evm_key *key, char problem[RELAY_PROBLEM_BYTES],
				 const char *signer, const struct evm_hash *origin)
{
	struct entry *entry = find(signer);

	if (entry == NULL)
		return false;
	if (memcmp(&entry->origin, origin, sizeof(*origin)) != 0)
	{
		clear(entry);
		return false;
	}
	*usable = entry->usable;
	if (entry->usable)
		*key = entry->key;
	else
		strlcpy(problem, entry->problem, RELAY_PROBLEM_BYTES);
	return true;
}

void
relay_cache_keep(const char *signer, const struct evm_hash *origin, const struct evm_key *key,
				 const char *problem)
{
	struct entry *entry = find(signer);
	char *name = MemoryContextStrdup(TopMemoryContext, signer);

	if (entry == NULL)
		entry = add();
	else
		clear(entry);
	entry->signer = name;
	entry->origin = *origin;
	entry->usable = key != NULL;
	if (key != NULL)
		entry->key = *key;
	else
		strlcpy(entry->problem, problem, sizeof(entry->problem));
}

void
relay_cache_retain(const char *const *signers, int count)
{
	int i;
	int j;

	for (i = 0; i < entry_count; i++)
	{
		for (j = 0; j < count; j++)
			if (entries[i].signer != NULL && strcmp(entries[i].signer, signers[j]) == 0)
				break;
		if (j == count)
			clear(&entries[i]);
	}
}
