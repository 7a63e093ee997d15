/*
 * test_status.c
 *	  Error messages: nothing of the input reaches a terminal or a log unescaped.
 */
#include "check.h"

#include "evm/status.h"

TEST(fail_fills_the_error_and_returns_the_status)
{
	struct evm_error err;

	CHECK_NUMBER(evm_fail(&err, EVM_ERR_RANGE, 7, "value %d of \"%s\"", 5, "x"), EVM_ERR_RANGE);
	CHECK_NUMBER(err.status, EVM_ERR_RANGE);
	CHECK_NUMBER(err.position, 7);
	CHECK_TEXT(err.message, "value 5 of \"x\"");
	CHECK_NUMBER(evm_fail(NULL, EVM_ERR_TYPE, 0, "%s", "nobody listens"), EVM_ERR_TYPE);
}

TEST(fail_escapes_what_is_not_printable_ascii)
{
	struct evm_error err;

	evm_fail(&err, EVM_ERR_SYNTAX, 0, "%s", "a\n\x1b[31m\x7f\xc3\xa9\xff");
	CHECK_TEXT(err.message, "a\\x0a\\x1b[31m\\x7f\\xc3\\xa9\\xff");
}

TEST(fail_cuts_long_messages_between_escapes)
{
	struct evm_error err;
	char input[1000];

	memset(input, '\x01', sizeof(input) - 1);
	input[sizeof(input) - 1] = '\0';
	evm_fail(&err, EVM_ERR_SYNTAX, 0, "ab%s", input);
	CHECK_NUMBER(strlen(err.message), 2 + 63 * 4);
	CHECK_TEXT(err.message + strlen(err.message) - 4, "\\x01");
	memset(input, 'x', sizeof(input) - 1);
	evm_fail(&err, EVM_ERR_SYNTAX, 0, "%s", input);
	CHECK_NUMBER(strlen(err.message), EVM_ERROR_MESSAGE_BYTES - 1);
}
