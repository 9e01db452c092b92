/* test_driver.c: the wrappers' counters and injected failures, on a table whose calls only count how often they were
 * reached. */
#include <criterion/criterion.h>
#include <string.h>

#include "driver.h"

static struct seam_driver driver;
static unsigned reached;
static uint64_t ticks;
static int answer;

static uint64_t tick(struct seam_driver *d)
{
	(void)d;
	return ticks += 10;
}

static int map(struct seam_driver *d, uint64_t va, uint64_t bytes, uint64_t offset_bytes, struct seam_phys phys,
	uint64_t flags)
{
	(void)d, (void)va, (void)bytes, (void)offset_bytes, (void)phys, (void)flags;
	reached++;
	return answer;
}

static int query(struct seam_driver *d, uint64_t stream)
{
	(void)d, (void)stream;
	reached++;
	return answer;
}

static const struct seam_driver_ops ops = {.name = "test", .clock_ns = tick, .mem_map = map, .stream_query = query};

static void open_driver(void)
{
	memset(&driver, 0, sizeof(driver));
	reached = 0;
	answer = 0;
	seam__driver_init(&driver, &ops, 3);
}

TestSuite(driver, .init = open_driver);

static int call_map(void)
{
	return seam__drv_mem_map(&driver, 1, 2, 0, (struct seam_phys){4}, 0);
}

Test(driver, names_and_classes_come_from_the_table)
{
	cr_assert_str_eq(seam__driver_call_name(SEAM_DRV_mem_map), "mem_map");
	cr_assert_eq(seam__driver_call_class(SEAM_DRV_mem_map), SEAM_DRV_MEMORY);
	cr_assert_eq(seam__driver_call_class(SEAM_DRV_event_query), SEAM_DRV_EVENT);
	cr_assert_eq(seam__driver_call_class(SEAM_DRV_fill32), SEAM_DRV_COPY);
	cr_assert_eq(seam__driver_call_class(SEAM_DRV_stream_id), SEAM_DRV_QUERY);
	cr_assert_eq(driver.ordinal, 3);
}

Test(driver, each_call_is_counted_once_with_its_time)
{
	cr_assert_eq(call_map(), 0);
	answer = SEAM_CU_OUT_OF_MEMORY;
	cr_assert_eq(call_map(), SEAM_CU_OUT_OF_MEMORY);
	answer = SEAM_CU_NOT_READY;
	cr_assert_eq(seam__drv_stream_query(&driver, 0), SEAM_CU_NOT_READY);
	cr_assert_eq(seam__driver_calls(&driver, SEAM_DRV_MEMORY), 2);
	cr_assert_eq(seam__driver_ns(&driver, SEAM_DRV_MEMORY), 20);
	cr_assert_eq(seam__driver_calls(&driver, SEAM_DRV_EVENT), 1);
	cr_assert_eq(atomic_load(&driver.counts[SEAM_DRV_mem_map].failures), 1);
	cr_assert_eq(atomic_load(&driver.counts[SEAM_DRV_stream_query].failures), 0, "not ready is no failure");
	cr_assert_eq(atomic_load(&driver.last_error), SEAM_CU_OUT_OF_MEMORY);
	cr_assert_eq(atomic_load(&driver.last_call), SEAM_DRV_mem_map);
}

Test(driver, the_nth_call_of_the_classes_fails_once_without_reaching_the_device)
{
	seam__driver_fail_at(&driver, 3, UINT64_C(1) << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	for (int i = 1; i <= 5; i++) {
		cr_assert_eq(seam__drv_stream_query(&driver, 0), 0, "another class is left alone");
		cr_assert_eq(call_map(), i == 3 ? SEAM_CU_UNKNOWN : 0, "call %d", i);
	}
	cr_assert_eq(reached, 9);
	cr_assert_eq(atomic_load(&driver.injected), 1);
	cr_assert_eq(seam__driver_calls(&driver, SEAM_DRV_MEMORY), 5, "the failed one is counted too");
}

Test(driver, injection_can_be_taken_back)
{
	seam__driver_fail_at(&driver, 1, UINT64_MAX, SEAM_CU_UNKNOWN);
	seam__driver_fail_at(&driver, 0, 0, 0);
	cr_assert_eq(call_map(), 0);
	cr_assert_eq(atomic_load(&driver.injected), 0);
}

Test(driver, results_become_codes_of_seam)
{
	static const struct {
		int cu;
		enum seam_rc rc;
	} rows[] = {
		{SEAM_CU_SUCCESS, SEAM_OK},
		{SEAM_CU_OUT_OF_MEMORY, SEAM_OOM_DEVICE},
		{SEAM_CU_STREAM_CAPTURE_UNSUPPORTED, SEAM_CAPTURING},
		{SEAM_CU_STREAM_CAPTURE_IMPLICIT, SEAM_CAPTURING},
		{SEAM_CU_DEINITIALIZED, SEAM_SHUTDOWN},
		{SEAM_CU_NOT_SUPPORTED, SEAM_UNSUPPORTED},
		{SEAM_CU_NOT_READY, SEAM_BUSY},
		{SEAM_CU_NO_DEVICE, SEAM_NO_DEVICE},
		{SEAM_CU_ILLEGAL_ADDRESS, SEAM_DRIVER},
		{12345, SEAM_DRIVER},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(seam__driver_rc(rows[i].cu), rows[i].rc, "result %d", rows[i].cu);
		cr_assert(seam__driver_cu_text(rows[i].cu)[0] != '\0', "result %d", rows[i].cu);
	}
}
