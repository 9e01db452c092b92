/* describe.c: a device, what its driver can do, and the configuration in force, as text for a person. */
#include <inttypes.h>

#include "opts.h"
#include "pool.h"
#include "text.h"

static int64_t attribute(struct seam_pool *pool, enum seam_drv_attribute what)
{
	int64_t value = 0;
	return seam__drv_attribute(pool->driver, what, &value) == SEAM_CU_SUCCESS ? value : 0;
}

static const char *yes_no(int64_t value)
{
	return value != 0 ? "yes" : "no";
}

static void put_device(struct seam_pool *pool, struct seam_text *text)
{
	struct seam_driver *driver = pool->driver;
	char total_text[24], free_text[24];
	uint64_t free_bytes = 0, total_bytes = 0;
	seam__text_printf(text, "device\n  name         %s\n  backend      %s, ordinal %d\n",
		driver->ops->device_name(driver), driver->ops->name, driver->ordinal);
	int64_t chip = attribute(pool, SEAM_ATTR_CHIP);
	if (chip != 0)
		seam__text_printf(text, "  capability   %" PRId64 ".%" PRId64 "\n", chip / 10, chip % 10);
	int64_t version = attribute(pool, SEAM_ATTR_DRIVER_VERSION);
	seam__text_printf(text, "  driver       %" PRId64 ".%" PRId64 "\n", version / 1000, version % 1000 / 10);
	if (seam__drv_mem_info(driver, &free_bytes, &total_bytes) == SEAM_CU_SUCCESS)
		seam__text_printf(text, "  memory       %s, %s free\n", seam__text_size(total_text, total_bytes),
			seam__text_size(free_text, free_bytes));
}

static void put_vmm(struct seam_pool *pool, struct seam_text *text)
{
	char granularity_text[24];
	const struct seam_memory *memory = &pool->engine.memory;
	int64_t vmm = attribute(pool, SEAM_ATTR_VMM_SUPPORTED);
	seam__text_printf(text, "virtual memory management\n  supported    %s\n", yes_no(vmm));
	if (vmm == 0)
		return;
	seam__text_printf(text, "  granularity  %s\n", seam__text_size(granularity_text, memory->granularity_bytes));
	seam__text_printf(text, "  exports      file descriptor %s, fabric %s\n",
		yes_no(attribute(pool, SEAM_ATTR_POSIX_FD_SUPPORTED)),
		yes_no(attribute(pool, SEAM_ATTR_FABRIC_SUPPORTED)));
	seam__text_printf(text, "  GPUDirect    %s\n", yes_no(attribute(pool, SEAM_ATTR_RDMA_SUPPORTED)));
}

void seam__pool_describe(struct seam_pool *pool, struct seam_text *text)
{
	put_device(pool, text);
	put_vmm(pool, text);
	seam__text_puts(text, "configuration\n");
	const struct seam_option *option;
	for (size_t i = 0; (option = seam__opts_get(i)) != NULL; i++) {
		char value[SEAM_OPTS_VALUE_BYTES];
		seam__text_printf(text, "  %-26s %s\n", option->name,
			seam__opts_format(option, seam__opts_value(option, &pool->config), value));
	}
}
