/* emu_graph.c: graphs: what a capture saw, and launching it.
 *
 * A graph is a list of work in the order of its capture. Each captured stream has a branch in it: a stream of the
 * graph's own, which the captured work and the captured records and waits belong to. A launch copies the list into the
 * branches; the first branch waits for the stream that it is launched on, and that stream for it. So the judge sees
 * nothing but streams and events. The branches live as long as the graph: a launch comes after the one before.
 *
 * Not here: which streams are captured (emu_capture.c).
 */
#include "check.h"
#include "emu_state.h"

struct emu_graph *seam__emu_graph_make(struct emu *e)
{
	struct emu_graph *graph = seam__slab_get(&e->graph_slab);
	if (graph == NULL)
		return NULL;
	*graph = (struct emu_graph){.references = 1};
	STAILQ_INIT(&graph->works);
	SLIST_INIT(&graph->branches);
	return graph;
}

static void drop_all(struct emu *e, struct emu_work_queue *works)
{
	struct emu_work *work;
	while ((work = STAILQ_FIRST(works)) != NULL) {
		STAILQ_REMOVE_HEAD(works, queued);
		seam__emu_work_drop(e, work);
	}
}

void seam__emu_graph_put(struct emu *e, struct emu_graph *graph)
{
	struct emu_stream *branch;
	if (--graph->references != 0)
		return;
	drop_all(e, &graph->works);
	while ((branch = SLIST_FIRST(&graph->branches)) != NULL) {
		SLIST_REMOVE_HEAD(&graph->branches, of_graph);
		seam__emu_stream_drop(e, branch);
	}
	seam__slab_put(&e->graph_slab, graph);
}

bool seam__emu_graph_enter(struct emu *e, struct emu_graph *graph, struct emu_stream *stream)
{
	struct emu_stream *branch = seam__emu_stream_make_branch(stream->device);
	(void)e;
	if (branch == NULL)
		return false;
	SLIST_INSERT_HEAD(&graph->branches, branch, of_graph);
	if (graph->origin == NULL)
		graph->origin = branch;
	graph->references++;
	stream->graph = graph;
	stream->branch = branch;
	return true;
}

void seam__emu_graph_leave(struct emu *e, struct emu_stream *stream)
{
	struct emu_graph *graph = stream->graph;
	stream->graph = NULL;
	stream->branch = NULL;
	seam__emu_graph_put(e, graph);
}

bool seam__emu_graph_add(struct emu *e, struct emu_stream *stream, const struct emu_work *like,
	const struct seam_emu_range *ranges, size_t count, struct emu_mark *mark)
{
	struct emu_work *work = seam__emu_work_copy(e, stream->branch, like, ranges, count);
	if (work == NULL)
		return false;
	work->locked = seam__emu_host_is_locked(e, work);
	work->mark = mark;
	if (mark != NULL)
		mark->references++;
	STAILQ_INSERT_TAIL(&stream->graph->works, work, queued);
	return true;
}

bool seam__emu_graph_keep(struct emu *e, struct emu_graph *graph)
{
	graph->id = seam__emu_table_add(&e->graph_table, e->meta, graph);
	if (graph->id == 0)
		return false;
	graph->references++;
	return true;
}

/* ---- launching ---- */

/* A launch that is being prepared: nothing of it is submitted before all of it is there. */
struct launch {
	struct emu *e;
	struct emu_work_queue works; /* newest first */
};

static void add(struct launch *launch, struct emu_work *work)
{
	STAILQ_INSERT_HEAD(&launch->works, work, queued);
}

/* A point at the end of the stream. NULL: no metadata. */
static struct emu_mark *add_record(struct launch *launch, struct emu_stream *stream)
{
	struct emu_work *work = seam__emu_work_make(launch->e, stream, EMU_RECORD);
	if (work == NULL)
		return NULL;
	add(launch, work);
	work->mark = seam__emu_mark_make(launch->e, stream);
	return work->mark;
}

static bool add_wait(struct launch *launch, struct emu_stream *stream, struct emu_mark *mark)
{
	struct emu_work *work = seam__emu_work_make(launch->e, stream, EMU_WAIT);
	if (work == NULL)
		return false;
	add(launch, work);
	work->mark = mark;
	mark->references++;
	return seam__emu_order_merge(&stream->order, launch->e->meta, &mark->order, launch->e->floors);
}

static bool add_edge(struct launch *launch, struct emu_stream *from, struct emu_stream *to)
{
	struct emu_mark *mark = add_record(launch, from);
	return mark != NULL && add_wait(launch, to, mark);
}

static bool add_again(struct launch *launch, const struct emu_work *captured)
{
	struct emu *e = launch->e;
	struct emu_mark *mark = captured->mark;
	if (captured->kind == EMU_RECORD)
		return (mark->again = add_record(launch, captured->stream)) != NULL;
	if (captured->kind == EMU_WAIT)
		return add_wait(launch, captured->stream, mark->again);
	struct emu_work *work =
		seam__emu_work_copy(e, captured->stream, captured, captured->ranges, captured->range_count);
	if (work == NULL)
		return false;
	add(launch, work);
	return work->kind == EMU_HOST_FUNC || seam__emu_judge_touch(e, work);
}

static bool prepare_launch(struct launch *launch, const struct emu_graph *graph, struct emu_stream *stream)
{
	const struct emu_work *captured;
	if (!add_edge(launch, stream, graph->origin))
		return false;
	STAILQ_FOREACH(captured, &graph->works, queued)
	{
		if (!add_again(launch, captured))
			return false;
	}
	return add_edge(launch, graph->origin, stream);
}

static void submit_all(struct launch *launch)
{
	struct emu_work_queue works = STAILQ_HEAD_INITIALIZER(works);
	struct emu_work *work;
	while ((work = STAILQ_FIRST(&launch->works)) != NULL) {
		STAILQ_REMOVE_HEAD(&launch->works, queued);
		STAILQ_INSERT_HEAD(&works, work, queued);
	}
	while ((work = STAILQ_FIRST(&works)) != NULL) {
		STAILQ_REMOVE_HEAD(&works, queued);
		seam__emu_work_submit(launch->e, work);
	}
}

int seam__emu_graph_launch_locked(struct emu_device *device, uint64_t id, uint64_t handle)
{
	struct launch launch = {.e = device->e, .works = STAILQ_HEAD_INITIALIZER(launch.works)};
	const struct emu_graph *graph = seam__emu_table_find(&device->e->graph_table, id);
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(device, handle, &stream);
	if (graph == NULL)
		return SEAM_CU_INVALID_HANDLE;
	if (cu == 0)
		cu = seam__emu_stream_prepare(device->e, stream);
	if (cu == 0 && stream->capture == SEAM_CAPTURE_ACTIVE)
		cu = SEAM_CU_STREAM_CAPTURE_UNSUPPORTED;
	if (cu != 0)
		return cu;
	if (!prepare_launch(&launch, graph, stream)) {
		struct emu_work *work;
		STAILQ_FOREACH(work, &launch.works, queued)
		seam__emu_judge_untouch(device->e, work);
		drop_all(device->e, &launch.works);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	submit_all(&launch);
	return 0;
}

int seam__emu_graph_destroy_locked(struct emu *e, uint64_t id)
{
	struct emu_graph *graph = seam__emu_table_find(&e->graph_table, id);
	if (graph == NULL)
		return SEAM_CU_INVALID_HANDLE;
	seam__emu_table_remove(&e->graph_table, id);
	seam__emu_graph_put(e, graph);
	return 0;
}

void seam__emu_graphs_fini(struct emu *e)
{
	for (uint32_t i = 0; i < e->graph_table.used; i++) {
		struct emu_graph *graph = seam__emu_table_at(&e->graph_table, i);
		if (graph != NULL)
			seam__emu_graph_put(e, graph);
	}
	seam__emu_table_fini(&e->graph_table, e->meta);
	(void)seam__slab_fini(&e->graph_slab);
}

const char *seam__emu_graph_check(struct emu *e)
{
	const struct emu_stream *stream;
	LIST_FOREACH(stream, &e->all_streams, all)
	{
		bool captured = stream->capture != SEAM_CAPTURE_NONE;
		if ((stream->graph != NULL) != captured || (stream->branch != NULL) != captured)
			return "E7 a stream has a graph exactly while it is captured";
	}
	return seam__emu_table_check(&e->graph_table);
}
