/* graph_input.c: see graph_input.h. */
#include "graph_input.h"

#include <stdio.h>
#include <string.h>

#include "graph_csv.h"

static bool is_json(const char *text, size_t bytes)
{
	size_t at = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < bytes && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0')
		at++;
	return at < bytes && text[at] == '{';
}

bool graph_input_is(const void *data, size_t bytes)
{
	return bytes > 0 && (is_json(data, bytes) || graph_csv_is(data, bytes));
}

bool graph_input_is_file(const char *path)
{
	struct unpacked unpacked;
	char error[UNPACK_ERROR_BYTES];
	bool is;

	if (!unpacked_init(&unpacked, path, NULL, error))
		return false;
	is = graph_input_is(unpacked.data, unpacked.bytes);
	unpacked_fini(&unpacked);
	return is;
}

bool graph_input_import(
	const char *path, const struct unpacked *unpacked, char error[INPUT_ERROR_BYTES], struct seam_graph *ret_graph)
{
	struct seam_trace_error why = {0};
	enum seam_rc rc;

	if (unpacked->bytes > 0 && is_json((const char *)unpacked->data, unpacked->bytes))
		rc = graph_json_read(unpacked->data, unpacked->bytes, &why, ret_graph);
	else
		rc = graph_csv_read(unpacked->data, unpacked->bytes, &why, ret_graph);
	if (rc != SEAM_OK)
		(void)snprintf(
			error, INPUT_ERROR_BYTES, "%s: %s", path, why.text[0] != '\0' ? why.text : seam_rc_text(rc));
	return rc == SEAM_OK;
}

bool graph_input_read(const char *path, char error[INPUT_ERROR_BYTES], struct seam_graph *ret_graph)
{
	struct unpacked unpacked;
	bool imported;

	if (!input_unpack(path, error, &unpacked))
		return false;
	imported = graph_input_import(path, &unpacked, error, ret_graph);
	unpacked_fini(&unpacked);
	return imported;
}
