/* repetition.c: see repetition.h. */
#include "repetition.h"

#define LEAST_EVENTS 4096u /* of repetitions: with half of it loops in gpt2-VR and programs 14 and 19 count */
#define LIKE_SHARE 16u     /* lengths are the same if they differ by one part in so many */
#define ELSE_SHARE 64u     /* one part in so many of the repetitions may be something else */
#define OVER_SHARE 8u      /* a repetition and one part in so many behind the newest: it is over */
#define RUN_SHARE 2u       /* one part in so many of the window may come before all repetitions, */
#define ALL_SHARE 8u       /* or one in so many, where more was live in the program's beginning */
#define PEAK_SHARE 512u    /* peaks are the same if they differ by one part in so many */
#define LATER_SHARE 32u    /* a peak behind the newest is higher by more: few repetitions show less than many */

static bool is_like(uint64_t a, uint64_t b, uint64_t share)
{
	return a <= b + b / share && b <= a + a / share;
}

/* Whether repetitions are the window, but for its beginning. */
static bool fill_the_window(const struct seam_repetition *repetition)
{
	if (repetition->run < 2 || repetition->newest - repetition->run_begin < LEAST_EVENTS ||
		repetition->run_begin > repetition->newest / RUN_SHARE)
		return false;
	return repetition->run_begin <= repetition->newest / ALL_SHARE ||
		is_like(repetition->peak_bytes, repetition->most_bytes, PEAK_SHARE);
}

static bool are_of_one_kind(const struct seam_repetition *repetition)
{
	return is_like(repetition->newest - repetition->run_begin, repetition->run * repetition->length, ELSE_SHARE) ||
		repetition->kind_events >= repetition->cut_events - repetition->cut_events / ELSE_SHARE;
}

static bool goes_on(const struct seam_repetition *repetition)
{
	return repetition->events - repetition->newest <= repetition->length + repetition->length / OVER_SHARE &&
		repetition->later_bytes <= repetition->peak_bytes + repetition->peak_bytes / LATER_SHARE;
}

bool seam__repetition_is_iteration(const struct seam_repetition *repetition, uint64_t known_events)
{
	return is_like(repetition->length, known_events, LIKE_SHARE) ||
		(fill_the_window(repetition) && are_of_one_kind(repetition) && goes_on(repetition));
}
