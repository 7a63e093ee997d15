/*
 * test_address.c
 *	  Addresses: which mixes of case are accepted, and what the refusals say.
 */
#include "check.h"

#include "evm/address.h"

static enum evm_status
parse(const char *text, struct evm_error *err)
{
	struct evm_address address;

	return evm_address_parse(&address, text, strlen(text), err);
}

TEST(address_in_one_case_needs_no_checksum)
{
	struct evm_address address;
	char text[EVM_ADDRESS_TEXT_BYTES];

	CHECK_NUMBER(parse("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", NULL), EVM_OK);
	CHECK_NUMBER(parse("0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", NULL), EVM_OK);
	CHECK_NUMBER(parse("0x0000000000000000000000000000000000000001", NULL), EVM_OK);
	CHECK_NUMBER(evm_address_parse(&address, "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", 42,
								   NULL),
				 EVM_OK);
	evm_address_format(text, &address);
	CHECK_TEXT(text, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
}

TEST(address_with_a_wrong_mix_is_told_the_right_one)
{
	struct evm_error err;

	CHECK_NUMBER(parse("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", &err), EVM_ERR_CHECKSUM);
	CHECK_TEXT(err.message,
			   "address has a wrong EIP-55 checksum; if it is the one meant, write "
			   "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
}

TEST(address_of_another_shape_is_refused)
{
	struct evm_error err;

	CHECK_NUMBER(parse("", &err), EVM_ERR_SYNTAX);
	CHECK_TEXT(err.message, "an address is \"0x\" and 40 hexadecimal digits, not 0 characters");
	CHECK_NUMBER(parse("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse("5aaeb6053f3e94c9b9a09f33669435e7ef1beaed00", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(parse("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 41);
	CHECK_NUMBER(parse("0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", &err), EVM_ERR_SYNTAX);
	CHECK_NUMBER(err.position, 1);
}
