/*
 * bind.c
 *	  Parses what users wrote, alone, and puts the parse trees into the target list of our own
 *	  statement.
 *
 * Because the text is parsed by itself and must be nothing but a list of expressions, no text can
 * change what surrounds it: "true) OR (true" does not parse. Positions of all nodes refer to one
 * combined text, so that errors point into it; the error frame turns them into positions in the
 * field that the user wrote.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "flow/bind.h"
#include "flow/scope.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "utils/builtins.h"

#define SELECT_WORD "SELECT "
#define SELECT_WORD_BYTES 7

/* A row estimate that never changes, so that plans stay (measured: it decides nothing here). */
#define SCOPE_ROW_ESTIMATE 100

struct flow_expression *
flow_expression_create(struct flow_definition *definition, const struct flow_step *step)
{
	struct flow_expression *expression =
		MemoryContextAllocZero(definition->context, sizeof(struct flow_expression));

	expression->step = step != NULL ? step->name : NULL;
	expression->position = step != NULL ? step->index : 0;
	return expression;
}

int
flow_expression_add(struct flow_definition *definition, struct flow_expression *expression,
					const char *field, const char *text, int count)
{
	MemoryContext old = MemoryContextSwitchTo(definition->context);
	int first = expression->target_count;
	struct flow_source *source;

	expression->sources = expression->sources == NULL
		? palloc(sizeof(struct flow_source))
		: repalloc(expression->sources,
				   (expression->source_count + 1) * sizeof(struct flow_source));
	source = &expression->sources[expression->source_count++];
	source->text = text;
	source->field = field;
	source->first_target = first;
	source->target_count = count;

	expression->target_count += count;
	if (count > 0)
	{
		expression->targets = expression->targets == NULL
			? palloc(count * sizeof(struct flow_value_target))
			: repalloc(expression->targets,
					   expression->target_count * sizeof(struct flow_value_target));
		memset(&expression->targets[first], 0, count * sizeof(struct flow_value_target));
	}
	MemoryContextSwitchTo(old);
	return first;
}

/* Byte offset of a source in the combined text. */
static int
source_offset(const struct flow_expression *expression, int index)
{
	int offset = SELECT_WORD_BYTES;

	for (int i = 0; i < index; i++)
		offset += strlen(expression->sources[i].text) + strlen(",\n");
	return offset;
}

char *
flow_expression_text(const struct flow_expression *expression)
{
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfoString(&text, SELECT_WORD);
	for (int i = 0; i < expression->source_count; i++)
		appendStringInfo(&text, "%s%s", i > 0 ? ",\n" : "", expression->sources[i].text);
	return text.data;
}

/* Position in the combined text → the field it is in, and the position there. */
static void
transpose_position(const struct flow_expression *expression, int position)
{
	char *text = flow_expression_text(expression);

	for (int i = expression->source_count - 1; i >= 0; i--)
	{
		int start = pg_mbstrlen_with_len(text, source_offset(expression, i));

		if (position > start)
		{
			errposition(0);
			internalerrposition(position - start);
			internalerrquery(expression->sources[i].text);
			return;
		}
	}
}

static void
describe_error(void *arg)
{
	struct flow_error_frame *frame = arg;
	const struct flow_expression *expression = frame->expression;
	StringInfoData fields;

	if (geterrposition() > 0)
		transpose_position(expression, geterrposition());
	initStringInfo(&fields);
	for (int i = 0; i < expression->source_count; i++)
		appendStringInfo(&fields, "%s%s", i > 0 ? ", " : "", expression->sources[i].field);
	if (expression->step != NULL)
		errcontext("step \"%s\" of workflow \"%s\": %s", expression->step,
				   frame->definition->workflow, fields.data);
	else
		errcontext("workflow \"%s\": %s", frame->definition->workflow, fields.data);
}

void
flow_push_error_frame(struct flow_error_frame *frame, struct flow_definition *definition,
					  struct flow_expression *expression)
{
	frame->definition = definition;
	frame->expression = expression;
	frame->callback.callback = describe_error;
	frame->callback.arg = frame;
	frame->callback.previous = error_context_stack;
	error_context_stack = &frame->callback;
}

void
flow_pop_error_frame(struct flow_error_frame *frame)
{
	error_context_stack = frame->callback.previous;
}

/* True when the statement is nothing but SELECT and its target list. */
static bool
is_bare_select(const SelectStmt *select)
{
	return select->distinctClause == NIL && select->intoClause == NULL &&
		select->fromClause == NIL && select->whereClause == NULL && select->groupClause == NIL &&
		select->havingClause == NULL && select->windowClause == NIL && select->valuesLists == NIL &&
		select->sortClause == NIL && select->limitOffset == NULL && select->limitCount == NULL &&
		select->lockingClause == NIL && select->withClause == NULL && select->op == SETOP_NONE;
}

static const char *
where_text(const struct flow_expression *expression, const struct flow_source *source)
{
	if (expression->step != NULL)
		return psprintf("step \"%s\": %s", expression->step, source->field);
	return source->field;
}

/* The expressions of one source, with positions as in the combined text. */
static List *
parse_source(const struct flow_expression *expression, int index)
{
	const struct flow_source *source = &expression->sources[index];
	StringInfoData text;
	List *statements;
	SelectStmt *select;
	ListCell *cell;

	if (source->text[strspn(source->text, " \t\r\n\f")] == '\0')
		return NIL;
	initStringInfo(&text);
	appendStringInfoSpaces(&text, source_offset(expression, index) - SELECT_WORD_BYTES);
	appendStringInfo(&text, SELECT_WORD "%s", source->text);
	statements = raw_parser(text.data, RAW_PARSE_DEFAULT);
	select = list_length(statements) == 1 ? (SelectStmt *) linitial_node(RawStmt, statements)->stmt
										  : NULL;
	if (select == NULL || !IsA(select, SelectStmt) || !is_bare_select(select))
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("%s is not an expression", where_text(expression, source)),
				 errdetail("It reads: %s", source->text),
				 errhint("Put a whole query in parentheses: (SELECT …).")));
	foreach (cell, select->targetList)
	{
		ResTarget *target = lfirst_node(ResTarget, cell);
		bool star =
			IsA(target->val, ColumnRef) && IsA(llast(((ColumnRef *) target->val)->fields), A_Star);

		if (target->name != NULL || star)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR),
					 star ? errmsg("%s cannot contain *", where_text(expression, source))
						  : errmsg("%s cannot contain an alias (\"%s\")",
								   where_text(expression, source), target->name),
					 errposition(pg_mbstrlen_with_len(text.data, target->location) + 1)));
	}
	return select->targetList;
}

static void
check_count(const struct flow_expression *expression, const struct flow_source *source, int count)
{
	if (count == source->target_count)
		return;
	if (strcmp(source->field, "args") == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s: %d arguments are wanted, not %d", where_text(expression, source),
						source->target_count, count),
				 errdetail("It reads: %s", source->text)));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s must be one expression", where_text(expression, source)),
			 errdetail("It reads: %s", source->text)));
}

static Node *
coerced(const struct flow_value_target *target, Node *value)
{
	TypeCast *cast = makeNode(TypeCast);

	cast->arg = value;
	cast->typeName = makeTypeNameFromOid(target->type, -1);
	cast->location = -1;
	return (Node *) cast;
}

RawStmt *
flow_bind(struct flow_definition *definition, struct flow_expression *expression, bool coerce)
{
	char *text = flow_scope_statement(&definition->scope, definition, expression->position);
	RawStmt *statement = linitial_node(RawStmt, raw_parser(text, RAW_PARSE_DEFAULT));
	SelectStmt *select = castNode(SelectStmt, statement->stmt);

	if (!coerce)
		select->targetList = NIL;
	for (int i = 0; i < expression->source_count; i++)
	{
		const struct flow_source *source = &expression->sources[i];
		List *targets = parse_source(expression, i);

		check_count(expression, source, list_length(targets));
		for (int j = 0; j < source->target_count; j++)
		{
			ResTarget *target = list_nth_node(ResTarget, targets, j);

			/*
			 * A name is given because none can be made of a cast to a type known by its OID
			 * alone.
			 */
			target->name = "value";
			if (coerce)
				target->val = coerced(&expression->targets[source->first_target + j], target->val);
			select->targetList = lappend(select->targetList, target);
		}
	}
	return statement;
}

static int
depth_of(ParseState *pstate)
{
	int depth = 0;

	while (pstate->parentParseState != NULL)
	{
		pstate = pstate->parentParseState;
		depth++;
	}
	return depth;
}

void
flow_refuse_column(ParseState *pstate, const struct flow_definition *definition, int position,
				   const char *alias, const char *name, int location)
{
	char *names = flow_scope_names(definition, alias, position);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("%s.%s does not exist", alias, name),
			 names[0] != '\0' ? errhint("%s has %s.", alias, names)
							  : errhint("%s has no columns.", alias),
			 parser_errposition(pstate, location)));
}

void
flow_refuse_alias(ParseState *pstate, const struct flow_definition *definition, int position,
				  const char *alias, const char *name, int location)
{
	bool is_jsonb = flow_scope_find(definition, NULL, alias, position) != NULL;

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 is_jsonb ? errmsg("%s is jsonb and has no columns", alias)
					  : errmsg("there is no \"%s\" here", alias),
			 is_jsonb
				 ? errhint("Write %s->>'%s'.", alias, name)
				 : errhint("What can be named here: %s.", flow_scope_aliases(definition, position)),
			 parser_errposition(pstate, location)));
}

/*
 * alias.x must be a column where alias is one of ours: PostgreSQL would otherwise read
 * event.count as count(event).
 */
static Node *
check_reference(ParseState *pstate, ColumnRef *reference)
{
	struct flow_parser *parser = pstate->p_ref_hook_state;
	int position = parser->expression->position;
	ParseNamespaceItem *item;
	int levels_up;
	char *alias;
	char *name;

	if (list_length(reference->fields) != 2 || !IsA(lsecond(reference->fields), String))
		return NULL;
	alias = strVal(linitial(reference->fields));
	name = strVal(lsecond(reference->fields));
	item = refnameNamespaceItem(pstate, NULL, alias, reference->location, &levels_up);
	if (item == NULL)
		flow_refuse_alias(pstate, parser->definition, position, alias, name, reference->location);
	/* An alias of the user's own sub-select is none of our business. */
	if (levels_up == depth_of(pstate) &&
		flow_scope_names(parser->definition, alias, position) != NULL &&
		flow_scope_find(parser->definition, alias, name, position) == NULL)
		flow_refuse_column(pstate, parser->definition, position, alias, name, reference->location);
	return NULL;
}

/*
 * A name alone is a column of the user's own sub-select, or vars or input. Others of ours are
 * written with their alias: a step that is added later may have the same name.
 */
static Node *
check_bare_name(ParseState *pstate, ColumnRef *reference, Node *var)
{
	struct flow_parser *parser = pstate->p_ref_hook_state;
	int position = parser->expression->position;
	const char *name;
	char *owners;

	if (list_length(reference->fields) != 1 || var == NULL || !IsA(var, Var) ||
		((Var *) var)->varattno == InvalidAttrNumber ||
		((Var *) var)->varlevelsup != depth_of(pstate))
		return NULL;
	name = strVal(linitial(reference->fields));
	if (flow_scope_find(parser->definition, NULL, name, position) != NULL)
		return NULL;
	owners = flow_scope_owners(parser->definition, name, position);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 owners[0] == '\0' ? errmsg("column \"%s\" does not exist", name)
							   : errmsg("\"%s\" must name what it belongs to", name),
			 owners[0] != '\0' ? errhint("Write %s.", owners) : 0,
			 parser_errposition(pstate, reference->location)));
	return NULL;
}

void
flow_parser_setup(ParseState *pstate, void *arg)
{
	pstate->p_pre_columnref_hook = check_reference;
	pstate->p_post_columnref_hook = check_bare_name;
	pstate->p_ref_hook_state = arg;
}

QueryEnvironment *
flow_scope_environment(const struct flow_scope *scope, Tuplestorestate *rows)
{
	QueryEnvironment *environment = create_queryEnv();
	EphemeralNamedRelation relation = palloc0(sizeof(EphemeralNamedRelationData));

	relation->md.name = FLOW_SCOPE_RELATION;
	relation->md.reliddesc = InvalidOid;
	relation->md.tupdesc = scope->desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->md.enrtuples = SCOPE_ROW_ESTIMATE;
	relation->reldata = rows;
	register_ENR(environment, relation);
	return environment;
}
