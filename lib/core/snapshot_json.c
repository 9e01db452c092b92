/* snapshot_json.c: a snapshot, the statistics and the configuration as one JSON text; its schema is
 * tools/snapshot.schema.json.
 *
 * Addresses, stream handles and tags are strings in hexadecimal: they have more bits than a JSON number keeps.
 */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "meta.h"
#include "opts.h"
#include "pool.h"
#include "trace_file.h"

#define SNAPSHOT_VERSION 1

/* What of a view is being written: its slots, and then its blocks. */
enum part { NO_VIEW, IN_SLOTS, IN_BLOCKS };

struct writer {
	struct seam_json json;
	enum part part;
};

static void put_hex(struct seam_json *json, const char *key, uint64_t value)
{
	char text[24];
	(void)snprintf(text, sizeof text, "0x%" PRIx64, value);
	seam__json_key(json, key);
	seam__json_string(json, text);
}

static void put_u64(struct seam_json *json, const char *key, uint64_t value)
{
	seam__json_key(json, key);
	seam__json_u64(json, value);
}

static void put_bool(struct seam_json *json, const char *key, bool value)
{
	seam__json_key(json, key);
	seam__json_bool(json, value);
}

static void put_string(struct seam_json *json, const char *key, const char *value)
{
	seam__json_key(json, key);
	seam__json_string(json, value);
}

static void begin_blocks(struct writer *writer)
{
	seam__json_array_end(&writer->json);
	seam__json_key(&writer->json, "blocks");
	seam__json_array_begin(&writer->json);
	writer->part = IN_BLOCKS;
}

static void end_view(struct writer *writer)
{
	if (writer->part == NO_VIEW)
		return;
	if (writer->part == IN_SLOTS)
		begin_blocks(writer);
	seam__json_array_end(&writer->json);
	seam__json_object_end(&writer->json);
	writer->part = NO_VIEW;
}

static int write_view(void *user, const struct seam_view_info *view)
{
	struct writer *writer = user;
	struct seam_json *json = &writer->json;
	end_view(writer);
	seam__json_object_begin(json);
	put_hex(json, "va", view->va);
	put_u64(json, "bytes", view->bytes);
	put_bool(json, "stitched", view->stitched);
	put_bool(json, "small", view->small);
	put_u64(json, "private_id", view->private_id);
	put_u64(json, "lost_bytes", view->lost_bytes);
	seam__json_key(json, "slots");
	seam__json_array_begin(json);
	writer->part = IN_SLOTS;
	return 0;
}

static int write_slot(void *user, const struct seam_slot_info *slot)
{
	struct seam_json *json = &((struct writer *)user)->json;
	seam__json_object_begin(json);
	put_hex(json, "va", slot->va);
	put_u64(json, "bytes", slot->bytes);
	put_u64(json, "chunk", slot->chunk);
	put_bool(json, "owned", slot->owned);
	seam__json_object_end(json);
	return 0;
}

static int write_block(void *user, const struct seam_block_info *block)
{
	static const char *const states[] = {"free", "live", "pending", "lost", "transit", "leased"};
	struct writer *writer = user;
	struct seam_json *json = &writer->json;
	if (writer->part != IN_BLOCKS)
		begin_blocks(writer);
	seam__json_object_begin(json);
	put_hex(json, "va", block->va);
	put_u64(json, "bytes", block->bytes);
	put_string(json, "state", states[block->state]);
	put_hex(json, "stream", block->stream);
	if (block->state == SEAM_BLOCK_LIVE) {
		put_u64(json, "requested_bytes", block->requested_bytes);
		put_hex(json, "tag", block->tag);
	}
	seam__json_object_end(json);
	return 0;
}

static void put_device(struct seam_json *json, struct seam_pool *pool)
{
	seam__json_key(json, "device");
	seam__json_object_begin(json);
	put_string(json, "backend", pool->driver->ops->name);
	put_string(json, "name", pool->driver->ops->device_name(pool->driver));
	put_u64(json, "ordinal", (uint64_t)pool->driver->ordinal);
	seam__json_object_end(json);
}

static void put_config(struct seam_json *json, struct seam_pool *pool)
{
	const struct seam_option *option;
	seam__json_key(json, "config");
	seam__json_object_begin(json);
	for (size_t i = 0; (option = seam__opts_get(i)) != NULL; i++) {
		uint64_t value = seam__opts_value(option, &pool->config);
		char text[SEAM_OPTS_VALUE_BYTES];
		if (option->type == SEAM_OPTION_TYPE_CHOICE)
			put_string(json, option->name, seam__opts_format(option, value, text));
		else
			put_u64(json, option->name, value);
	}
	seam__json_object_end(json);
}

static void put_stats(struct seam_json *json, struct seam_pool *pool)
{
	struct seam_stats stats;
	seam__pool_stats(pool, &stats);
	seam__json_key(json, "stats");
	seam__json_object_begin(json);
#define SEAM_STAT(name, kind, text) put_u64(json, #name, stats.name);
#include <seam/stats.def>
#undef SEAM_STAT
	struct seam_plan_stats plan;
	seam__pool_plan_stats(pool, &plan);
#define SEAM_PLAN_STAT(name, kind, text) put_u64(json, "plan_" #name, plan.name);
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
	seam__json_object_end(json);
}

static void put_driver(struct seam_json *json, struct seam_pool *pool)
{
	seam__json_key(json, "driver_calls");
	seam__json_object_begin(json);
	for (int i = 0; i < SEAM_DRV_COUNT; i++) {
		const struct seam_drv_count *count = &pool->driver->counts[i];
		seam__json_key(json, seam__driver_call_name((enum seam_drv_call)i));
		seam__json_object_begin(json);
		put_u64(json, "calls", atomic_load_explicit(&count->calls, memory_order_relaxed));
		put_u64(json, "failures", atomic_load_explicit(&count->failures, memory_order_relaxed));
		put_u64(json, "ns", atomic_load_explicit(&count->ns, memory_order_relaxed));
		seam__json_object_end(json);
	}
	seam__json_object_end(json);
}

/* With both locks. Returns the text's result. */
static enum seam_rc write_all(struct seam_pool *pool, struct seam_text *text)
{
	static const struct seam_visitor visitor = {write_view, write_slot, write_block};
	struct writer writer = {0};
	struct seam_json *json = &writer.json;
	seam__json_init(json, text, true);
	seam__json_object_begin(json);
	put_string(json, "format", "seam snapshot");
	put_u64(json, "version", SNAPSHOT_VERSION);
	put_string(json, "seam", seam_version());
	put_device(json, pool);
	put_config(json, pool);
	put_stats(json, pool);
	put_driver(json, pool);
	seam__json_key(json, "views");
	seam__json_array_begin(json);
	enum seam_rc rc = seam__pool_visit(pool, &visitor, &writer);
	end_view(&writer);
	seam__json_array_end(json);
	seam__json_object_end(json);
	enum seam_rc text_rc = seam__json_finish(json);
	return rc == SEAM_OK ? text_rc : rc;
}

enum seam_rc seam_snapshot_write(struct seam_pool *pool, const char *path)
{
	if (path == NULL)
		return SEAM_INVALID;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	/* Into memory first, which the pool does not pay for: no file is waited for under its locks, and its figures
	 * stay what they are. */
	struct seam_text text;
	seam__text_init(&text, seam__meta_process());
	seam__pool_stop(pool);
	rc = write_all(pool, &text);
	seam__pool_go(pool);
	if (rc == SEAM_OK)
		rc = seam__file_write(path, seam__text_string(&text), text.length_bytes);
	seam__text_fini(&text);
	return rc;
}
