/*
 * status.c
 *	  Fills a struct evm_error with text that is safe to show.
 *
 * Messages quote input of people and of foreign machines.  Whatever is not
 * printable ASCII is written as \xNN, so that a message is valid in every
 * server encoding and cannot move a terminal's cursor or forge a log line.
 */
#include "evm/status.h"

#include <stdarg.h>
#include <stdio.h>

/* "\xNN" */
#define ESCAPE_BYTES 4

/* Copies with escapes; what does not fit is cut, never in the middle of an escape. */
static void
copy_printable(char *out, size_t out_size, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = 0;

	for (; *text != '\0'; text++)
	{
		unsigned char c = (unsigned char) *text;
		size_t needed = (c >= 0x20 && c < 0x7f) ? 1 : ESCAPE_BYTES;

		if (len + needed >= out_size)
			break;
		if (needed == 1)
			out[len] = (char) c;
		else
		{
			out[len] = '\\';
			out[len + 1] = 'x';
			out[len + 2] = digits[c >> 4];
			out[len + 3] = digits[c & 15];
		}
		len += needed;
	}
	out[len] = '\0';
}

enum evm_status
evm_fail(struct evm_error *err, enum evm_status status, size_t position, const char *format, ...)
{
	char raw[EVM_ERROR_MESSAGE_BYTES];
	va_list args;

	if (err == NULL)
		return status;
	va_start(args, format);
	if (vsnprintf(raw, sizeof(raw), format, args) < 0)
		raw[0] = '\0';
	va_end(args);
	err->status = status;
	err->position = position;
	copy_printable(err->message, sizeof(err->message), raw);
	return status;
}
