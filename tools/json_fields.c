/* json_fields.c: see json_fields.h. */
#include "json_fields.h"

void json_field_u64(struct seam_json *json, const char *key, bool known, uint64_t value)
{
	seam__json_key(json, key);
	if (known)
		seam__json_u64(json, value);
	else
		seam__json_null(json);
}

void json_field_double(struct seam_json *json, const char *key, bool known, double value)
{
	seam__json_key(json, key);
	if (known)
		seam__json_double(json, value);
	else
		seam__json_null(json);
}

void json_field_string(struct seam_json *json, const char *key, const char *value)
{
	seam__json_key(json, key);
	seam__json_string(json, value);
}
