/* trace_format.c: see trace_format.h.
 *
 * Invariants:
 *   TF1  image is header, events, strings, without a gap, and trace.events and trace.strings point into it
 *   TF2  trace.header equals the image's first 64 bytes
 * A trace does not change after it was sealed, so it needs no lock.
 */
#include "trace_format.h"

#include <stddef.h>
#include <string.h>

#include "checksum.h"
#include "meta.h"
#include "strings.h"
#include "trace_error.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the image of a trace is its little-endian file: this machine needs a conversion here"
#endif

_Static_assert(sizeof(struct seam_trace_header) == 64, "the header has 64 bytes in the file");
_Static_assert(sizeof(struct seam_trace_event) == 56, "an event has 56 bytes in the file");

struct holder {
	struct seam_trace trace; /* first: a public pointer is a pointer to its holder */
	char *image;
	size_t image_bytes;
};

static uint64_t checksum_of(const char *image, size_t image_bytes)
{
	return XXH64(image + sizeof(struct seam_trace_header), image_bytes - sizeof(struct seam_trace_header), 0);
}

static uint64_t header_checksum_of(const struct seam_trace_header *header)
{
	return XXH64(header, offsetof(struct seam_trace_header, header_checksum), 0);
}

static enum seam_rc create_holder(size_t image_bytes, struct holder **ret_holder)
{
	struct holder *holder = seam__meta_alloc(seam__meta_process(), sizeof(*holder));
	if (holder == NULL)
		return SEAM_OOM_META;
	holder->image = seam__meta_alloc(seam__meta_process(), image_bytes);
	if (holder->image == NULL) {
		seam__meta_free(seam__meta_process(), holder, sizeof(*holder));
		return SEAM_OOM_META;
	}
	holder->image_bytes = image_bytes;
	*ret_holder = holder;
	return SEAM_OK;
}

/* TF1 and TF2. The image's sizes have been checked. */
static void point_into_image(struct holder *holder)
{
	struct seam_trace *trace = &holder->trace;
	memcpy(&trace->header, holder->image, sizeof(trace->header));
	trace->events = (const struct seam_trace_event *)(const void *)(holder->image + sizeof(trace->header));
	trace->strings = (const char *)(trace->events + trace->header.event_count);
}

enum seam_rc seam__trace_create(uint64_t event_count, uint64_t string_bytes, struct seam_trace **ret_trace,
	struct seam_trace_event **ret_events, char **ret_strings)
{
	const size_t head = sizeof(struct seam_trace_header);
	if (string_bytes > SIZE_MAX / 4 || event_count > SIZE_MAX / 4 / sizeof(struct seam_trace_event))
		return SEAM_OOM_META;
	size_t event_bytes = (size_t)event_count * sizeof(struct seam_trace_event);
	struct holder *holder;
	enum seam_rc rc = create_holder(head + event_bytes + (size_t)string_bytes, &holder);
	if (rc != SEAM_OK)
		return rc;
	struct seam_trace_header header = {
		.version = SEAM_TRACE_VERSION,
		.header_bytes = sizeof(struct seam_trace_header),
		.event_bytes = sizeof(struct seam_trace_event),
		.event_count = event_count,
		.string_bytes = string_bytes,
	};
	memcpy(header.magic, SEAM_TRACE_MAGIC, sizeof(header.magic));
	memcpy(holder->image, &header, sizeof(header));
	point_into_image(holder);
	*ret_trace = &holder->trace;
	*ret_events = (struct seam_trace_event *)(void *)(holder->image + head);
	*ret_strings = holder->image + head + event_bytes;
	return SEAM_OK;
}

void seam__trace_seal(struct seam_trace *trace, uint32_t source, uint32_t device)
{
	struct holder *holder = (struct holder *)trace;
	trace->header.source = source;
	trace->header.device = device;
	trace->header.checksum = checksum_of(holder->image, holder->image_bytes);
	trace->header.header_checksum = header_checksum_of(&trace->header);
	memcpy(holder->image, &trace->header, sizeof(trace->header));
}

const void *seam__trace_image(const struct seam_trace *trace, size_t *ret_bytes)
{
	const struct holder *holder = (const struct holder *)trace;
	*ret_bytes = holder->image_bytes;
	return holder->image;
}

void seam_trace_free(struct seam_trace *trace)
{
	if (trace == NULL)
		return;
	struct holder *holder = (struct holder *)trace;
	seam__meta_free(seam__meta_process(), holder->image, holder->image_bytes);
	seam__meta_free(seam__meta_process(), holder, sizeof(*holder));
}

/* The version comes before the checksum: another version may have another header. */
static enum seam_rc check_header(
	const struct seam_trace_header *header, size_t data_bytes, struct seam_trace_error *error)
{
	if (header->version != SEAM_TRACE_VERSION) {
		seam__trace_error_set(error, offsetof(struct seam_trace_header, version),
			"trace of version %u; this program reads version %u", header->version, SEAM_TRACE_VERSION);
		return SEAM_VERSION;
	}
	if (header->header_checksum != header_checksum_of(header)) {
		seam__trace_error_set(error, 0, "damaged trace: the header's checksum does not match");
		return SEAM_CORRUPT;
	}
	if (header->header_bytes != sizeof(*header) || header->event_bytes != sizeof(struct seam_trace_event) ||
		header->reserved != 0) {
		seam__trace_error_set(
			error, 0, "damaged trace: the header's sizes are not those of version %u", SEAM_TRACE_VERSION);
		return SEAM_CORRUPT;
	}
	const size_t body_bytes = data_bytes - sizeof(*header);
	if (header->event_count > body_bytes / sizeof(struct seam_trace_event) ||
		header->string_bytes != body_bytes - header->event_count * sizeof(struct seam_trace_event)) {
		seam__trace_error_set(error, data_bytes,
			"truncated or extended trace: %zu bytes do not hold %llu events "
			"and %llu bytes of strings",
			data_bytes, (unsigned long long)header->event_count, (unsigned long long)header->string_bytes);
		return SEAM_CORRUPT;
	}
	return SEAM_OK;
}

static enum seam_rc check_image(const void *data, size_t data_bytes, struct seam_trace_error *error)
{
	struct seam_trace_header header;
	if (data_bytes < sizeof(header.magic) || memcmp(data, SEAM_TRACE_MAGIC, sizeof(header.magic)) != 0) {
		seam__trace_error_set(error, 0, "not a .seamtrace file: it does not begin with its magic bytes");
		return SEAM_FORMAT;
	}
	if (data_bytes < sizeof(header)) {
		seam__trace_error_set(error, data_bytes, "truncated trace: %zu bytes, the header alone has %zu",
			data_bytes, sizeof(header));
		return SEAM_CORRUPT;
	}
	memcpy(&header, data, sizeof(header));
	enum seam_rc rc = check_header(&header, data_bytes, error);
	if (rc != SEAM_OK)
		return rc;
	if (header.checksum != checksum_of(data, data_bytes)) {
		seam__trace_error_set(error, sizeof(header), "damaged trace: the checksum does not match");
		return SEAM_CORRUPT;
	}
	return SEAM_OK;
}

enum seam_rc seam_trace_read_memory(
	const void *data, size_t data_bytes, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	if ((data == NULL && data_bytes > 0) || ret_trace == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	enum seam_rc rc = check_image(data, data_bytes, error);
	if (rc != SEAM_OK)
		return rc;
	struct holder *holder;
	rc = create_holder(data_bytes, &holder);
	if (rc != SEAM_OK)
		return seam__trace_error_rc(error, rc);
	memcpy(holder->image, data, data_bytes);
	point_into_image(holder);
	const char *broken;
	rc = seam__trace_verify(&holder->trace, error, &broken);
	if (rc != SEAM_OK) {
		seam_trace_free(&holder->trace);
		return rc;
	}
	*ret_trace = &holder->trace;
	return SEAM_OK;
}

const char *seam_trace_string(const struct seam_trace *trace, uint32_t offset)
{
	return trace != NULL && seam__strings_begins(trace->strings, trace->header.string_bytes, offset)
		? trace->strings + offset
		: NULL;
}
