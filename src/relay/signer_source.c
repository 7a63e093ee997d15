/*
 * signer_source.c
 *	  Secret texts from where the operator of the server has put them.
 */
#include "postgres.h"

#include "relay/signer_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/settings.h"

bool
relay_refuse(char problem[RELAY_PROBLEM_BYTES], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, RELAY_PROBLEM_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

bool
relay_is_file_name(const char *name)
{
	const char *c;

	if (name[0] == '\0' || name[0] == '.')
		return false;
	for (c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char) *c) && strchr("._-", *c) == NULL)
			return false;
	return true;
}

/* The directory counts as the operator's only when nobody else can put files there. */
static int
open_key_directory(char *problem)
{
	struct stat status;
	int directory;

	if (db_key_directory == NULL || db_key_directory[0] == '\0')
	{
		(void) relay_refuse(problem, "rflow.key_directory is not set");
		return -1;
	}
	directory = open(db_key_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || fstat(directory, &status) != 0)
		(void) relay_refuse(problem, "rflow.key_directory cannot be opened: %s", strerror(errno));
	else if ((status.st_uid != geteuid() && status.st_uid != 0) ||
			 (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		(void) relay_refuse(problem, "rflow.key_directory can be written by other users");
	else
		return directory;
	if (directory >= 0)
		close(directory);
	return -1;
}

static bool
check_file(int file, const char *what, const char *name, size_t capacity, char *problem)
{
	struct stat status;

	if (fstat(file, &status) != 0)
		return relay_refuse(problem, "%s %s cannot be read: %s", what, name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return relay_refuse(problem, "%s %s is not a plain file", what, name);
	if (status.st_uid != geteuid())
		return relay_refuse(problem, "%s %s does not belong to the user of the server", what, name);
	if ((status.st_mode & (S_IRWXG | S_IRWXO | S_IXUSR)) != 0)
		return relay_refuse(problem, "%s %s has mode %04o: it must be 0600", what, name,
							(unsigned) status.st_mode & 07777);
	if (status.st_size > (off_t) capacity)
		return relay_refuse(problem, "%s %s is longer than %zu bytes", what, name, capacity);
	return true;
}

static bool
read_all(struct relay_text *text, int file, const char *what, const char *name, char *problem)
{
	ssize_t got;

	text->len = 0;
	while (text->len < text->capacity)
	{
		got = read(file, text->buffer + text->len, text->capacity - text->len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return relay_refuse(problem, "%s %s cannot be read: %s", what, name, strerror(errno));
		if (got == 0)
			break;
		text->len += (size_t) got;
	}
	return true;
}

bool
relay_read_file(struct relay_text *text, const char *what, const char *name,
				char problem[RELAY_PROBLEM_BYTES])
{
	int directory;
	int file;
	bool usable;

	if (!relay_is_file_name(name))
		return relay_refuse(problem, "\"%s\" is not the name of a %s", name, what);
	directory = open_key_directory(problem);
	if (directory < 0)
		return false;
	file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(directory);
	if (file < 0)
		return relay_refuse(problem, "%s %s cannot be opened: %s", what, name,
							errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	usable = check_file(file, what, name, text->capacity, problem) &&
		read_all(text, file, what, name, problem);
	close(file);
	return usable;
}

bool
relay_read_variable(struct relay_text *text, const char *name, char problem[RELAY_PROBLEM_BYTES])
{
	const char *value;

	if (strncmp(name, RELAY_VARIABLE_PREFIX, strlen(RELAY_VARIABLE_PREFIX)) != 0)
		return relay_refuse(problem, "variables of keys begin with " RELAY_VARIABLE_PREFIX);
	value = getenv(name);
	if (value == NULL)
		return relay_refuse(problem, "the environment of the server has no %s", name);
	text->len = strlen(value);
	if (text->len > text->capacity)
		return relay_refuse(problem, "%s is longer than %zu bytes", name, text->capacity);
	memcpy(text->buffer, value, text->len);
	return true;
}

bool
relay_read_source(struct relay_text *text, const char *what, const char *source,
				  char problem[RELAY_PROBLEM_BYTES])
{
	if (strncmp(source, RELAY_SOURCE_VARIABLE, strlen(RELAY_SOURCE_VARIABLE)) == 0)
		return relay_read_variable(text, source + strlen(RELAY_SOURCE_VARIABLE), problem);
	if (strncmp(source, RELAY_SOURCE_FILE, strlen(RELAY_SOURCE_FILE)) == 0)
		return relay_read_file(text, what, source + strlen(RELAY_SOURCE_FILE), problem);
	return relay_refuse(problem, "the %s is neither env: nor file:", what);
}

struct evm_bytes
relay_text_line(const struct relay_text *text)
{
	struct evm_bytes line = {(const uint8_t *) text->buffer, text->len};

	if (line.len > 0 && line.data[line.len - 1] == '\n')
		line.len--;
	if (line.len > 0 && line.data[line.len - 1] == '\r')
		line.len--;
	return line;
}
