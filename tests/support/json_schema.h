/* json_schema.h: a validator for the part of JSON Schema that Seam's schemas use: type (one or several), enum,
 * required, properties, additionalProperties, items. An invalid document fails the test.
 */
#ifndef TEST_JSON_SCHEMA_H
#define TEST_JSON_SCHEMA_H

#include <jansson.h>

/* Reads a file. To be given back by json_decref(). */
json_t *json_schema_load(const char *path);

/* The value obeys the schema in the file. */
void json_schema_check(const json_t *value, const char *schema_path);

#endif
