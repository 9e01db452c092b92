/* json_schema.c: see json_schema.h. */
#include "json_schema.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static bool is_of_type(const json_t *value, const char *type)
{
	return (strcmp(type, "object") == 0 && json_is_object(value)) ||
		(strcmp(type, "array") == 0 && json_is_array(value)) ||
		(strcmp(type, "string") == 0 && json_is_string(value)) ||
		(strcmp(type, "integer") == 0 && json_is_integer(value)) ||
		(strcmp(type, "number") == 0 && json_is_number(value)) ||
		(strcmp(type, "null") == 0 && json_is_null(value)) ||
		(strcmp(type, "boolean") == 0 && json_is_boolean(value));
}

/* types: a string, or an array of them; NULL: any. */
static bool is_of_types(const json_t *value, const json_t *types)
{
	size_t i;
	json_t *type;
	if (types == NULL || json_is_string(types))
		return types == NULL || is_of_type(value, json_string_value(types));
	json_array_foreach(types, i, type)
	{
		if (is_of_type(value, json_string_value(type)))
			return true;
	}
	return false;
}

static void check(const json_t *value, const json_t *schema, const char *where);

static void check_object(json_t *value, const json_t *schema, const char *where)
{
	const json_t *properties = json_object_get(schema, "properties");
	const json_t *others = json_object_get(schema, "additionalProperties");
	size_t i;
	json_t *name;
	json_t *member;
	const char *key;
	json_array_foreach(json_object_get(schema, "required"), i, name) cr_assert_not_null(
		json_object_get(value, json_string_value(name)), "%s: no %s", where, json_string_value(name));
	json_object_foreach(value, key, member)
	{
		const json_t *known = json_object_get(properties, key);
		cr_assert(known != NULL || !json_is_false(others), "%s: %s is not in the schema", where, key);
		if (known != NULL || json_is_object(others))
			check(member, known != NULL ? known : others, key);
	}
}

static void check(const json_t *value, const json_t *schema, const char *where)
{
	const json_t *choices = json_object_get(schema, "enum");
	const json_t *items = json_object_get(schema, "items");
	bool among = choices == NULL;
	size_t i;
	json_t *member;
	json_array_foreach(choices, i, member) among |= json_equal(member, value) != 0;
	cr_assert(among, "%s: not one of the schema's values", where);
	cr_assert(is_of_types(value, json_object_get(schema, "type")), "%s: not of the schema's type", where);
	if (json_is_object(value))
		check_object((json_t *)(uintptr_t)value, schema, where);
	json_array_foreach(value, i, member)
	{
		if (items != NULL)
			check(member, items, where);
	}
}

json_t *json_schema_load(const char *path)
{
	json_error_t error;
	json_t *json = json_load_file(path, 0, &error);
	cr_assert_not_null(json, "%s:%d: %s", path, error.line, error.text);
	return json;
}

void json_schema_check(const json_t *value, const char *schema_path)
{
	json_t *schema = json_schema_load(schema_path);
	check(value, schema, "the whole");
	json_decref(schema);
}
