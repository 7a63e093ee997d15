/*
 * signer_source.h
 *	  Secret texts from where the operator of the server has put them.
 *
 * Whoever may write rflow.relayers chooses the reference, so it must not open anything else:
 * variables that begin with RFLOW_, and files of one directory, without links, that nobody else
 * can read.  No message ever holds a part of what was read.
 */
#ifndef RELAY_SIGNER_SOURCE_H
#define RELAY_SIGNER_SOURCE_H

#include "postgres.h"

#include "evm/bytes.h"

#define RELAY_PROBLEM_BYTES 256

#define RELAY_SOURCE_VARIABLE "env:"
#define RELAY_SOURCE_FILE "file:"
/* What variables that hold secrets begin with. */
#define RELAY_VARIABLE_PREFIX "RFLOW_"

/* A text that is being read; buffer has room for capacity bytes and is the caller's to wipe. */
struct relay_text
{
	char *buffer;
	size_t capacity;
	size_t len;
};

/* Writes the problem from a printf format and returns false. */
extern bool relay_refuse(char problem[RELAY_PROBLEM_BYTES], const char *format, ...)
	pg_attribute_printf(2, 3);

/* One path component of letters, digits, points, dashes and underscores, not hidden. */
extern bool relay_is_file_name(const char *name);

/*
 * Reads a file with mode 0600 or 0400 of the server's user, directly below rflow.key_directory;
 * what names its kind in the problem ("key file").
 */
extern bool relay_read_file(struct relay_text *text, const char *what, const char *name,
							char problem[RELAY_PROBLEM_BYTES]);
/* Copies a variable of the server's environment. */
extern bool relay_read_variable(struct relay_text *text, const char *name,
								char problem[RELAY_PROBLEM_BYTES]);
/* Either, from "env:RFLOW_…" or "file:…". */
extern bool relay_read_source(struct relay_text *text, const char *what, const char *source,
							  char problem[RELAY_PROBLEM_BYTES]);

/* A text without the line end that an editor leaves behind it. */
extern struct evm_bytes relay_text_line(const struct relay_text *text);

#endif /* RELAY_SIGNER_SOURCE_H */
