/*
 * codec_argument.c
 *	  SQL values of any type to ABI values.
 */
#include "postgres.h"

#include "api/codec_argument.h"

#include "catalog/pg_type.h"
#include "db/compat.h"
#include "db/datum.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* An SQL value with its type. */
struct sql_value
{
	Oid type;
	Datum datum;
	bool isnull;
};

static bool
is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

pg_noreturn static void
refuse_type(Oid source, Oid target, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s: a value of type %s cannot become %s", what, format_type_be(source),
					format_type_be(target)),
			 is_float(source) || is_float(get_element_type(source))
				 ? errhint("Floating-point numbers round. Compute with numeric.")
				 : errhint("Cast it to %s.", format_type_be(target))));
}

/* As to_jsonb(value) does, which finds the type of its argument in the expression. */
static Datum
convert_to_jsonb(const struct sql_value *value)
{
	int16 len;
	bool by_value;
	FmgrInfo function;
	Const *constant;

	get_typlenbyval(value->type, &len, &by_value);
	constant = makeConst(value->type, -1, InvalidOid, len, value->datum, false, by_value);
	fmgr_info(F_TO_JSONB, &function);
	fmgr_info_set_expr((Node *) makeFuncExpr(F_TO_JSONB, JSONBOID, list_make1(constant), InvalidOid,
											 InvalidOid, COERCE_EXPLICIT_CALL),
					   &function);
	return FunctionCall1(&function, value->datum);
}

static Datum
call_cast(Oid function, Datum value)
{
	switch (get_func_nargs(function))
	{
		case 1:
			return OidFunctionCall1(function, value);
		case 2:
			return OidFunctionCall2(function, value, Int32GetDatum(-1));
		default:
			return OidFunctionCall3(function, value, Int32GetDatum(-1), BoolGetDatum(false));
	}
}

static Datum
read_text(const char *text, Oid target)
{
	Oid input;
	Oid parameter;

	getTypeInputInfo(target, &input, &parameter);
	return OidInputFunctionCall(input, (char *) text, parameter, -1);
}

static Datum
write_and_read(const struct sql_value *value, Oid target)
{
	Oid output;
	bool is_varlena;

	getTypeOutputInfo(value->type, &output, &is_varlena);
	return read_text(OidOutputFunctionCall(output, value->datum), target);
}

/* The conversion of an assignment. */
static Datum
convert(const struct sql_value *value, Oid target, const char *what)
{
	CoercionPathType path;
	Oid function;

	if (value->type == target)
		return value->datum;
	if (value->type == UNKNOWNOID)
		return read_text(DatumGetCString(value->datum), target);
	if ((target == NUMERICOID || target == JSONBOID) &&
		(is_float(value->type) || is_float(get_element_type(value->type))))
		refuse_type(value->type, target, what);
	if (target == JSONBOID)
		return convert_to_jsonb(value);
	path = find_coercion_pathway(target, value->type, COERCION_ASSIGNMENT, &function);
	switch (path)
	{
		case COERCION_PATH_FUNC:
			return call_cast(function, value->datum);
		case COERCION_PATH_RELABELTYPE:
			return value->datum;
		case COERCION_PATH_COERCEVIAIO:
			return write_and_read(value, target);
		default:
			refuse_type(value->type, target, what);
	}
}

/* An array whose elements are of another type than the one wanted. */
static void
array_to_abi(struct evm_arena *arena, struct evm_abi_value *out, const struct evm_abi_type *type,
			 const struct sql_value *value, Oid element, const char *what)
{
	ArrayType *array = DatumGetArrayTypeP(value->datum);
	ArrayBuildState *state;
	Oid target = get_element_type(db_abi_type_oid(type, false));
	struct sql_value item = {element, (Datum) 0, false};
	int16 len;
	bool by_value;
	char align;
	Datum *datums;
	bool *nulls;
	int count;
	Datum converted;

	get_typlenbyvalalign(element, &len, &by_value, &align);
	deconstruct_array(array, element, len, by_value, align, &datums, &nulls, &count);
	state = initArrayResult(target, CurrentMemoryContext, false);
	for (int i = 0; i < count; i++)
	{
		item.datum = datums[i];
		accumArrayResult(state, nulls[i] ? (Datum) 0 : convert(&item, target, what), nulls[i],
						 target, CurrentMemoryContext);
	}
	converted = ARR_NDIM(array) > 1
		? makeMdArrayResult(state, ARR_NDIM(array), ARR_DIMS(array), ARR_LBOUND(array),
							CurrentMemoryContext, false)
		: makeArrayResult(state, CurrentMemoryContext);
	db_abi_from_datum(arena, out, type, converted, false, what);
}

static void
argument_to_abi(struct evm_arena *arena, struct evm_abi_value *out, const struct evm_abi_type *type,
				const struct sql_value *value, const char *what)
{
	Oid target = db_abi_type_oid(type, false);
	struct sql_value base = {getBaseType(value->type), value->datum, value->isnull};
	Oid element = get_element_type(base.type);

	if (!base.isnull && OidIsValid(element) && type_is_array(target) && base.type != target)
		array_to_abi(arena, out, type, &base, element, what);
	else
		db_abi_from_datum(arena, out, type, base.isnull ? (Datum) 0 : convert(&base, target, what),
						  base.isnull, what);
}

/* The SQL values behind the first argument; those of a VARIADIC array are its elements. */
static struct sql_value *
collect(FunctionCallInfo fcinfo, int *count)
{
	Datum *datums;
	bool *nulls;
	Oid *types;
	struct sql_value *values;

	/* -1: VARIADIC NULL */
	*count = extract_variadic_args(fcinfo, 1, false, &datums, &types, &nulls);
	if (*count < 0)
		*count = 0;
	values = palloc((*count + 1) * sizeof(*values));
	for (int i = 0; i < *count; i++)
	{
		values[i].type = types[i];
		values[i].datum = datums[i];
		values[i].isnull = nulls[i];
	}
	return values;
}

struct evm_abi_value *
api_arguments(FunctionCallInfo fcinfo, struct evm_arena *arena, const struct evm_abi_param *params,
			  size_t count, const char *what)
{
	int given = 0;
	struct sql_value *arguments = PG_NARGS() > 1 ? collect(fcinfo, &given) : NULL;
	struct evm_abi_value *values = palloc0((count + 1) * sizeof(*values));

	if ((size_t) given != count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s takes %zu arguments, not %d", what, count, given)));
	for (size_t i = 0; i < count; i++)
	{
		const char *name = params[i].name;

		argument_to_abi(arena, &values[i], params[i].type, &arguments[i],
						name[0] == '\0' ? psprintf("argument %zu", i + 1)
										: psprintf("argument %zu (%s)", i + 1, name));
	}
	return values;
}
