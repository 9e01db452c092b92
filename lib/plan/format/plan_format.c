/* plan_format.c: see plan_format.h.
 *
 * Invariants:
 *   PF1  image is header and sections, without a gap, and the plan's pointers point into it
 *   PF2  plan.header equals the image's first 256 bytes
 * A plan does not change after it was made, so it needs no lock.
 */
#include "plan_format.h"

#include <string.h>

#include "bits.h"
#include "checksum.h"
#include "meta.h"
#include "strings.h"
#include "trace_error.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the image of a plan is its little-endian file: this machine needs a conversion here"
#endif

_Static_assert(sizeof(struct seam_plan_header) == 256, "the header has 256 bytes in the file");
_Static_assert(sizeof(struct seam_plan_slot) == 64, "a slot has 64 bytes in the file");
_Static_assert(sizeof(struct seam_plan_wait) == 32, "a wait has 32 bytes in the file");
_Static_assert(sizeof(struct seam_plan_group) == 48, "a group has 48 bytes in the file");
_Static_assert(sizeof(struct seam_plan_range) == 16, "a range has 16 bytes in the file");
_Static_assert(sizeof(struct seam_plan_prologue) == 16, "a request of the prologue has 16 bytes in the file");
_Static_assert(offsetof(struct seam_plan_header, header_checksum) == 248, "the header's checksum covers 248 bytes");

#define HEADER_BYTES sizeof(struct seam_plan_header)

struct holder {
	struct seam_plan plan; /* first: a public pointer is a pointer to its holder */
	size_t image_bytes;
	uint64_t image[]; /* aligned for every record */
};

int seam__plan_measure(
	const struct seam_plan_header *header, uint64_t limit_bytes, uint64_t ret_bytes[SEAM__PLAN_SECTIONS])
{
	const uint64_t counts[SEAM__PLAN_SECTIONS] = {
		[SEAM__PLAN_SLOTS] = header->slot_count,
		[SEAM__PLAN_OFFSETS] = (uint64_t)header->slot_count * header->copies,
		[SEAM__PLAN_STREAMS] = header->stream_count,
		[SEAM__PLAN_WAITS] = header->wait_count,
		[SEAM__PLAN_GROUPS] = header->group_count,
		[SEAM__PLAN_RANGES] = header->range_count,
		[SEAM__PLAN_PROLOGUE] = header->prologue_count,
		[SEAM__PLAN_STRINGS] = header->string_bytes,
	};
	static const uint64_t record_bytes[SEAM__PLAN_SECTIONS] = {
		[SEAM__PLAN_SLOTS] = sizeof(struct seam_plan_slot),
		[SEAM__PLAN_OFFSETS] = sizeof(uint64_t),
		[SEAM__PLAN_STREAMS] = sizeof(uint64_t),
		[SEAM__PLAN_WAITS] = sizeof(struct seam_plan_wait),
		[SEAM__PLAN_GROUPS] = sizeof(struct seam_plan_group),
		[SEAM__PLAN_RANGES] = sizeof(struct seam_plan_range),
		[SEAM__PLAN_PROLOGUE] = sizeof(struct seam_plan_prologue),
		[SEAM__PLAN_STRINGS] = 1,
	};
	uint64_t left = limit_bytes;
	if (left < HEADER_BYTES)
		return 0;
	left -= HEADER_BYTES;
	for (int i = 0; i < SEAM__PLAN_SECTIONS; i++) {
		if (counts[i] > left / record_bytes[i])
			return 0;
		ret_bytes[i] = counts[i] * record_bytes[i];
		left -= ret_bytes[i];
	}
	return 1;
}

static uint64_t total_bytes(const uint64_t bytes[SEAM__PLAN_SECTIONS])
{
	uint64_t sum = HEADER_BYTES;
	for (int i = 0; i < SEAM__PLAN_SECTIONS; i++)
		sum += bytes[i];
	return sum;
}

static uint64_t checksum_of(const void *image, size_t image_bytes)
{
	return XXH64((const char *)image + HEADER_BYTES, image_bytes - HEADER_BYTES, 0);
}

static uint64_t header_checksum_of(const struct seam_plan_header *header)
{
	return XXH64(header, offsetof(struct seam_plan_header, header_checksum), 0);
}

void seam__plan_seal(struct seam_plan_header *header)
{
	memcpy(header->magic, SEAM_PLAN_MAGIC, sizeof(header->magic));
	header->version = SEAM_PLAN_VERSION;
	header->header_bytes = HEADER_BYTES;
	header->header_checksum = header_checksum_of(header);
}

bool seam__plan_is_sealed(const struct seam_plan_header *header)
{
	return memcmp(header->magic, SEAM_PLAN_MAGIC, sizeof(header->magic)) == 0 &&
		header->version == SEAM_PLAN_VERSION && header->header_bytes == HEADER_BYTES &&
		header->header_checksum == header_checksum_of(header);
}

static struct holder *create_holder(size_t image_bytes)
{
	struct holder *holder = seam__meta_alloc(seam__meta_process(), sizeof(*holder) + image_bytes);
	if (holder != NULL)
		holder->image_bytes = image_bytes;
	return holder;
}

/* PF1 and PF2. The image holds sections of these sizes. */
static void point_into_image(struct holder *holder, const uint64_t bytes[SEAM__PLAN_SECTIONS])
{
	struct seam_plan *plan = &holder->plan;
	const void *at[SEAM__PLAN_SECTIONS];
	const char *next = (const char *)holder->image + HEADER_BYTES;
	for (int i = 0; i < SEAM__PLAN_SECTIONS; i++) {
		at[i] = next;
		next += bytes[i];
	}
	memcpy(&plan->header, holder->image, HEADER_BYTES);
	plan->slots = at[SEAM__PLAN_SLOTS];
	plan->offsets = at[SEAM__PLAN_OFFSETS];
	plan->streams = at[SEAM__PLAN_STREAMS];
	plan->waits = at[SEAM__PLAN_WAITS];
	plan->groups = at[SEAM__PLAN_GROUPS];
	plan->ranges = at[SEAM__PLAN_RANGES];
	plan->prologue = at[SEAM__PLAN_PROLOGUE];
	plan->strings = at[SEAM__PLAN_STRINGS];
}

static enum seam_rc finish(struct holder *holder, struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	const char *broken;
	enum seam_rc rc = seam__plan_check(&holder->plan, error, &broken);
	if (rc != SEAM_OK) {
		seam_plan_free(&holder->plan);
		return rc;
	}
	*ret_plan = &holder->plan;
	return SEAM_OK;
}

enum seam_rc seam__plan_create(const struct seam_plan_header *header, const void *const sections[SEAM__PLAN_SECTIONS],
	struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	uint64_t bytes[SEAM__PLAN_SECTIONS];
	if (!seam__plan_measure(header, SIZE_MAX / 4, bytes))
		return seam__trace_error_rc(error, SEAM_OOM_META);
	struct holder *holder = create_holder((size_t)total_bytes(bytes));
	if (holder == NULL)
		return seam__trace_error_rc(error, SEAM_OOM_META);
	char *next = (char *)holder->image + HEADER_BYTES;
	for (int i = 0; i < SEAM__PLAN_SECTIONS; i++) {
		if (bytes[i] > 0)
			memcpy(next, sections[i], (size_t)bytes[i]);
		next += bytes[i];
	}
	struct seam_plan_header sealed = *header;
	sealed.checksum = checksum_of(holder->image, holder->image_bytes);
	seam__plan_seal(&sealed);
	memcpy(holder->image, &sealed, HEADER_BYTES);
	point_into_image(holder, bytes);
	return finish(holder, error, ret_plan);
}

enum seam_rc seam__plan_copy(const struct seam_plan *plan, struct seam_plan **ret_copy)
{
	const void *const sections[SEAM__PLAN_SECTIONS] = {
		[SEAM__PLAN_SLOTS] = plan->slots,
		[SEAM__PLAN_OFFSETS] = plan->offsets,
		[SEAM__PLAN_STREAMS] = plan->streams,
		[SEAM__PLAN_WAITS] = plan->waits,
		[SEAM__PLAN_GROUPS] = plan->groups,
		[SEAM__PLAN_RANGES] = plan->ranges,
		[SEAM__PLAN_PROLOGUE] = plan->prologue,
		[SEAM__PLAN_STRINGS] = plan->strings,
	};
	const char *broken;
	enum seam_rc rc = seam__plan_check_records(plan, NULL, &broken);
	return rc == SEAM_OK ? seam__plan_create(&plan->header, sections, NULL, ret_copy) : rc;
}

const void *seam__plan_image(const struct seam_plan *plan, size_t *ret_bytes)
{
	const struct holder *holder = (const struct holder *)plan;
	*ret_bytes = holder->image_bytes;
	return holder->image;
}

void seam_plan_free(struct seam_plan *plan)
{
	if (plan == NULL)
		return;
	struct holder *holder = (struct holder *)plan;
	seam__meta_free(seam__meta_process(), holder, sizeof(*holder) + holder->image_bytes);
}

/* The version comes before the checksum: another version may have another header. */
static enum seam_rc check_header(const struct seam_plan_header *header, size_t data_bytes,
	struct seam_trace_error *error, uint64_t ret_bytes[SEAM__PLAN_SECTIONS])
{
	if (header->version != SEAM_PLAN_VERSION) {
		seam__trace_error_set(error, offsetof(struct seam_plan_header, version),
			"plan of version %u; this program reads version %u", header->version, SEAM_PLAN_VERSION);
		return SEAM_VERSION;
	}
	if (header->header_checksum != header_checksum_of(header)) {
		seam__trace_error_set(error, 0, "damaged plan: the header's checksum does not match");
		return SEAM_CORRUPT;
	}
	if (header->header_bytes != HEADER_BYTES) {
		seam__trace_error_set(
			error, 0, "damaged plan: the header's size is not that of version %u", SEAM_PLAN_VERSION);
		return SEAM_CORRUPT;
	}
	if (header->reserved_backing != 0) {
		seam__trace_error_set(error, offsetof(struct seam_plan_header, reserved_backing),
			"a stitched plan, which an earlier release made: several of its addresses share a chunk, and no pool "
			"can run that any more; make it anew from its trace with 'seam plan'");
		return SEAM_VERSION;
	}
	if (!seam__plan_measure(header, data_bytes, ret_bytes) || total_bytes(ret_bytes) != data_bytes) {
		seam__trace_error_set(error, data_bytes,
			"truncated or extended plan: %zu bytes do not hold %u slots of %u "
			"copies and what belongs to them",
			data_bytes, header->slot_count, header->copies);
		return SEAM_CORRUPT;
	}
	return SEAM_OK;
}

static enum seam_rc check_image(
	const void *data, size_t data_bytes, struct seam_trace_error *error, uint64_t ret_bytes[SEAM__PLAN_SECTIONS])
{
	struct seam_plan_header header;
	if (data_bytes < sizeof(header.magic) || memcmp(data, SEAM_PLAN_MAGIC, sizeof(header.magic)) != 0) {
		seam__trace_error_set(error, 0, "not a plan: it does not begin with its magic bytes");
		return SEAM_FORMAT;
	}
	if (data_bytes < HEADER_BYTES) {
		seam__trace_error_set(error, data_bytes, "truncated plan: %zu bytes, the header alone has %zu",
			data_bytes, HEADER_BYTES);
		return SEAM_CORRUPT;
	}
	memcpy(&header, data, HEADER_BYTES);
	enum seam_rc rc = check_header(&header, data_bytes, error, ret_bytes);
	if (rc != SEAM_OK)
		return rc;
	if (header.checksum != checksum_of(data, data_bytes)) {
		seam__trace_error_set(error, HEADER_BYTES, "damaged plan: the checksum does not match");
		return SEAM_CORRUPT;
	}
	return SEAM_OK;
}

enum seam_rc seam_plan_read_memory(
	const void *data, size_t data_bytes, struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	uint64_t bytes[SEAM__PLAN_SECTIONS];
	if ((data == NULL && data_bytes > 0) || ret_plan == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	enum seam_rc rc = check_image(data, data_bytes, error, bytes);
	if (rc != SEAM_OK)
		return rc;
	struct holder *holder = create_holder(data_bytes);
	if (holder == NULL)
		return seam__trace_error_rc(error, SEAM_OOM_META);
	memcpy(holder->image, data, data_bytes);
	point_into_image(holder, bytes);
	return finish(holder, error, ret_plan);
}

const char *seam_plan_string(const struct seam_plan *plan, uint32_t offset)
{
	return plan != NULL && seam__strings_begins(plan->strings, plan->header.string_bytes, offset)
		? plan->strings + offset
		: NULL;
}
