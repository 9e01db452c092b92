/* emu_mark.c: marks: points of a stream that events and work share. */
#include "emu_state.h"

struct emu_mark *seam__emu_mark_make(struct emu *e, const struct emu_stream *stream)
{
	struct emu_mark *mark = seam__slab_get(&e->mark_slab);
	if (mark == NULL)
		return NULL;
	*mark = (struct emu_mark){.references = 1};
	if (!seam__emu_order_merge(&mark->order, e->meta, &stream->order, e->floors) ||
		!seam__emu_order_add(&mark->order, e->meta, seam__emu_newest_of(e, stream))) {
		seam__emu_mark_put(e, mark);
		return NULL;
	}
	return mark;
}

void seam__emu_mark_put(struct emu *e, struct emu_mark *mark)
{
	if (--mark->references != 0)
		return;
	seam__emu_order_fini(&mark->order, e->meta);
	seam__slab_put(&e->mark_slab, mark);
}
