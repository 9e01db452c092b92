/* json_fields.h: members of a JSON object that may be unknown, and are null then.
 *
 * One thread at a time.
 */
#ifndef TOOLS_JSON_FIELDS_H
#define TOOLS_JSON_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"

void json_field_u64(struct seam_json *json, const char *key, bool known, uint64_t value);
void json_field_double(struct seam_json *json, const char *key, bool known, double value);
void json_field_string(struct seam_json *json, const char *key, const char *value); /* NULL is null */

#endif
