/* ref_pending.c: queues of events, one per stream. */
#include "ref_pending.h"

void ref_pending_init(struct ref_pending *pending, struct seam_driver *driver, struct seam_meta *meta,
	ref_pending_done *done, void *user)
{
	*pending = (struct ref_pending){.driver = driver, .done = done, .user = user};
	TAILQ_INIT(&pending->queues);
	TAILQ_INIT(&pending->idle);
	seam__slab_init(&pending->event_slab, meta, sizeof(struct ref_event));
	seam__slab_init(&pending->queue_slab, meta, sizeof(struct ref_queue));
}

static void destroy_events(struct ref_pending *pending, struct ref_events *events)
{
	while (!TAILQ_EMPTY(events)) {
		struct ref_event *event = TAILQ_FIRST(events);
		TAILQ_REMOVE(events, event, link);
		ref_ignore(seam__drv_event_destroy(pending->driver, event->event));
		seam__slab_put(&pending->event_slab, event);
	}
}

void ref_pending_fini(struct ref_pending *pending)
{
	destroy_events(pending, &pending->idle);
	struct ref_queue *queue;
	TAILQ_FOREACH(queue, &pending->queues, link)
	destroy_events(pending, &queue->events);
	(void)seam__slab_fini(&pending->event_slab);
	(void)seam__slab_fini(&pending->queue_slab);
}

static struct ref_queue *get_queue(struct ref_pending *pending, uint64_t stream)
{
	struct ref_queue *queue;
	TAILQ_FOREACH(queue, &pending->queues, link)
	if (queue->stream == stream)
		return queue;
	queue = seam__slab_get(&pending->queue_slab);
	if (queue == NULL)
		return NULL;
	*queue = (struct ref_queue){.stream = stream};
	TAILQ_INIT(&queue->events);
	TAILQ_INSERT_TAIL(&pending->queues, queue, link);
	return queue;
}

/* An event in no list: an idle one, or a new one. */
static enum seam_rc take_event(struct ref_pending *pending, struct ref_event **ret_event)
{
	struct ref_event *event = TAILQ_FIRST(&pending->idle);
	if (event != NULL) {
		TAILQ_REMOVE(&pending->idle, event, link);
		*ret_event = event;
		return SEAM_OK;
	}
	event = seam__slab_get(&pending->event_slab);
	if (event == NULL)
		return SEAM_OOM_META;
	*event = (struct ref_event){.block = NULL};
	int cu = seam__drv_event_create(pending->driver, &event->event);
	if (cu != SEAM_CU_SUCCESS) {
		seam__slab_put(&pending->event_slab, event);
		return seam__driver_rc(cu);
	}
	*ret_event = event;
	return SEAM_OK;
}

static enum seam_rc record(struct ref_pending *pending, struct ref_block *block, uint64_t stream)
{
	struct ref_queue *queue = get_queue(pending, stream);
	if (queue == NULL)
		return SEAM_OOM_META;
	struct ref_event *event;
	enum seam_rc rc = take_event(pending, &event);
	if (rc != SEAM_OK)
		return rc;
	int cu = seam__drv_event_record(pending->driver, event->event, stream);
	if (cu != SEAM_CU_SUCCESS) {
		TAILQ_INSERT_HEAD(&pending->idle, event, link);
		return seam__driver_rc(cu);
	}
	event->block = block;
	block->events++;
	TAILQ_INSERT_TAIL(&queue->events, event, link);
	return SEAM_OK;
}

enum seam_rc ref_pending_add(struct ref_pending *pending, struct ref_blocks *blocks, struct ref_block *block)
{
	while (block->uses != NULL) {
		struct ref_use *use = block->uses;
		enum seam_rc rc = record(pending, block, use->stream);
		if (rc != SEAM_OK)
			return rc;
		block->uses = use->next;
		seam__slab_put(&blocks->use_slab, use);
	}
	return SEAM_OK;
}

/* The queue's first event has passed. */
static void pop(struct ref_pending *pending, struct ref_queue *queue)
{
	struct ref_event *event = TAILQ_FIRST(&queue->events);
	struct ref_block *block = event->block;
	TAILQ_REMOVE(&queue->events, event, link);
	event->block = NULL;
	TAILQ_INSERT_HEAD(&pending->idle, event, link);
	if (--block->events == 0)
		pending->done(pending->user, block);
}

enum seam_rc ref_pending_poll(struct ref_pending *pending)
{
	struct ref_queue *queue;
	TAILQ_FOREACH(queue, &pending->queues, link)
	{
		while (!TAILQ_EMPTY(&queue->events)) {
			int cu = seam__drv_event_query(pending->driver, TAILQ_FIRST(&queue->events)->event);
			if (cu == SEAM_CU_NOT_READY)
				break;
			if (cu != SEAM_CU_SUCCESS)
				return seam__driver_rc(cu);
			pop(pending, queue);
		}
	}
	return SEAM_OK;
}

enum seam_rc ref_pending_wait(struct ref_pending *pending)
{
	struct ref_queue *queue;
	TAILQ_FOREACH(queue, &pending->queues, link)
	{
		while (!TAILQ_EMPTY(&queue->events)) {
			int cu = seam__drv_event_sync(pending->driver, TAILQ_FIRST(&queue->events)->event);
			if (cu != SEAM_CU_SUCCESS)
				return seam__driver_rc(cu);
			pop(pending, queue);
		}
	}
	return SEAM_OK;
}
