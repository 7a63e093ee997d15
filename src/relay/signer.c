/*
 * signer.c
 *	  From a reference to a key to the key.
 *
 * Whoever may write rflow.relayers chooses the reference, so it must not open anything but what the
 * operator of the server has put there for it: variables that begin with RFLOW_, and files
 * of one directory, without links, that nobody else can read.
 */
#include "postgres.h"

#include "relay/signer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/settings.h"

#define ENV_PREFIX "env:"
#define FILE_PREFIX "file:"
#define VARIABLE_PREFIX "RFLOW_"
/* "0x", 64 digits and blanks around them. */
#define KEY_TEXT_MAX_BYTES 128

/* Accounts of anvil and hardhat: their keys are in every manual. */
static const struct evm_address development_accounts[] = {
	{{0xf3, 0x9f, 0xd6, 0xe5, 0x1a, 0xad, 0x88, 0xf6, 0xf4, 0xce,
	  0x6a, 0xb8, 0x82, 0x72, 0x79, 0xcf, 0xff, 0xb9, 0x22, 0x66}},
	{{0x70, 0x99, 0x79, 0x70, 0xc5, 0x18, 0x12, 0xdc, 0x3a, 0x01,
	  0x0c, 0x7d, 0x01, 0xb5, 0x0e, 0x0d, 0x17, 0xdc, 0x79, 0xc8}},
	{{0x3c, 0x44, 0xcd, 0xdd, 0xb6, 0xa9, 0x00, 0xfa, 0x2b, 0x58,
	  0x5d, 0xd2, 0x99, 0xe0, 0x3d, 0x12, 0xfa, 0x42, 0x93, 0xbc}},
	{{0x90, 0xf7, 0x9b, 0xf6, 0xeb, 0x2c, 0x4f, 0x87, 0x03, 0x65,
	  0xe7, 0x85, 0x98, 0x2e, 0x1f, 0x10, 0x1e, 0x93, 0xb9, 0x06}},
	{{0x15, 0xd3, 0x4a, 0xaf, 0x54, 0x26, 0x7d, 0xb7, 0xd7, 0xc3,
	  0x67, 0x83, 0x9a, 0xaf, 0x71, 0xa0, 0x0a, 0x2c, 0x6a, 0x65}},
	{{0x99, 0x65, 0x50, 0x7d, 0x1a, 0x55, 0xbc, 0xc2, 0x69, 0x5c,
	  0x58, 0xba, 0x16, 0xfb, 0x37, 0xd8, 0x19, 0xb0, 0xa4, 0xdc}},
	{{0x97, 0x6e, 0xa7, 0x40, 0x26, 0xe7, 0x26, 0x55, 0x4d, 0xb6,
	  0x57, 0xfa, 0x54, 0x76, 0x3a, 0xbd, 0x0c, 0x3a, 0x0a, 0xa9}},
	{{0x14, 0xdc, 0x79, 0x96, 0x4d, 0xa2, 0xc0, 0x8b, 0x23, 0x69,
	  0x8b, 0x3d, 0x3c, 0xc7, 0xca, 0x32, 0x19, 0x3d, 0x99, 0x55}},
	{{0x23, 0x61, 0x8e, 0x81, 0xe3, 0xf5, 0xcd, 0xf7, 0xf5, 0x4c,
	  0x3d, 0x65, 0xf7, 0xfb, 0xc0, 0xab, 0xf5, 0xb2, 0x1e, 0x8f}},
	{{0xa0, 0xee, 0x7a, 0x14, 0x2d, 0x26, 0x7c, 0x1f, 0x36, 0x71,
	  0x4e, 0x4a, 0x8f, 0x75, 0x61, 0x2f, 0x20, 0xa7, 0x97, 0x20}},
};

static const int64_t development_chains[] = {31337, 1337};

static bool
is_development_chain(int64_t chain_id)
{
	int i;

	for (i = 0; i < lengthof(development_chains); i++)
		if (development_chains[i] == chain_id)
			return true;
	return false;
}

static bool
is_development_account(const struct evm_address *address)
{
	int i;

	for (i = 0; i < lengthof(development_accounts); i++)
		if (memcmp(&development_accounts[i], address, sizeof(*address)) == 0)
			return true;
	return false;
}

static bool refuse(char *problem, const char *format, ...) pg_attribute_printf(2, 3);

static bool
refuse(char *problem, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, RELAY_PROBLEM_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

static bool
is_file_name(const char *name)
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

	if (rflow_key_directory == NULL || rflow_key_directory[0] == '\0')
	{
		(void) refuse(problem, "rflow.key_directory is not set");
		return -1;
	}
	directory = open(rflow_key_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 || fstat(directory, &status) != 0)
		(void) refuse(problem, "rflow.key_directory cannot be opened: %s", strerror(errno));
	else if ((status.st_uid != geteuid() && status.st_uid != 0) ||
			 (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		(void) refuse(problem, "rflow.key_directory can be written by other users");
	else
		return directory;
	if (directory >= 0)
		close(directory);
	return -1;
}

static bool
check_key_file(int file, const char *name, char *problem)
{
	struct stat status;

	if (fstat(file, &status) != 0)
		return refuse(problem, "key file %s cannot be read: %s", name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return refuse(problem, "key file %s is not a plain file", name);
	if (status.st_uid != geteuid())
		return refuse(problem, "key file %s does not belong to the user of the server", name);
	if ((status.st_mode & (S_IRWXG | S_IRWXO | S_IXUSR)) != 0)
		return refuse(problem, "key file %s has mode %04o: it must be 0600", name,
					  (unsigned) status.st_mode & 07777);
	if (status.st_size > KEY_TEXT_MAX_BYTES)
		return refuse(problem, "key file %s is too long for a key", name);
	return true;
}

static bool
read_key_file(struct evm_key *key, const char *name, char *problem)
{
	char text[KEY_TEXT_MAX_BYTES];
	struct evm_error err;
	ssize_t len;
	int directory;
	int file;
	bool usable = false;

	if (!is_file_name(name))
		return refuse(problem, "\"%s\" is not the name of a key file", name);
	directory = open_key_directory(problem);
	if (directory < 0)
		return false;
	file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(directory);
	if (file < 0)
		return refuse(problem, "key file %s cannot be opened: %s", name,
					  errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	if (check_key_file(file, name, problem))
	{
		len = read(file, text, sizeof(text));
		if (len < 0)
			(void) refuse(problem, "key file %s cannot be read: %s", name, strerror(errno));
		else if (evm_key_parse(key, text, (size_t) len, &err) != EVM_OK)
			(void) refuse(problem, "key file %s: %s", name, err.message);
		else
			usable = true;
		evm_wipe(text, sizeof(text));
	}
	close(file);
	return usable;
}

static bool
read_key_variable(struct evm_key *key, const char *name, char *problem)
{
	const char *text;
	struct evm_error err;

	if (strncmp(name, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) != 0)
		return refuse(problem, "variables of keys begin with " VARIABLE_PREFIX);
	text = getenv(name);
	if (text == NULL)
		return refuse(problem, "the environment of the server has no %s", name);
	if (evm_key_parse(key, text, strlen(text), &err) != EVM_OK)
		return refuse(problem, "%s: %s", name, err.message);
	return true;
}

bool
relay_signer_read(struct evm_key *key, struct evm_address *address, const char *signer,
				  int64_t chain_id, char problem[RELAY_PROBLEM_BYTES])
{
	bool usable;

	problem[0] = '\0';
	if (strncmp(signer, ENV_PREFIX, strlen(ENV_PREFIX)) == 0)
		usable = read_key_variable(key, signer + strlen(ENV_PREFIX), problem);
	else if (strncmp(signer, FILE_PREFIX, strlen(FILE_PREFIX)) == 0)
		usable = read_key_file(key, signer + strlen(FILE_PREFIX), problem);
	else
		usable = refuse(problem, "the signer is neither env: nor file:");
	if (!usable)
		return false;
	if (evm_key_address(address, key) != EVM_OK)
		return refuse(problem, "the key is outside the range of keys");
	if (is_development_account(address) && !is_development_chain(chain_id))
		return refuse(problem, "the key is one that everybody knows: development chains only");
	return true;
}
