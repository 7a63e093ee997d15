/*
 * test_relay_classify.c
 *	  What nodes say to a signed transaction, in the words of their code, and what is made of it.
 */
#include "check.h"

#include "relay/classify.h"

static const struct
{
	enum relay_class class;
	const char *message;
} said[] = {
	{RELAY_KNOWN, "already known"},
	{RELAY_KNOWN, "AlreadyKnown"},
	{RELAY_KNOWN, "ALREADY_EXISTS: already known"},
	{RELAY_KNOWN, "transaction already imported"},
	{RELAY_KNOWN, "Known transaction"},
	{RELAY_KNOWN, "known transaction: 0x5f"},
	{RELAY_UNKNOWN, "unknown transaction"},
	{RELAY_KNOWN, "Transaction with the same hash was already imported."},
	{RELAY_SLOT_TAKEN, "replacement transaction underpriced"},
	{RELAY_SLOT_TAKEN,
	 "Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 3"},
	{RELAY_SLOT_TAKEN, "INTERNAL_ERROR: could not replace existing tx"},
	{RELAY_SLOT_TAKEN, "ReplacementNotAllowed"},
	{RELAY_NONCE_CONSUMED, "nonce too low"},
	{RELAY_NONCE_CONSUMED, "nonce too low: next nonce 5, tx nonce 4"},
	{RELAY_NONCE_CONSUMED, "Nonce too low. Expected nonce to be 5 but got 4."},
	{RELAY_NONCE_CONSUMED, "OldNonce"},
	{RELAY_NONCE_CONSUMED, "invalid nonce; got 4, expected 5"},
	{RELAY_NONCE_CONSUMED, "nonce has already been used"},
	{RELAY_NONCE_AHEAD, "nonce too high: address 0x5f, tx: 5 state: 4"},
	{RELAY_NONCE_AHEAD, "NonceGap"},
	{RELAY_NONCE_AHEAD, "Transaction nonce too distant from current sender nonce"},
	{RELAY_NONCE_AHEAD, "nonce too far in the future"},
	{RELAY_NONCE_AHEAD, "gapped-nonce tx from delegated accounts"},
	{RELAY_FUNDS, "insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1"},
	{RELAY_FUNDS, "InsufficientFunds, Account balance: 0, cumulative cost: 1"},
	{RELAY_FUNDS, "Upfront cost exceeds account balance"},
	{RELAY_FUNDS, "Sender doesn't have enough funds to send tx."},
	{RELAY_FUNDS, "gas required exceeds allowance (0)"},
	{RELAY_NEVER_VALID, "intrinsic gas too low: gas 20000, minimum needed 21000"},
	{RELAY_NEVER_VALID, "insufficient gas for floor data gas cost"},
	{RELAY_NEVER_VALID, "Intrinsic gas exceeds gas limit"},
	{RELAY_NEVER_VALID, "Transaction requires at least 21000 gas but got 20000"},
	{RELAY_NEVER_VALID, "exceeds block gas limit"},
	{RELAY_NEVER_VALID, "transaction gas limit too high (cap: 16777216, tx: 20000000)"},
	{RELAY_NEVER_VALID, "oversized data: transaction size 140000, limit 131072"},
	{RELAY_NEVER_VALID, "max initcode size exceeded"},
	{RELAY_NEVER_VALID, "transaction type not supported"},
	{RELAY_NEVER_VALID, "max priority fee per gas higher than max fee per gas"},
	{RELAY_FEE_TOO_LOW, "transaction underpriced: tip needed 1, tip permitted 0"},
	{RELAY_FEE_TOO_LOW, "FeeTooLowToCompete"},
	{RELAY_FEE_TOO_LOW, "max fee per gas less than block base fee: address 0x5f, maxFeePerGas: 1"},
	{RELAY_FEE_TOO_LOW, "Max fee per gas below current base fee"},
	{RELAY_FEE_TOO_LOW, "maxFeePerGas (1) is too low for the next block, whose baseFeePerGas is 2"},
	{RELAY_FEE_TOO_LOW, "Gas price below configured minimum gas price"},
	{RELAY_NODE_TROUBLE, "txpool is full"},
	{RELAY_NODE_TROUBLE, "account limit exceeded"},
	{RELAY_NODE_TROUBLE, "in-flight transaction limit reached for delegated accounts"},
	{RELAY_NODE_TROUBLE, "tx fee (1.10 ether) exceeds the configured cap (1.00 ether)"},
	{RELAY_NODE_TROUBLE, "request timed out"},
	{RELAY_NODE_TROUBLE, "daily request limit exceeded"},
	{RELAY_NODE_TROUBLE, "invalid sender"},
	{RELAY_NODE_TROUBLE, "invalid chain id for signer: have 1 want 5"},
	{RELAY_UNKNOWN, ""},
	{RELAY_UNKNOWN, "the dog ate it"},
};

TEST(node_messages_are_classified)
{
	size_t i;

	for (i = 0; i < sizeof(said) / sizeof(said[0]); i++)
		CHECK_TEXT(relay_class_name(relay_classify(-32000, said[i].message)),
				   relay_class_name(said[i].class));
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
