/* down_driver.h: a driver that has shut down: every call answers DEINITIALIZED. For one driver of a test program. */
#ifndef SEAM_TESTS_DOWN_DRIVER_H
#define SEAM_TESTS_DOWN_DRIVER_H

#include "driver.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define SEAM_DRIVER(name, class, wait, params, args) \
	static int down_##name params                \
	{                                            \
		return SEAM_CU_DEINITIALIZED;        \
	}
#include "driver.def"
#undef SEAM_DRIVER
#pragma GCC diagnostic pop

/* Returns the calls that it had, for who must tell the device behind it that it is gone. */
static inline const struct seam_driver_ops *down_driver(struct seam_driver *it)
{
	static struct seam_driver_ops down;
	const struct seam_driver_ops *up = it->ops;

	down = *up;
#define SEAM_DRIVER(name, class, wait, params, args) down.name = down_##name;
#include "driver.def"
#undef SEAM_DRIVER
	it->ops = &down;
	return up;
}

#endif
