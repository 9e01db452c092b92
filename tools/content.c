/* content.c: patterns, and reads that are compared late. */
#include "content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bits.h"

#define PIECE_BYTES (UINT64_C(2) << 20)
#define PAGE_BYTES UINT64_C(4096)
#define BUFFER_BYTES (UINT64_C(64) << 20)
#define READS_MAX ((size_t)8192)

/* A copy to the host that is on its way. */
struct content_read {
	uint64_t at_bytes; /* in the buffer */
	uint64_t bytes;
	uint64_t offset_bytes; /* in the block */
	uint32_t block;
	uint32_t pattern;
};

/* Different for different blocks at the same place, and for different pieces of one block: an odd factor permutes. */
static uint32_t pattern_of(uint32_t block, uint64_t va, uint64_t offset_bytes)
{
	uint64_t piece = (va + offset_bytes) / PIECE_BYTES - va / PIECE_BYTES;
	return block * UINT32_C(2654435761) + (uint32_t)piece * UINT32_C(0x01000193) + 1;
}

/* What the host can give without swapping; UINT64_MAX where it does not say. */
static uint64_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	uint64_t kib = 0;
	bool found = false;
	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
		found = sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1;
	if (file != NULL)
		(void)fclose(file);
	return found ? kib * 1024 : UINT64_MAX;
}

/* Emulated memory is the host's, and the allocators take somewhat more than what is live. */
static bool fits(const struct device *device, uint64_t peak_live_bytes)
{
	if (peak_live_bytes > CONTENT_FULL_BYTES)
		return false;
	return !device->emulated || peak_live_bytes + peak_live_bytes / 2 <= available_bytes();
}

enum seam_rc content_init(struct content *content, struct device *device, uint64_t peak_live_bytes, bool pages_only)
{
	*content = (struct content){.device = device, .pages_only = pages_only || !fits(device, peak_live_bytes)};
	content->reads = malloc(READS_MAX * sizeof(*content->reads));
	if (content->reads == NULL)
		return SEAM_OOM_META;
	void *buffer;
	device_mine_begin(device);
	int cu = seam__drv_host_alloc(device->driver, BUFFER_BYTES, &buffer);
	device_mine_end(device);
	if (cu != SEAM_CU_SUCCESS) {
		content_fini(content);
		return cu == SEAM_CU_OUT_OF_MEMORY ? SEAM_OOM_HOST : seam__driver_rc(cu);
	}
	content->buffer = buffer;
	return SEAM_OK;
}

void content_fini(struct content *content)
{
	free(content->reads);
	content->reads = NULL;
	if (content->buffer == NULL)
		return;
	device_mine_begin(content->device);
	int ignored = seam__drv_host_free(content->device->driver, content->buffer);
	(void)ignored; /* device_close() reports what is left */
	device_mine_end(content->device);
	content->buffer = NULL;
}

/* A part of a block that lies in one piece of it. Pieces end where the address is a multiple of their size, as chunks
 * do. */
typedef int part_function(
	struct content *content, uint32_t block, uint64_t va, uint64_t offset_bytes, uint64_t bytes, uint64_t stream);

/* The first and the last page of a piece, or all of it. */
static int visit_piece(struct content *content, part_function *visit, uint32_t block, uint64_t va,
	uint64_t offset_bytes, uint64_t bytes, uint64_t stream)
{
	if (!content->pages_only || bytes <= 2 * PAGE_BYTES)
		return visit(content, block, va, offset_bytes, bytes, stream);
	int cu = visit(content, block, va, offset_bytes, PAGE_BYTES, stream);
	uint64_t last_bytes = offset_bytes + bytes - PAGE_BYTES;
	return cu != SEAM_CU_SUCCESS ? cu : visit(content, block, va, last_bytes, PAGE_BYTES, stream);
}

static enum seam_rc visit_block(
	struct content *content, part_function *visit, uint32_t block, uint64_t va, uint64_t bytes, uint64_t stream)
{
	uint64_t word_bytes = seam__bits_align_up(bytes, 4); /* blocks have room for 512-byte units */
	int cu = SEAM_CU_SUCCESS;
	device_mine_begin(content->device);
	uint64_t end;
	for (uint64_t at = 0; at < word_bytes && cu == SEAM_CU_SUCCESS; at = end) {
		end = seam__bits_min(seam__bits_align_up(va + at + 1, PIECE_BYTES) - va, word_bytes);
		cu = visit_piece(content, visit, block, va, at, end - at, stream);
	}
	device_mine_end(content->device);
	return seam__driver_rc(cu);
}

static int fill_part(
	struct content *content, uint32_t block, uint64_t va, uint64_t offset_bytes, uint64_t bytes, uint64_t stream)
{
	return seam__drv_fill32(
		content->device->driver, va + offset_bytes, pattern_of(block, va, offset_bytes), bytes / 4, stream);
}

enum seam_rc content_fill(struct content *content, uint32_t block, uint64_t va, uint64_t bytes, uint64_t stream)
{
	return visit_block(content, fill_part, block, va, bytes, stream);
}

static void compare(struct content *content, const struct content_read *read)
{
	const uint32_t *words = (const uint32_t *)(const void *)(content->buffer + read->at_bytes);
	uint64_t count = read->bytes / 4;
	uint32_t difference = 0;
	for (uint64_t i = 0; i < count; i++)
		difference |= words[i] ^ read->pattern;
	content->checked_bytes += read->bytes;
	if (difference == 0)
		return;
	uint64_t first = 0;
	while (words[first] == read->pattern)
		first++;
	if (content->wrong_blocks++ == 0)
		(void)snprintf(content->first_wrong, sizeof(content->first_wrong),
			"block %" PRIu32 " lost its content at byte %" PRIu64 ": 0x%08" PRIx32
			" instead of 0x%08" PRIx32,
			read->block, read->offset_bytes + first * 4, words[first], read->pattern);
}

/* Waits and compares; part of the tool's own calls. */
static int drain(struct content *content)
{
	int cu = seam__drv_device_sync(content->device->driver);
	if (cu != SEAM_CU_SUCCESS)
		return cu;
	for (size_t i = 0; i < content->read_count; i++)
		compare(content, &content->reads[i]);
	content->read_count = 0;
	content->used_bytes = 0;
	return SEAM_CU_SUCCESS;
}

static int read_part(
	struct content *content, uint32_t block, uint64_t va, uint64_t offset_bytes, uint64_t bytes, uint64_t stream)
{
	if (content->read_count == READS_MAX || content->used_bytes + bytes > BUFFER_BYTES) {
		int cu = drain(content);
		if (cu != SEAM_CU_SUCCESS)
			return cu;
	}
	unsigned char *to = content->buffer + content->used_bytes;
	int cu = seam__drv_copy_to_host(content->device->driver, to, va + offset_bytes, bytes, stream);
	if (cu != SEAM_CU_SUCCESS)
		return cu;
	content->reads[content->read_count++] = (struct content_read){
		.at_bytes = content->used_bytes,
		.bytes = bytes,
		.offset_bytes = offset_bytes,
		.block = block,
		.pattern = pattern_of(block, va, offset_bytes),
	};
	content->used_bytes += bytes;
	return SEAM_CU_SUCCESS;
}

enum seam_rc content_read(struct content *content, uint32_t block, uint64_t va, uint64_t bytes, uint64_t stream)
{
	return visit_block(content, read_part, block, va, bytes, stream);
}

enum seam_rc content_drain(struct content *content)
{
	device_mine_begin(content->device);
	int cu = drain(content);
	device_mine_end(content->device);
	return seam__driver_rc(cu);
}
