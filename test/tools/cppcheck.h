/*
 * cppcheck.h
 *	  What cppcheck must know of PostgreSQL's macros, in place of its headers.
 *
 * Errors leave the function; the blocks of PG_TRY are blocks.
 */
/* clang-format off */
#define PG_MODULE_MAGIC extern int module_magic
#define PG_FUNCTION_INFO_V1(name) extern int name##_info
#define ereport(level, ...) \
	do \
	{ \
		if ((level) >= ERROR) \
			abort(); \
	} while (0)
#define elog(level, ...) ereport(level, 0)
#define ERROR 21
#define WARNING 19
#define LOG 15
#define FATAL 22
#define PG_TRY() {
#define PG_CATCH() } {
#define PG_FINALLY() } {
#define PG_END_TRY() }
#define pg_attribute_printf(format, arguments)
#define pg_attribute_noreturn()
#define UINT64CONST(value) value##ULL
#define INT64CONST(value) value##LL
