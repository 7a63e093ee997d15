/*
 * typed_types.c
 *	  The types of typed data: reading them, and encodeType.
 */
#include "evm/typed_internal.h"

#include <stdlib.h>
#include <string.h>

#include "evm/keccak.h"

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_identifier(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
	{
		const char c = text[i];
		const bool letter =
			(c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';

		if (!letter && (i == 0 || !is_digit(c)))
			return false;
	}
	return len > 0;
}

/*
 * Libraries accept nearly any name of a field; those that could pass for other fields in
 * encodeType's text are refused.
 */
static bool
is_field_name(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
	{
		if ((unsigned char) *c < ' ' || *c == '\x7f' || strchr("(),", *c) != NULL)
			return false;
	}
	return *text != '\0';
}

/* Decimal digits without leading zeros; false when there is anything else, or too many. */
static bool
parse_number(uint64_t *out, const char *text, size_t len)
{
	*out = 0;
	if (len == 0 || len > 18 || text[0] == '0')
		return false;
	for (size_t i = 0; i < len; i++)
	{
		if (!is_digit(text[i]))
			return false;
		*out = *out * 10 + (uint64_t) (text[i] - '0');
	}
	return true;
}

static bool
has_prefix(const char *text, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

static bool
is_text(const char *text, size_t len, const char *wanted)
{
	return len == strlen(wanted) && memcmp(text, wanted, len) == 0;
}

/* What begins like a sized type and goes on with digits only: no name for a struct. */
static bool
looks_elementary(const char *text, size_t len)
{
	static const char *const prefixes[] = {"uint", "int", "bytes"};

	if (is_text(text, len, "address") || is_text(text, len, "bool") || is_text(text, len, "string"))
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
	{
		size_t position = strlen(prefixes[i]);

		if (!has_prefix(text, len, prefixes[i]))
			continue;
		while (position < len && is_digit(text[position]))
			position++;
		if (position == len)
			return true;
	}
	return false;
}

static bool
parse_elementary(struct typed_type *out, const char *text, size_t len)
{
	uint64_t size = 0;

	if (is_text(text, len, "address"))
		out->kind = TYPED_ADDRESS;
	else if (is_text(text, len, "bool"))
		out->kind = TYPED_BOOL;
	else if (is_text(text, len, "string"))
		out->kind = TYPED_STRING;
	else if (is_text(text, len, "bytes"))
		out->kind = TYPED_BYTES;
	else if (has_prefix(text, len, "bytes"))
	{
		out->kind = TYPED_FIXED_BYTES;
		if (!parse_number(&size, text + 5, len - 5) || size > 32)
			return false;
	}
	else
	{
		const size_t prefix = text[0] == 'u' ? 4 : 3;

		out->kind = text[0] == 'u' ? TYPED_UINT : TYPED_INT;
		if (!parse_number(&size, text + prefix, len - prefix) || size % 8 != 0 || size > 256)
			return false;
	}
	out->size = (unsigned) size;
	return true;
}

/* Reads "[]" and "[n]" behind the base type. */
static bool
parse_dimensions(struct typed_type *out, const char *text, size_t len)
{
	size_t position = 0;

	while (position < len)
	{
		const char *close = memchr(text + position, ']', len - position);
		size_t end;
		uint64_t length = TYPED_ANY_LENGTH;

		if (text[position] != '[' || close == NULL ||
			out->dimension_count == EVM_TYPED_DATA_MAX_DIMENSIONS)
			return false;
		end = (size_t) (close - text);
		if (end > position + 1 && !parse_number(&length, text + position + 1, end - position - 1))
			return false;
		out->dimensions[out->dimension_count++] = length;
		position = end + 1;
	}
	return true;
}

static bool
find_struct(const struct typed_types *types, size_t *index, const char *name, size_t len)
{
	for (*index = 0; *index < types->struct_count; ++*index)
	{
		if (is_text(name, len, types->structs[*index].name))
			return true;
	}
	return false;
}

struct typed_struct *
evm_typed_find(struct typed_types *types, const char *name)
{
	size_t index;

	return find_struct(types, &index, name, strlen(name)) ? &types->structs[index] : NULL;
}

static bool
parse_type(struct typed_type *out, const struct typed_types *types, const char *text)
{
	const size_t len = strlen(text);
	const char *bracket = strchr(text, '[');
	const size_t base_len = bracket == NULL ? len : (size_t) (bracket - text);

	memset(out, 0, sizeof(*out));
	out->text = text;
	if (looks_elementary(text, base_len))
	{
		if (!parse_elementary(out, text, base_len))
			return false;
	}
	else
	{
		out->kind = TYPED_STRUCT;
		if (!find_struct(types, &out->struct_index, text, base_len))
			return false;
	}
	return parse_dimensions(out, text + base_len, len - base_len);
}

static enum evm_status
read_field(const struct typed_types *types, const struct typed_struct *owner,
		   struct typed_field *out, const struct evm_json *json, size_t number,
		   struct evm_error *err)
{
	size_t name_len;
	size_t type_len;
	const char *name = evm_json_string(evm_json_object_get(json, "name"), &name_len);
	const char *type = evm_json_string(evm_json_object_get(json, "type"), &type_len);

	if (name == NULL || type == NULL || strlen(name) != name_len || strlen(type) != type_len ||
		!is_field_name(name))
		return evm_fail(err, EVM_ERR_MALFORMED, 0,
						"typed data: field %zu of type %s has no valid name and type", number,
						owner->name);
	for (const struct typed_field *other = owner->fields; other < out; other++)
	{
		if (strcmp(other->name, name) == 0)
			return evm_fail(err, EVM_ERR_MALFORMED, 0,
							"typed data: field %zu of type %s has the name of another", number,
							owner->name);
	}
	out->name = name;
	if (!parse_type(&out->type, types, type))
		return evm_fail(err, EVM_ERR_TYPE, 0,
						"typed data: field %zu of type %s has a type that is neither elementary "
						"(with its width) nor defined",
						number, owner->name);
	return EVM_OK;
}

static enum evm_status
read_struct(struct typed_types *types, struct typed_struct *out, const struct evm_json *fields,
			struct evm_error *err)
{
	const size_t n = evm_json_array_size(fields);

	if (evm_json_kind(fields) != EVM_JSON_ARRAY)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "typed data: type %s is not a list of fields",
						out->name);
	if (n > EVM_TYPED_DATA_MAX_FIELDS)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "typed data: type %s has more than %d fields",
						out->name, EVM_TYPED_DATA_MAX_FIELDS);
	out->fields = evm_arena_zalloc(types->arena, n, sizeof(*out->fields));
	if (out->fields == NULL)
		return evm_fail(err, EVM_ERR_MEMORY, 0, "typed data: out of memory");
	for (size_t i = 0; i < n; i++)
	{
		enum evm_status status =
			read_field(types, out, &out->fields[i], evm_json_array_get(fields, i), i + 1, err);

		if (status != EVM_OK)
			return status;
		out->field_count++;
	}
	return EVM_OK;
}

/* Collects the names first: a field may name a type that comes later. */
struct collector
{
	struct typed_types *types;
	struct evm_error *err;
	enum evm_status status;
};

static bool
collect_name(void *context, const char *name, const struct evm_json *value)
{
	struct collector *collector = context;
	struct typed_types *types = collector->types;

	(void) value;
	if (types->struct_count == EVM_TYPED_DATA_MAX_STRUCTS)
		collector->status = evm_fail(collector->err, EVM_ERR_LIMIT, 0,
									 "typed data: more than %d types", EVM_TYPED_DATA_MAX_STRUCTS);
	else if (!is_identifier(name, strlen(name)) || looks_elementary(name, strlen(name)))
		collector->status = evm_fail(collector->err, EVM_ERR_MALFORMED, 0,
									 "typed data: the name of type %zu is not one for a struct",
									 types->struct_count + 1);
	else
		types->structs[types->struct_count++].name = name;
	return collector->status == EVM_OK;
}

enum evm_status
evm_typed_read_types(struct typed_types *types, const struct evm_json *json, struct evm_error *err)
{
	struct collector collector = {types, err, EVM_OK};
	enum evm_status status = EVM_OK;

	if (evm_json_kind(json) != EVM_JSON_OBJECT)
		return evm_fail(err, EVM_ERR_MALFORMED, 0, "typed data: types is not an object");
	evm_json_object_each(json, collect_name, &collector);
	if (collector.status != EVM_OK)
		return collector.status;
	for (size_t i = 0; i < types->struct_count && status == EVM_OK; i++)
		status = read_struct(types, &types->structs[i],
							 evm_json_object_get(json, types->structs[i].name), err);
	return status;
}

/* ---- encodeType --------------------------------------------------------- */

/* Hashes the text, and writes it too when it is wanted. */
struct sink
{
	struct evm_keccak keccak;
	char *text; /* EVM_TYPED_DATA_MAX_TYPE_BYTES + 1, or NULL */
	size_t len;
};

static void
put(struct sink *sink, const char *text)
{
	const size_t len = strlen(text);

	if (sink->len + len <= EVM_TYPED_DATA_MAX_TYPE_BYTES)
	{
		evm_keccak_update(&sink->keccak, text, len);
		if (sink->text != NULL)
			memcpy(sink->text + sink->len, text, len + 1);
	}
	sink->len += len; /* beyond the limit this only says so */
}

static void
put_struct(struct sink *sink, const struct typed_struct *type)
{
	put(sink, type->name);
	put(sink, "(");
	for (size_t i = 0; i < type->field_count; i++)
	{
		if (i > 0)
			put(sink, ",");
		put(sink, type->fields[i].type.text);
		put(sink, " ");
		put(sink, type->fields[i].name);
	}
	put(sink, ")");
}

static int
compare_structs(const void *a, const void *b)
{
	return strcmp((*(const struct typed_struct *const *) a)->name,
				  (*(const struct typed_struct *const *) b)->name);
}

/* All structs that the fields lead to, in any order; found[0] is the first. */
static size_t
find_referenced(const struct typed_struct *found[EVM_TYPED_DATA_MAX_STRUCTS],
				const struct typed_types *types, const struct typed_struct *first)
{
	bool seen[EVM_TYPED_DATA_MAX_STRUCTS] = {false};
	size_t count = 0;

	seen[first - types->structs] = true;
	found[count++] = first;
	for (size_t next = 0; next < count; next++)
	{
		for (size_t i = 0; i < found[next]->field_count; i++)
		{
			const struct typed_type *type = &found[next]->fields[i].type;

			if (type->kind != TYPED_STRUCT || seen[type->struct_index])
				continue;
			seen[type->struct_index] = true;
			found[count++] = &types->structs[type->struct_index];
		}
	}
	return count;
}

enum evm_status
evm_typed_hash_type(struct typed_types *types, struct typed_struct *type, const char **out,
					struct evm_error *err)
{
	const struct typed_struct *found[EVM_TYPED_DATA_MAX_STRUCTS];
	struct sink sink = {.text = NULL, .len = 0};
	size_t count;

	if (type->hashed && out == NULL)
		return EVM_OK;
	if (out != NULL)
	{
		sink.text = evm_arena_alloc(types->arena, EVM_TYPED_DATA_MAX_TYPE_BYTES + 1);
		if (sink.text == NULL)
			return evm_fail(err, EVM_ERR_MEMORY, 0, "typed data: out of memory");
		*out = sink.text;
	}
	evm_keccak_init(&sink.keccak);
	count = find_referenced(found, types, type);
	qsort(found + 1, count - 1, sizeof(found[0]), compare_structs);
	for (size_t i = 0; i < count; i++)
		put_struct(&sink, found[i]);
	if (sink.len > EVM_TYPED_DATA_MAX_TYPE_BYTES)
		return evm_fail(err, EVM_ERR_LIMIT, 0, "typed data: type %s is longer than %d bytes",
						type->name, EVM_TYPED_DATA_MAX_TYPE_BYTES);
	evm_keccak_final(&type->type_hash, &sink.keccak);
	type->hashed = true;
	return EVM_OK;
}
