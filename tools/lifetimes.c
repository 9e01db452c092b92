/* lifetimes.c: pairs the allocations of a trace with their frees. */
#include "lifetimes.h"

#include <stdbool.h>
#include <stdlib.h>

#include "hash.h"
#include "slab.h"

/* A block that is live at this point of the trace. */
struct live {
	UT_hash_handle hh;
	uint64_t id;
	uint32_t lifetime;
};

struct builder {
	struct seam_slab slab;
	struct live *live;
	struct lifetimes *out;
};

static struct live *find_live(const struct builder *builder, uint64_t id)
{
	struct live *live;
	HASH_FIND(hh, builder->live, &id, sizeof(id), live);
	return live;
}

static enum seam_rc begin(struct builder *builder, uint64_t id, uint32_t event)
{
	struct seam_meta *hash_meta = builder->slab.meta;
	bool hash_failed = false;
	struct live *live = seam__slab_get(&builder->slab);
	if (live == NULL)
		return SEAM_OOM_META;
	*live = (struct live){.id = id, .lifetime = builder->out->count};
	HASH_ADD(hh, builder->live, id, sizeof(id), live);
	if (hash_failed)
		return SEAM_OOM_META;
	builder->out->of_event[event] = builder->out->count;
	builder->out->items[builder->out->count++] = (struct lifetime){.alloc = event, .free = LIFETIME_NONE};
	return SEAM_OK;
}

static void end(struct builder *builder, struct live *live, uint32_t event)
{
	struct seam_meta *hash_meta = builder->slab.meta;
	builder->out->items[live->lifetime].free = event;
	HASH_DELETE(hh, builder->live, live);
	seam__slab_put(&builder->slab, live);
}

static enum seam_rc add(struct builder *builder, const struct seam_trace_event *event, uint32_t number)
{
	builder->out->of_event[number] = LIFETIME_NONE;
	if (event->kind == SEAM_TRACE_ALLOC)
		return begin(builder, event->id, number);
	if (event->kind != SEAM_TRACE_FREE && event->kind != SEAM_TRACE_RECORD_STREAM)
		return SEAM_OK;
	struct live *live = find_live(builder, event->id);
	if (live == NULL) /* a use after the free: nothing to replay */
		return event->kind == SEAM_TRACE_FREE ? SEAM_CORRUPT : SEAM_OK;
	builder->out->of_event[number] = live->lifetime;
	if (event->kind == SEAM_TRACE_FREE)
		end(builder, live, number);
	return SEAM_OK;
}

enum seam_rc lifetimes_build(const struct seam_trace *trace, struct lifetimes *ret_lifetimes)
{
	uint64_t count = trace->header.event_count;
	if (count >= LIFETIME_NONE)
		return SEAM_INVALID;
	struct lifetimes lifetimes = {0};
	lifetimes.items = calloc(count + 1, sizeof(*lifetimes.items));
	lifetimes.of_event = calloc(count + 1, sizeof(*lifetimes.of_event));
	struct builder builder = {.out = &lifetimes};
	seam__slab_init(&builder.slab, seam__meta_process(), sizeof(struct live));
	enum seam_rc rc = lifetimes.items != NULL && lifetimes.of_event != NULL ? SEAM_OK : SEAM_OOM_META;
	for (uint32_t i = 0; i < count && rc == SEAM_OK; i++)
		rc = add(&builder, &trace->events[i], i);
	struct seam_meta *hash_meta = builder.slab.meta;
	HASH_CLEAR(hh, builder.live);
	(void)seam__slab_fini(&builder.slab);
	if (rc == SEAM_OK)
		*ret_lifetimes = lifetimes;
	else
		lifetimes_fini(&lifetimes);
	return rc;
}

void lifetimes_fini(struct lifetimes *lifetimes)
{
	free(lifetimes->items);
	free(lifetimes->of_event);
	*lifetimes = (struct lifetimes){0};
}

const char *lifetimes_check(const struct lifetimes *lifetimes)
{
	for (uint32_t i = 0; i < lifetimes->count; i++) {
		const struct lifetime *item = &lifetimes->items[i];
		if (item->free <= item->alloc || (i > 0 && item->alloc <= item[-1].alloc))
			return "LT1 frees come behind allocations, which rise";
	}
	return NULL;
}
