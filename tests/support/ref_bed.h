/* ref_bed.h: an emulated device with a reference allocator on it, for tests that work examples out by hand.
 *
 * Everything fails the test where it does not succeed. Sizes are in bytes; MIB helps.
 */
#ifndef TEST_REF_BED_H
#define TEST_REF_BED_H

#include <stdint.h>

#include "allocator.h"
#include "driver.h"

#define KIB UINT64_C(1024)
#define MIB (UINT64_C(1024) * 1024)

struct ref_bed {
	struct seam_driver *driver;
	struct ref_allocator *allocator;
};

/* A device with bookkeeping memory of that capacity. */
struct ref_bed ref_bed_open(enum ref_kind kind, uint64_t capacity_bytes);
/* Also fails where the emulator flagged a violation or anything is left on the device. */
void ref_bed_close(struct ref_bed *bed);

uint64_t bed_alloc_on(struct ref_bed *bed, uint64_t bytes, uint64_t stream);
uint64_t bed_alloc(struct ref_bed *bed, uint64_t bytes);
enum seam_rc bed_try_alloc(struct ref_bed *bed, uint64_t bytes);
void bed_free(struct ref_bed *bed, uint64_t va);
uint64_t bed_stream(struct ref_bed *bed);
void bed_stream_destroy(struct ref_bed *bed, uint64_t stream);

/* Now. */
uint64_t bed_reserved(const struct ref_bed *bed);
uint64_t bed_live(const struct ref_bed *bed);
uint64_t bed_calls(const struct ref_bed *bed, enum seam_drv_call call);

/* Fails with the broken invariant's name. */
void bed_check(const struct ref_bed *bed);

#endif
