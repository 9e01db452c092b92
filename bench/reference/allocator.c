/* allocator.c: the allocators by name. */
#include "allocator.h"

#include <stdio.h>
#include <string.h>

#include "ref_cache.h"
#include "ref_direct.h"
#include "stitching.h"

static const char *const names[REF_KINDS] = {
	[REF_SEAM] = "seam",
	[REF_CACHING] = "caching",
	[REF_EXPANDABLE] = "expandable",
	[REF_DIRECT] = "direct",
};

const char *ref_kind_name(enum ref_kind kind)
{
	return names[kind];
}

bool ref_kind_find(const char *name, enum ref_kind *ret_kind)
{
	for (size_t i = 0; i < REF_KINDS; i++) {
		if (strcmp(names[i], name) == 0) {
			*ret_kind = (enum ref_kind)i;
			return true;
		}
	}
	return false;
}

static enum seam_rc create_expandable(
	struct seam_driver *driver, const struct ref_options *options, struct ref_allocator **ret_allocator)
{
	int64_t has_vmm = 0;
	int cu = seam__drv_attribute(driver, SEAM_ATTR_VMM_SUPPORTED, &has_vmm);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	if (has_vmm == 0)
		return SEAM_UNSUPPORTED;
	return ref_cache_create(&ref_expandable_source, driver, options, ret_allocator);
}

static enum seam_rc create(enum ref_kind kind, struct seam_driver *driver, const struct ref_options *options,
	char *error, struct ref_allocator **ret_allocator)
{
	switch (kind) {
	case REF_SEAM:
		return ref_stitching_create(driver, options, error, ret_allocator);
	case REF_CACHING:
		return ref_cache_create(&ref_caching_source, driver, options, ret_allocator);
	case REF_EXPANDABLE:
		return create_expandable(driver, options, ret_allocator);
	case REF_DIRECT:
		return ref_direct_create(driver, options, ret_allocator);
	case REF_KINDS:
		break;
	}
	return SEAM_UNSUPPORTED;
}

enum seam_rc ref_create(enum ref_kind kind, struct seam_driver *driver, const struct ref_options *options, char *error,
	struct ref_allocator **ret_allocator)
{
	char text[REF_ERROR_BYTES] = "";
	enum seam_rc rc = create(kind, driver, options, text, ret_allocator);
	if (rc == SEAM_OK || error == NULL)
		return rc;
	if (text[0] != '\0')
		memcpy(error, text, sizeof(text));
	else
		(void)snprintf(error, REF_ERROR_BYTES, "%s", seam_rc_text(rc));
	return rc;
}

uint64_t ref_destroy(struct ref_allocator *allocator)
{
	return allocator != NULL ? allocator->ops->destroy(allocator) : 0;
}
