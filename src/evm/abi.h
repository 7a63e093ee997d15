/*
 * abi.h
 *	  The contract ABI (Solidity "Contract ABI Specification"): types, items, values.
 *
 * Types, items and values, and the functions over them; one .c file per part
 * (abi_type.c, abi_parse.c, abi_fragment.c, abi_json.c, abi_write.c, abi_find.c,
 * abi_encode.c, abi_packed.c, abi_decode.c, abi_event.c, abi_error.c,
 * abi_show.c, abi_utf8.c).
 */
#ifndef EVM_ABI_H
#define EVM_ABI_H

#include "evm/arena.h"
#include "evm/bytes.h"
#include "evm/status.h"

/* Limits that refuse hostile input; every one is reached only by hostile input. */
#define EVM_ABI_MAX_DEPTH 32         /* nesting of arrays and tuples in a type */
#define EVM_ABI_MAX_COMPONENTS 1024  /* components of one tuple, arguments of one item */
#define EVM_ABI_MAX_ITEMS 8192       /* items of one ABI */
#define EVM_ABI_MAX_TYPE_NODES 16384 /* types inside one type (structs naming structs) */
#define EVM_ABI_MAX_VALUES 1000000   /* leaves of one type or decoded value (offset bombs) */
/*
 * How much more than its data a decoded value may hold: leaves a word, and bytes (of bytes and
 * string, which are borrowed) a byte.  An encoder that aliases nothing has 1; the rest is for those
 * that let offsets share a tail.
 */
#define EVM_ABI_MAX_LEAVES_PER_WORD 16
#define EVM_ABI_MAX_BYTES_PER_BYTE 64
#define EVM_ABI_MAX_INDEXED 3 /* of an event; one more when it is anonymous */

enum evm_abi_kind
{
	EVM_ABI_UINT, /* bits: 8..256 */
	EVM_ABI_INT,  /* bits: 8..256 */
	EVM_ABI_ADDRESS,
	EVM_ABI_BOOL,
	EVM_ABI_FIXED_BYTES, /* bytes1..bytes32, size in bytes */
	EVM_ABI_FUNCTION,    /* 24 bytes: address and selector */
	EVM_ABI_BYTES,
	EVM_ABI_STRING,
	EVM_ABI_ARRAY, /* T[] and T[n] */
	EVM_ABI_TUPLE
};

#define EVM_ABI_DYNAMIC_LENGTH UINT64_MAX

struct evm_abi_param;

struct evm_abi_type
{
	enum evm_abi_kind kind;
	unsigned size;                          /* bits of an integer, bytes of FIXED_BYTES */
	uint64_t length;                        /* of an ARRAY, or EVM_ABI_DYNAMIC_LENGTH */
	const struct evm_abi_type *element;     /* of an ARRAY */
	const struct evm_abi_param *components; /* of a TUPLE */
	size_t component_count;
	bool dynamic;     /* is encoded behind an offset */
	size_t head_size; /* bytes in the head of the enclosing tuple: 32 when dynamic */
	unsigned depth;   /* arrays and tuples on the way to the deepest leaf */
	size_t nodes;     /* types in it, itself included */
};

struct evm_abi_param
{
	const char *name; /* "" when the ABI gives none; never NULL */
	const struct evm_abi_type *type;
	bool indexed; /* of an event */
};

enum evm_abi_item_kind
{
	EVM_ABI_ITEM_FUNCTION,
	EVM_ABI_ITEM_EVENT,
	EVM_ABI_ITEM_ERROR,
	EVM_ABI_ITEM_CONSTRUCTOR,
	EVM_ABI_ITEM_FALLBACK,
	EVM_ABI_ITEM_RECEIVE
};

enum evm_abi_mutability
{
	EVM_ABI_NONPAYABLE,
	EVM_ABI_PAYABLE,
	EVM_ABI_VIEW,
	EVM_ABI_PURE
};

struct evm_abi_item
{
	enum evm_abi_item_kind kind;
	const char *name;      /* "" for constructor, fallback, receive */
	const char *signature; /* canonical: transfer(address,uint256), constructor(string) */
	/* keccak256 of the signature: topic0, or the selector in front; zero where there is no name */
	struct evm_hash hash;
	enum evm_abi_mutability mutability;
	bool anonymous; /* of an event */
	const struct evm_abi_param *inputs;
	size_t input_count;
	const struct evm_abi_param *outputs;
	size_t output_count;
};

struct evm_abi
{
	const struct evm_abi_item *items;
	size_t item_count;
};

/*
 * A decoded value, or one to encode.  Which member counts is said by the type
 * beside it:
 *	UINT, INT, BOOL		word (two's complement for INT; 0 or 1 for BOOL)
 *	ADDRESS				bytes, 20 long
 *	FIXED_BYTES, FUNCTION, BYTES, STRING	bytes
 *	ARRAY, TUPLE		items
 * An indexed event argument of a dynamic type is known by its hash alone:
 * hashed is then true and bytes holds the 32 bytes of the topic.
 */
struct evm_abi_value
{
	bool hashed;
	struct evm_word word;
	struct evm_bytes bytes;
	struct evm_abi_value *items;
	size_t item_count;
};

/* ---- types and items ---------------------------------------------------- */

/* The canonical text of a type ("uint256", "(address,bytes)[3]"), in the arena; NULL when full. */
extern char *evm_abi_type_text(struct evm_arena *arena, const struct evm_abi_type *type);
extern bool evm_abi_type_equal(const struct evm_abi_type *a, const struct evm_abi_type *b);

/*
 * Parses one type: "uint", "tuple(address a, uint b)[]", "(address,uint256)", "bytes32[4]".
 * EVM_ERR_SYNTAX for what is not an ABI type, T[0] and empty tuples among them.
 */
extern enum evm_status evm_abi_parse_type(struct evm_arena *arena, const struct evm_abi_type **out,
										  const char *text, size_t len, struct evm_error *err);

/*
 * A list of types or parameters separated by commas, with or without names.  Empty text is a
 * list without parameters.
 */
extern enum evm_status evm_abi_parse_params(struct evm_arena *arena,
											const struct evm_abi_param **out, size_t *count,
											const char *text, size_t len, struct evm_error *err);

/*
 * Human-readable fragments, each "event …", "function …", "error …", "constructor …",
 * "fallback …", "receive …" or "struct …" (which others may name, in any order).  A bare
 * "transfer(address,uint256)" is a function.  err->position is inside fragment *which.
 */
extern enum evm_status evm_abi_parse_fragments(struct evm_arena *arena, struct evm_abi *out,
											   const struct evm_bytes *fragments, size_t count,
											   size_t *which, struct evm_error *err);

/*
 * JSON ABI: an array of items, or an object with a member "abi" (a compiler's artifact).
 * Items of library ABIs whose types are not ABI types (Lib.Enum) are left out, and counted
 * in *skipped when it is not NULL.
 */
extern enum evm_status evm_abi_parse_json(struct evm_arena *arena, struct evm_abi *out,
										  size_t *skipped, const char *text, size_t len,
										  struct evm_error *err);
/* The JSON form of an ABI, in the arena, compact, in the order of the items. */
extern enum evm_status evm_abi_to_json(struct evm_arena *arena, struct evm_bytes *out,
									   const struct evm_abi *abi);
/* One human-readable line for an item, as solc and ethers print it. */
extern char *evm_abi_item_text(struct evm_arena *arena, const struct evm_abi_item *item);

/*
 * Finds an item by kind and name or by full signature ("transfer(address,uint256)"; blanks,
 * parameter names and the aliases uint and int are understood).  A name that several overloads
 * share is EVM_ERR_MISMATCH with all signatures in the message; so is an unknown name, with the
 * names there are.  Events that differ only in what is indexed are told apart by a signature that
 * says "indexed".  The name of a constructor, fallback or receive is "" or its keyword.
 */
extern enum evm_status evm_abi_find(const struct evm_abi_item **out, const struct evm_abi *abi,
									enum evm_abi_item_kind kind, const char *name_or_signature,
									struct evm_error *err);

/*
 * Finds the event of a log by topic0 and the number of topics (ERC-20's and ERC-721's Transfer
 * share topic0), then among anonymous events by the number of topics when only one has it.
 * EVM_ERR_MISMATCH when there is none.
 */
extern enum evm_status evm_abi_find_log(const struct evm_abi_item **out, const struct evm_abi *abi,
										const struct evm_hash *topics, size_t topic_count,
										struct evm_error *err);

/* ---- encoding ----------------------------------------------------------- */

/*
 * Values that do not fit are EVM_ERR_RANGE, a wrong count of items EVM_ERR_MISMATCH, bytes of a
 * wrong length and hashed values EVM_ERR_TYPE; the message names the argument and where inside it:
 * "argument 2 (orders)[3].amount: 300 does not fit uint8".
 */

/* The ABI encoding of values as a tuple of the parameters' types; bytes in the arena. */
extern enum evm_status evm_abi_encode(struct evm_arena *arena, struct evm_bytes *out,
									  const struct evm_abi_param *params,
									  const struct evm_abi_value *values, size_t count,
									  struct evm_error *err);
/* The same with four bytes in front. */
extern enum evm_status evm_abi_encode_call(struct evm_arena *arena, struct evm_bytes *out,
										   const struct evm_abi_item *function,
										   const struct evm_abi_value *values, size_t count,
										   struct evm_error *err);
/*
 * abi.encodePacked; elements of arrays are padded to 32 bytes.  Tuples, and bytes and strings in
 * arrays, are EVM_ERR_TYPE.
 */
extern enum evm_status evm_abi_encode_packed(struct evm_arena *arena, struct evm_bytes *out,
											 const struct evm_abi_param *params,
											 const struct evm_abi_value *values, size_t count,
											 struct evm_error *err);
/* An indexed argument as a topic: its word, or the hash of its in-place encoding when dynamic. */
extern enum evm_status evm_abi_encode_topic(struct evm_arena *arena, struct evm_hash *out,
											const struct evm_abi_type *type,
											const struct evm_abi_value *value,
											struct evm_error *err);

/* ---- decoding ----------------------------------------------------------- */

/*
 * Values point into the arena, bytes borrow from data, which must outlive them.
 *
 * Strictness.  Refused:
 *	- numbers, booleans and addresses whose padding is not what their encoder writes: Solidity's
 *	  decoder reverts on them, and libraries that read on disagree about the value;
 *	- heads, offsets and lengths beyond the data, checked on all 256 bits: what is not there must
 *	  not be made up, and a narrowed offset points somewhere else;
 *	- more leaves than EVM_ABI_MAX_VALUES, or more of them or of bytes than the data allows (see
 *	  above): a few kilobytes of offsets could stand for more values than there is memory.
 * Accepted, as by every library, since contracts do emit them:
 *	- dirty padding behind bytes, string and bytesN, which no value depends on;
 *	- aliased, backward and unaligned offsets, and gaps: valid, if not what encoders write;
 *	- trailing data (calls carry tags behind their arguments), and an unpadded tail of the last
 *	  bytes or string (real contracts revert with those).
 * Strings are not checked to be UTF-8 here: evm_utf8_is_text tells.
 */
extern enum evm_status evm_abi_decode(struct evm_arena *arena, struct evm_abi_value **values,
									  const struct evm_abi_param *params, size_t count,
									  const uint8_t *data, size_t len, struct evm_error *err);

/*
 * A log against an event.  EVM_ERR_MISMATCH when topic0 or the number of topics is another
 * event's, any other error when the data does not decode.  values are in the order of the
 * event's inputs; their bytes borrow from topics and data.
 */
extern enum evm_status evm_abi_decode_log(struct evm_arena *arena, struct evm_abi_value **values,
										  const struct evm_abi_item *event,
										  const struct evm_hash *topics, size_t topic_count,
										  const uint8_t *data, size_t len, struct evm_error *err);

/*
 * What a revert says: the bytes of error.data.  The text is printable UTF-8 without control
 * characters, bounded, in the arena:
 *	Error(string)		the string
 *	Panic(uint256)		"panic 0x11: arithmetic overflow or underflow"
 *	an error of abi		"InsufficientBalance(available: 5, required: 7)"
 *	nothing				"reverted without a reason"
 *	anything else		"0x…" (cut)
 * What cannot be printed is written \xNN or \u{NNNN}.  EVM_ERR_MEMORY is the only failure.
 */
enum evm_revert_kind
{
	EVM_REVERT_EMPTY,
	EVM_REVERT_ERROR,
	EVM_REVERT_PANIC,
	EVM_REVERT_CUSTOM,
	EVM_REVERT_UNKNOWN
};

struct evm_revert
{
	enum evm_revert_kind kind;
	const char *text;
	uint64_t panic_code;              /* PANIC; UINT64_MAX when it needs more bits */
	const struct evm_abi_item *error; /* CUSTOM */
	struct evm_abi_value *args;       /* CUSTOM: error->input_count of them; ERROR: one */
};

extern enum evm_status evm_abi_decode_revert(struct evm_arena *arena, struct evm_revert *out,
											 const struct evm_abi *abi, const uint8_t *data,
											 size_t len);
/* The meaning of a Panic code ("arithmetic overflow or underflow"), or NULL. */
extern const char *evm_abi_panic_text(uint64_t code);

/* Valid UTF-8 without NUL: may become a PostgreSQL text. */
extern bool evm_utf8_is_text(const uint8_t *data, size_t len);

#endif /* EVM_ABI_H */
