/* plan_sample.h: small plans for tests. */
#ifndef TEST_PLAN_SAMPLE_H
#define TEST_PLAN_SAMPLE_H

#include <seam/plan.h>

#include "plan_builder.h"

/* A builder with a valid plan in it that has every section: two copies of a period of ten positions, chunks of 1024
 * bytes of which two back two addresses, a slot that crosses the end and one that lives longer than a period, two
 * dynamic slots in a group with ranges, a wait. Aborts when there is no memory; to be finished and fini'd. */
void plan_sample_builder(struct seam_plan_builder *builder);

/* The same, finished. */
struct seam_plan *plan_sample_create(void);

#endif
