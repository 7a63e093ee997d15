/*
 * vectors.c
 *	  The runner of conformance vectors.
 *
 * Standard input is a sequence of files: a line "file NAME" and then the rows,
 * one JSON object a line; "other NAME" is one that holds no rows.  Each file ends
 * with a line "NAME 12 passed, 0 failed"; what failed or was skipped, and files
 * that nothing here knows how to check, are named.  The exit status is 0 only
 * when at least one row passed and none failed.
 */
#include "vectors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evm/hex.h"
#include "evm/word.h"

#define FAMILY_TABLES_MAX 16
#define SKIP_REASONS_MAX 16
/* Of one file; the rest is only counted. */
#define FAILURES_SHOWN 10
/* The largest row needs 40 MB; what code under test takes beyond this is a defect. */
#define ROW_ARENA_BYTES ((size_t) 512 * 1024 * 1024)
#define FILE_PREFIX "file "
#define OTHER_PREFIX "other "

static const struct vector_family *tables[FAMILY_TABLES_MAX];
static size_t table_count;

struct counts
{
	unsigned long passed;
	unsigned long failed;
	unsigned long skipped;
	/* Of the total. */
	unsigned long files;
	unsigned long unknown_files;
};

/* Why rows were skipped, and which: their ids, separated by blanks. */
struct skip_reason
{
	char text[VECTOR_NOTE_BYTES];
	unsigned long count;
	char *ids;
	size_t ids_len;
};

struct current_file
{
	char *name;         /* NULL before the first */
	vector_check check; /* NULL when no family is registered */
	unsigned long line;
	struct counts counts;
	struct skip_reason reasons[SKIP_REASONS_MAX];
	size_t reason_count;
};

void
vector_register(const struct vector_family *families)
{
	if (table_count == FAMILY_TABLES_MAX)
	{
		fputs("vectors: too many tables of families\n", stderr);
		exit(2);
	}
	tables[table_count++] = families;
}

static vector_check
find_check(const char *file)
{
	for (size_t i = 0; i < table_count; i++)
	{
		for (const struct vector_family *family = tables[i]; family->file != NULL; family++)
		{
			if (strcmp(family->file, file) == 0)
				return family->check;
		}
	}
	return NULL;
}

/* ---- for the checks ----------------------------------------------------- */

enum vector_result
vector_fail(struct vector_note *note, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(note->text, sizeof(note->text), format, args);
	va_end(args);
	return VECTOR_FAIL;
}

enum vector_result
vector_skip(struct vector_note *note, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(note->text, sizeof(note->text), format, args);
	va_end(args);
	return VECTOR_SKIP;
}

const char *
vector_text(const struct evm_json *row, const char *name)
{
	size_t len;

	return evm_json_string(evm_json_object_get(row, name), &len);
}

bool
vector_node_bytes(struct evm_arena *arena, const struct evm_json *node, struct evm_bytes *out)
{
	size_t len;
	const char *text = evm_json_string(node, &len);
	uint8_t *data;

	if (text == NULL)
		return false;
	data = evm_arena_alloc(arena, len / 2);
	if (data == NULL || evm_hex_decode(data, &out->len, text, len, NULL) != EVM_OK)
		return false;
	out->data = data;
	return true;
}

bool
vector_bytes(struct evm_arena *arena, const struct evm_json *row, const char *name,
			 struct evm_bytes *out)
{
	return vector_node_bytes(arena, evm_json_object_get(row, name), out);
}

bool
vector_word(const struct evm_json *row, const char *name, struct evm_word *out, bool *negative)
{
	const struct evm_json *node = evm_json_object_get(row, name);
	size_t len;
	const char *text = evm_json_string(node, &len);

	if (text == NULL)
		return evm_json_word(node, out, negative);
	return evm_word_from_decimal(out, negative, text, len, NULL) == EVM_OK;
}

/* At most this many bytes of either side are shown. */
#define SHOWN_BYTES 64

static const char *
shown(char out[2 * SHOWN_BYTES + 4], const uint8_t *data, size_t len)
{
	size_t count = len < SHOWN_BYTES ? len : SHOWN_BYTES;

	evm_hex_digits(out, data, count);
	strcpy(out + 2 * count, count < len ? "..." : "");
	return out;
}

enum vector_result
vector_same_bytes(struct vector_note *note, const char *what, const uint8_t *got, size_t got_len,
				  const uint8_t *want, size_t want_len)
{
	char got_text[2 * SHOWN_BYTES + 4];
	char want_text[2 * SHOWN_BYTES + 4];

	if (got_len == want_len && (got_len == 0 || memcmp(got, want, got_len) == 0))
		return VECTOR_PASS;
	return vector_fail(note, "%s: %zu bytes %s instead of %zu bytes %s", what, got_len,
					   shown(got_text, got, got_len), want_len, shown(want_text, want, want_len));
}

/* ---- the run ------------------------------------------------------------ */

static void
add_id(struct skip_reason *reason, const char *id)
{
	const size_t len = strlen(id);
	char *ids = realloc(reason->ids, reason->ids_len + len + 2);

	if (ids == NULL)
		exit(2);
	reason->ids = ids;
	reason->ids_len += (size_t) sprintf(ids + reason->ids_len, " %s", id);
	reason->count++;
}

/* Reasons beyond what there is room for are counted with the last. */
static void
count_skip(struct current_file *file, const char *id, const char *why)
{
	size_t i = 0;

	file->counts.skipped++;
	while (i < file->reason_count && strcmp(file->reasons[i].text, why) != 0)
		i++;
	if (i == SKIP_REASONS_MAX)
		i--;
	else if (i == file->reason_count)
		snprintf(file->reasons[file->reason_count++].text, VECTOR_NOTE_BYTES, "%s", why);
	add_id(&file->reasons[i], id);
}

static void
count_failure(struct current_file *file, const char *id, const char *why)
{
	if (file->counts.failed++ < FAILURES_SHOWN)
		printf("  %s line %lu, row %s: %s\n", file->name, file->line, id, why);
}

static void
check_row(struct current_file *file, struct evm_arena *arena, const char *line, size_t len)
{
	const struct evm_json *row;
	struct evm_error err;
	struct vector_note note = {""};
	const char *id;

	file->line++;
	if (file->check == NULL)
	{
		file->counts.skipped++;
		return;
	}
	evm_arena_reset(arena);
	if (evm_json_parse(arena, &row, line, len, &err) != EVM_OK)
	{
		count_failure(file, "?", err.message);
		return;
	}
	id = vector_text(row, "id");
	if (id == NULL)
		id = "without id";
	switch (file->check(arena, row, &note))
	{
		case VECTOR_PASS:
			file->counts.passed++;
			break;
		case VECTOR_FAIL:
			count_failure(file, id, note.text);
			break;
		case VECTOR_SKIP:
			count_skip(file, id, note.text);
			break;
	}
}

static void
end_file(struct current_file *file, struct counts *total)
{
	struct counts *counts = &file->counts;

	if (file->name == NULL)
		return;
	/* An empty file means that it could not be read. */
	if (counts->passed + counts->failed + counts->skipped == 0)
		count_failure(file, "?", "the file has no rows");
	printf("%s %lu passed, %lu failed", file->name, counts->passed, counts->failed);
	if (counts->skipped > 0)
		printf(", %lu skipped", counts->skipped);
	putchar('\n');
	if (file->check == NULL && counts->skipped > 0)
	{
		printf("  %s: %lu skipped: no check is known for a file of this name\n", file->name,
			   counts->skipped);
		total->unknown_files++;
	}
	for (size_t i = 0; i < file->reason_count; i++)
	{
		printf("  %s: %lu skipped: %s:%s\n", file->name, file->reasons[i].count,
			   file->reasons[i].text, file->reasons[i].ids);
		free(file->reasons[i].ids);
	}
	total->files++;
	total->passed += counts->passed;
	total->failed += counts->failed;
	total->skipped += counts->skipped;
	free(file->name);
}

static void
begin_file(struct current_file *file, const char *name)
{
	memset(file, 0, sizeof(*file));
	file->name = strdup(name);
	if (file->name == NULL)
		exit(2);
	file->check = find_check(name);
}

int
main(void)
{
	struct evm_arena *arena = evm_arena_create(&evm_malloc_allocator, ROW_ARENA_BYTES);
	struct current_file file = {0};
	struct counts total = {0};
	char *line = NULL;
	size_t capacity = 0;
	ssize_t len;

	if (arena == NULL)
		return 2;
	while ((len = getline(&line, &capacity, stdin)) > 0)
	{
		if (line[len - 1] == '\n')
			line[--len] = '\0';
		if (strncmp(line, FILE_PREFIX, strlen(FILE_PREFIX)) == 0)
		{
			end_file(&file, &total);
			begin_file(&file, line + strlen(FILE_PREFIX));
		}
		else if (strncmp(line, OTHER_PREFIX, strlen(OTHER_PREFIX)) == 0)
			printf("%s is not a file of vectors\n", line + strlen(OTHER_PREFIX));
		else if (file.name != NULL)
			check_row(&file, arena, line, (size_t) len);
		fflush(stdout);
	}
	end_file(&file, &total);
	printf("%lu passed, %lu failed, %lu skipped, in %lu files of which %lu are unknown\n",
		   total.passed, total.failed, total.skipped, total.files, total.unknown_files);
	free(line);
	evm_arena_destroy(arena);
	return total.failed == 0 && total.passed > 0 ? 0 : 1;
}
