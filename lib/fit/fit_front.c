/* fit_front.c: see fit_front.h. */
#include "check.h"
#include "fit_front.h"

#include <string.h>

#include "meta.h"

uint32_t seam__fit_best_above(const struct seam_fit_best *best, uint64_t bytes)
{
	uint32_t low = 0, high = best->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (best->places[middle]->prediction.peak_bytes > bytes)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The fastest of those that are no larger is the last one of them. */
bool seam__fit_best_covers(const struct seam_fit_best *best, uint64_t bytes, uint64_t ns, uint64_t copies)
{
	uint32_t above = seam__fit_best_above(best, bytes);
	if (above == 0)
		return false;
	const struct seam_fit_place *place = best->places[above - 1];
	if (place->prediction.ns != ns || place->prediction.peak_bytes != bytes)
		return place->prediction.ns <= ns;
	return place->copies <= copies;
}

static enum seam_rc make_room(struct seam_fit_best *best)
{
	if (best->count < best->room)
		return SEAM_OK;
	uint32_t room = best->room == 0 ? 64 : 2 * best->room;
	struct seam_fit_place **places = seam__region_array(best->region, room, sizeof(*places));
	if (places == NULL)
		return SEAM_OOM_META;
	if (best->count > 0)
		memcpy(places, best->places, best->count * sizeof(*places));
	best->places = places;
	best->room = room;
	return SEAM_OK;
}

static struct seam_fit_place *make_place(struct seam_fit_best *best, const struct seam_fit_guess *guess)
{
	struct seam_fit_place *place = seam__region_array(best->region, 1, sizeof(*place) + best->block_count);
	if (place == NULL)
		return NULL;
	place->guess = *guess;
	place->guess.treatments = (uint8_t *)(place + 1);
	if (best->block_count > 0)
		memcpy(place->guess.treatments, guess->treatments, best->block_count);
	return place;
}

enum seam_rc seam__fit_best_add(struct seam_fit_best *best, const struct seam_fit_guess *guess,
	const struct seam_fit_prediction *prediction, uint64_t copies)
{
	if (seam__fit_best_covers(best, prediction->peak_bytes, prediction->ns, copies))
		return SEAM_OK;
	if (make_room(best) != SEAM_OK)
		return SEAM_OOM_META;
	struct seam_fit_place *place = make_place(best, guess);
	if (place == NULL)
		return SEAM_OOM_META;
	place->prediction = *prediction;
	place->copies = copies;
	uint32_t at = seam__fit_best_above(best, prediction->peak_bytes);
	if (at > 0 && best->places[at - 1]->prediction.peak_bytes == prediction->peak_bytes)
		at--;
	uint32_t beaten = at;
	while (beaten < best->count && best->places[beaten]->prediction.ns >= prediction->ns)
		beaten++;
	memmove(best->places + at + 1, best->places + beaten, (best->count - beaten) * sizeof(struct seam_fit_place *));
	best->places[at] = place;
	best->count = best->count + 1 - (beaten - at);
	return SEAM_OK;
}

const char *seam__fit_best_check(const struct seam_fit_best *best)
{
	for (uint32_t i = 1; i < best->count; i++) {
		const struct seam_fit_prediction *one = &best->places[i - 1]->prediction;
		const struct seam_fit_prediction *next = &best->places[i]->prediction;
		if (one->peak_bytes >= next->peak_bytes || one->ns <= next->ns)
			return "FR1";
	}
	return NULL;
}

/* One piece: the front, its points, their arrays. */
static size_t front_bytes(size_t points, const struct seam_fit_problem *problem)
{
	return sizeof(struct seam_fit_front) +
		points * (sizeof(struct seam_fit_point) + problem->block_count + problem->chunk_count);
}

enum seam_rc seam__fit_best_publish(const struct seam_fit_best *best, const struct seam_fit_problem *problem,
	uint64_t budget_bytes, struct seam_fit_front **ret_front)
{
	SEAM_ASSERT(seam__fit_best_check(best) == NULL);
	size_t count = seam__fit_best_above(best, budget_bytes);
	size_t bytes = front_bytes(count, problem);
	struct seam_fit_front *front = seam__meta_alloc(seam__meta_process(), bytes);
	if (front == NULL)
		return SEAM_OOM_META;
	struct seam_fit_point *points = (struct seam_fit_point *)(void *)(front + 1);
	uint8_t *arrays = (uint8_t *)(points + count);
	for (size_t i = 0; i < count; i++) {
		const struct seam_fit_place *place = best->places[i];
		points[i] = (struct seam_fit_point){
			.recipe = {arrays, arrays + problem->block_count, place->guess.buffers, place->guess.ahead},
			.prediction = place->prediction,
		};
		if (problem->block_count > 0)
			memcpy(arrays, place->guess.treatments, problem->block_count);
		seam__fit_guess_comes(problem, place->guess.stays, arrays + problem->block_count);
		arrays += problem->block_count + problem->chunk_count;
	}
	*front = (struct seam_fit_front){.struct_bytes = bytes, .count = count, .points = points};
	*ret_front = front;
	return SEAM_OK;
}

void seam_fit_front_free(struct seam_fit_front *front)
{
	if (front != NULL)
		seam__meta_free(seam__meta_process(), front, front->struct_bytes);
}
