/* foresight.h: when a program that goes on as it did before will have done it twice.
 *
 * Nothing marks its steps, and looks at the recording (learner.h) are far apart, for they cost as much as it is long.
 * One that comes a little before the end of the second repetition finds nothing, and the next comes late. But by then
 * the recording ends as it went on a repetition ago: how far ago says how long a repetition is, how long it has been so
 * says where the first of the two may begin, and it does where the least is live.
 *
 * Not here: what repeats (lib/plan/iterations/iterations.h), whether that is believed (belief.h). This only says when
 * to look. Pure. No locks.
 */
#ifndef SEAM_FORESIGHT_H
#define SEAM_FORESIGHT_H

#include <stdint.h>

#include <seam/trace.h>

/* How many events from the recording's end until its second repetition is over; UINT64_MAX: it does not end as it went
 * on before, it is over already, or there is no memory to find out. O(events). */
uint64_t seam__foresight_more(const struct seam_trace *recording);

#endif
