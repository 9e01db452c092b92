/* plan_file.c: the public calls that read and write a plan by its path. Not here: its bytes (plan_format.c). */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "plan_format.h"
#include "trace_error.h"
#include "trace_file.h"

enum seam_rc seam_plan_read_file(const char *path, struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	if (path == NULL || ret_plan == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	void *data;
	size_t bytes;
	enum seam_rc rc = seam__file_read_all(path, SEAM_PLAN_MAGIC, error, &data, &bytes);
	if (rc != SEAM_OK)
		return rc;
	rc = seam_plan_read_memory(data, bytes, error, ret_plan);
	seam__file_free(data, bytes);
	return rc;
}

enum seam_rc seam_plan_write_file(const struct seam_plan *plan, const char *path)
{
	if (plan == NULL || path == NULL)
		return SEAM_INVALID;
	struct seam_plan *copy = NULL;
	enum seam_rc rc = seam__plan_copy(plan, &copy); /* it may have other arrays than it was made with */
	if (rc != SEAM_OK)
		return rc;
	size_t bytes;
	const void *image = seam__plan_image(copy, &bytes);
	rc = seam__file_write(path, image, bytes);
	int why = errno;
	seam_plan_free(copy);
	errno = why;
	return rc;
}
