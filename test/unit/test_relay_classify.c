/*
 * test_relay_classify.c
 *	  What nodes say to a signed transaction, and what is made of it.
 */
#include "check.h"

#include "relay/classify.h"

/* Which wording means what is test/data/node_refusals.jsonl (vectors_relay.c). */
TEST(codes_that_mean_one_thing_need_no_text)
{
	CHECK_NUMBER(relay_classify(3, ""), RELAY_REVERTS);
	CHECK_NUMBER(relay_classify(-32015, "VM execution error."), RELAY_REVERTS);
	CHECK_NUMBER(relay_classify(429, "already known"), RELAY_NODE_TROUBLE);
	CHECK_NUMBER(relay_classify(-32601, "nonce too low"), RELAY_NODE_TROUBLE);
	CHECK_NUMBER(relay_classify(-32000, ""), RELAY_UNKNOWN);
}

/* rrelayer#113: a contract can say what it likes. */
TEST(a_revert_is_a_revert_whatever_it_quotes)
{
	CHECK_NUMBER(relay_classify(-32000, "execution reverted: nonce too low"), RELAY_REVERTS);
	CHECK_NUMBER(relay_classify(-32000, "Execution reverted: insufficient funds"), RELAY_REVERTS);
	CHECK_NUMBER(relay_classify(3, "already known"), RELAY_REVERTS);
	CHECK_NUMBER(relay_classify(-32603,
								"VM Exception while processing transaction: reverted with "
								"reason string 'invalid nonce'"),
				 RELAY_REVERTS);
}

TEST(class_names_are_read_back)
{
	int i;

	for (i = RELAY_ACCEPTED; i <= RELAY_UNKNOWN; i++)
		CHECK_NUMBER(relay_class_from_name(relay_class_name((enum relay_class) i)), i);
	CHECK_NUMBER(relay_class_from_name("none of them"), RELAY_UNKNOWN);
}
