/*
 * abi_internal.h
 *	  What the files of the ABI share among themselves and offer to nobody else.
 */
#ifndef EVM_ABI_INTERNAL_H
#define EVM_ABI_INTERNAL_H

#include "evm/abi.h"

#define EVM_ABI_WORD_BYTES 32
#define EVM_ABI_ADDRESS_BYTES 20
#define EVM_ABI_FUNCTION_BYTES 24 /* an address and a selector */
#define EVM_ABI_SELECTOR_BYTES 4
#define EVM_ABI_LEAF_NAME_BYTES 16 /* "function", "uint256", "bytes32" */
#define EVM_ABI_SHOWN_BYTES 64     /* of a name or word of the input, in a message */

/* ---- text that grows in an arena (abi_text.c) ----------------------------- */

/* Starts zeroed but for the arena.  What does not fit the limit or the arena sets full. */
struct evm_abi_text
{
	struct evm_arena *arena;
	char *data;
	size_t len;
	size_t size;
	size_t limit; /* bytes of text at most; 0 for no limit */
	bool full;
};

extern void evm_abi_text_add(struct evm_abi_text *text, const char *bytes, size_t len);
extern void evm_abi_text_str(struct evm_abi_text *text, const char *string);
extern void evm_abi_text_type(struct evm_abi_text *text, const struct evm_abi_type *type);
/* "(type,type)" of the parameters. */
extern void evm_abi_text_types(struct evm_abi_text *text, const struct evm_abi_param *params,
							   size_t count);
extern void evm_abi_text_number(struct evm_abi_text *text, uint64_t number);
/* The text with a NUL behind it, or NULL when the arena was full. */
extern char *evm_abi_text_end(struct evm_abi_text *text);

/* ---- types (abi_type.c) ---------------------------------------------------- */

/* Arrays, tuples, bytes and strings: they have a data location, and are hashed when indexed. */
extern bool evm_abi_is_reference(const struct evm_abi_type *type);
extern void evm_abi_leaf_name(char out[EVM_ABI_LEAF_NAME_BYTES], const struct evm_abi_type *type);
/* NULL in *out when the word names no elementary type. */
extern enum evm_status evm_abi_type_elementary(struct evm_arena *arena,
											   const struct evm_abi_type **out, const char *word,
											   size_t len);
extern enum evm_status evm_abi_type_array(struct evm_arena *arena, const struct evm_abi_type **out,
										  const struct evm_abi_type *element, uint64_t length,
										  size_t position, struct evm_error *err);
extern enum evm_status evm_abi_type_tuple(struct evm_arena *arena, const struct evm_abi_type **out,
										  const struct evm_abi_param *components, size_t count,
										  size_t position, struct evm_error *err);
/* "function", "event", … */
extern const char *evm_abi_kind_word(enum evm_abi_item_kind kind);
/* Functions, events and errors. */
extern bool evm_abi_is_named(enum evm_abi_item_kind kind);
/* Fills signature and hash of an item that has all the rest, and checks what its kind allows. */
extern enum evm_status evm_abi_item_finish(struct evm_arena *arena, struct evm_abi_item *item,
										   size_t position, struct evm_error *err);
/* Parameters that an event has in topics. */
extern size_t evm_abi_indexed_count(const struct evm_abi_item *event);

/* ---- growing arrays (abi_type.c) -------------------------------------------- */

/* An array of params or items while its length is not known yet. */
struct evm_abi_list
{
	void *data;
	size_t count;
	size_t capacity;
};

/* Room for one more element of element_size bytes, counted; NULL when the arena is full. */
extern void *evm_abi_list_push(struct evm_arena *arena, struct evm_abi_list *list,
							   size_t element_size);

/* ---- parsing (abi_parse.c) ---------------------------------------------------- */

struct evm_abi_slice
{
	const char *text;
	size_t len;
};

/* The structs that a type may name, see abi_fragment.c. */
struct evm_abi_scope;

struct evm_abi_parser
{
	struct evm_arena *arena;
	const char *text;
	size_t len;
	size_t pos;
	unsigned depth;              /* of open tuples and structs */
	struct evm_abi_scope *scope; /* may be NULL */
	struct evm_error *err;
};

enum evm_abi_indexing
{
	EVM_ABI_INDEXED_REFUSED,
	EVM_ABI_INDEXED_ALLOWED
};

extern void evm_abi_skip_blanks(struct evm_abi_parser *parser);
extern bool evm_abi_at_end(struct evm_abi_parser *parser);
/* Consumes the character when it is next, behind blanks. */
extern bool evm_abi_accept(struct evm_abi_parser *parser, char wanted);
extern bool evm_abi_accept_word(struct evm_abi_parser *parser, const char *wanted);
/* The identifier that is next, without consuming it; len is 0 when there is none. */
extern struct evm_abi_slice evm_abi_peek_word(struct evm_abi_parser *parser);
extern void evm_abi_take_word(struct evm_abi_parser *parser, struct evm_abi_slice word);
extern bool evm_abi_slice_is(struct evm_abi_slice slice, const char *word);
extern enum evm_status evm_abi_expected(struct evm_abi_parser *parser, const char *what);

extern enum evm_status evm_abi_take_type(struct evm_abi_parser *parser,
										 const struct evm_abi_type **out);
/* "[3][]" behind a type, however many. */
extern enum evm_status evm_abi_take_suffixes(struct evm_abi_parser *parser,
											 const struct evm_abi_type **type);
/* "(…)" with names, data locations and, where allowed, "indexed". */
extern enum evm_status evm_abi_take_params(struct evm_abi_parser *parser,
										   const struct evm_abi_param **out, size_t *count,
										   enum evm_abi_indexing indexing);
/* One parameter; a struct's members are the same, with ';' behind. */
extern enum evm_status evm_abi_take_param(struct evm_abi_parser *parser, struct evm_abi_param *out,
										  enum evm_abi_indexing indexing);
/* The type of a struct, *out NULL when the scope has none of that name (abi_fragment.c). */
extern enum evm_status evm_abi_scope_find(struct evm_abi_parser *parser,
										  const struct evm_abi_type **out,
										  struct evm_abi_slice name);

/* ---- messages (abi_show.c) ------------------------------------------------- */

/* The precision of "%.*s" for a piece of the input. */
extern int evm_abi_shown(size_t len);

/* Where in the arguments a value is: parameter, then components and indices inside it. */
struct evm_abi_step
{
	const struct evm_abi_param *param; /* NULL: an index of an array */
	uint64_t index;
};

struct evm_abi_path
{
	struct evm_abi_step steps[EVM_ABI_MAX_DEPTH + 1];
	unsigned depth;
};

/* evm_fail with "argument 2 (orders)[3].amount: " in front of the message. */
extern enum evm_status evm_abi_fail_at(const struct evm_abi_path *path, struct evm_error *err,
									   enum evm_status status, size_t position, const char *format,
									   ...) __attribute__((format(printf, 5, 6)));

/* A value as people read it: 5, 0xab…, "text", [1, 2], (a: 1, b: 2). */
extern void evm_abi_show_value(struct evm_abi_text *text, const struct evm_abi_type *type,
							   const struct evm_abi_value *value);
/* "(a: 1, b: 2)". */
extern void evm_abi_show_values(struct evm_abi_text *text, const struct evm_abi_param *params,
								const struct evm_abi_value *values, size_t count);
/* UTF-8 with everything that cannot be printed, or that turns text around, escaped. */
extern void evm_abi_show_string(struct evm_abi_text *text, const uint8_t *data, size_t len);

/* ---- UTF-8 (abi_utf8.c) ------------------------------------------------------- */

/* Bytes of the character at data (1 to 4), or 0 when it is not valid UTF-8. */
extern size_t evm_utf8_next(uint32_t *character, const uint8_t *data, size_t len);

/* ---- encoding (abi_encode.c) ---------------------------------------------------- */

/* Writes a value type as its 32 bytes. */
extern void evm_abi_write_word(uint8_t out[EVM_ABI_WORD_BYTES], const struct evm_abi_type *type,
							   const struct evm_abi_value *value);
/* Whether the value is one of its type, and everything in it. */
extern enum evm_status evm_abi_check_value(struct evm_abi_path *path,
										   const struct evm_abi_type *type,
										   const struct evm_abi_value *value,
										   struct evm_error *err);
extern enum evm_status evm_abi_check_values(struct evm_abi_path *path,
											const struct evm_abi_param *params,
											const struct evm_abi_value *values, size_t count,
											struct evm_error *err);
extern size_t evm_abi_padded(size_t len);

/* ---- decoding (abi_decode.c) ---------------------------------------------------- */

struct evm_abi_decoder
{
	struct evm_arena *arena;
	const uint8_t *data;
	size_t len;
	size_t leaves_left;
	size_t bytes_left; /* of bytes and strings, which may alias each other */
	struct evm_abi_path path;
	struct evm_error *err;
};

enum evm_abi_selection
{
	EVM_ABI_ALL_PARAMS,
	EVM_ABI_NOT_INDEXED
};

extern void evm_abi_decoder_init(struct evm_abi_decoder *decoder, struct evm_arena *arena,
								 const uint8_t *data, size_t len, struct evm_error *err);
/* The tuple that begins at base; values has room for count, those not selected are left alone. */
extern enum evm_status evm_abi_decode_params(struct evm_abi_decoder *decoder,
											 struct evm_abi_value *values,
											 const struct evm_abi_param *params, size_t count,
											 size_t base, enum evm_abi_selection selection);
/* A value type from a word (of the data, or a topic). */
extern enum evm_status evm_abi_decode_word(struct evm_abi_decoder *decoder,
										   struct evm_abi_value *out,
										   const struct evm_abi_type *type, const uint8_t *word,
										   size_t position);

#endif /* EVM_ABI_INTERNAL_H */
