/* uses.c: see uses.h. */
#include "uses.h"

enum seam_rc seam__uses_add(struct seam_engine *engine, struct seam_block_use **uses, struct seam_stream *stream)
{
	for (const struct seam_block_use *use = *uses; use != NULL; use = use->next) {
		if (use->stream == stream)
			return SEAM_OK;
	}
	struct seam_block_use *use = seam__slab_get(&engine->use_slab);
	if (use == NULL)
		return SEAM_OOM_META;
	*use = (struct seam_block_use){.next = *uses, .stream = stream};
	seam__stream_ref(stream);
	*uses = use;
	return SEAM_OK;
}

void seam__uses_stamp(struct seam_block_use *uses)
{
	for (struct seam_block_use *use = uses; use != NULL; use = use->next)
		use->stamp = seam__stream_stamp(use->stream);
}

bool seam__uses_passed(const struct seam_block_use *uses)
{
	for (const struct seam_block_use *use = uses; use != NULL; use = use->next) {
		if (!seam__stream_passed(use->stream, use->stamp))
			return false;
	}
	return true;
}

void seam__uses_poll(struct seam_block_use *uses)
{
	for (struct seam_block_use *use = uses; use != NULL; use = use->next) {
		if (seam__stream_passed(use->stream, use->stamp))
			continue;
		/* What cannot be covered or asked now (a capture, a stream that is gone) has not passed: that is all
		 * the error would tell. */
		enum seam_rc ignored = use->stamp > use->stream->covered ? seam__stream_cover(use->stream) : SEAM_OK;
		ignored = seam__stream_poll(use->stream);
		(void)ignored;
	}
}

void seam__uses_clear(struct seam_engine *engine, struct seam_block_use **uses)
{
	struct seam_block_use *use = *uses;
	while (use != NULL) {
		struct seam_block_use *next = use->next;
		seam__stream_unref(use->stream);
		seam__slab_put(&engine->use_slab, use);
		use = next;
	}
	*uses = NULL;
}
