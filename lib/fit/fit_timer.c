/* fit_timer.c: see fit_timer.h.
 *
 * Four lanes, a queue each, which is gone through once for each iteration. The head of a queue starts once its lane is
 * free and what it is after has ended; time then goes to the next end. While both copy lanes work, each goes at the
 * share of its speed that the machine says: what is left of a copy is counted in parts of the time that it would take
 * alone.
 *
 * Invariant: FT1 of a lane that runs, left / speed, rounded up, behind since_ns is ends_ns.
 */
#include "fit_timer.h"

#define PARTS 4096u /* of a nanosecond of a copy alone */

/* An operation on its lane. */
struct seam_fit_turn {
	uint64_t ns; /* alone */
	uint32_t op;
	uint32_t of[2];   /* the lanes of what it is after */
	int64_t after[2]; /* so many operations have ended there, beside those of iterations before its own */
};

struct lane {
	const struct seam_fit_turn *turns;
	uint32_t count; /* of the turns */
	uint32_t at;    /* the next one, or the one that runs */
	uint32_t iteration;
	int64_t ended; /* operations, of all iterations */
	bool is_running;
	uint64_t left, speed; /* parts, and parts a nanosecond */
	int64_t began_ns, since_ns, ends_ns;
};

struct run {
	const struct seam_fit_problem *problem;
	const struct seam_fit_schedule *schedule;
	struct seam_fit_span *spans;
	struct lane lanes[SEAM_FIT_LANES];
	uint64_t both[SEAM_FIT_LANES]; /* parts a nanosecond, while both copy */
	uint32_t iterations;
	int64_t now_ns;
	int64_t from_ns, to_ns; /* of the iteration that counts, on the compute lane */
	struct seam_fit_prediction found;
};

enum seam_rc seam__fit_timer_init(struct seam_fit_timer *timer, uint32_t most_ops, struct seam_region *region)
{
	*timer = (struct seam_fit_timer){
		.most_ops = most_ops,
		.turns = seam__region_array(region, most_ops, sizeof(*timer->turns)),
		.ordinals = seam__region_array(region, most_ops, sizeof(*timer->ordinals)),
	};
	return timer->turns == NULL || timer->ordinals == NULL ? SEAM_OOM_META : SEAM_OK;
}

static bool is_copy(uint32_t lane)
{
	return lane == SEAM_FIT_UP || lane == SEAM_FIT_DOWN;
}

uint64_t seam__fit_copy_ns(uint64_t bytes, uint64_t speed)
{
	return speed == 0 ? 0 : (uint64_t)((double)bytes * 1e9 / (double)speed);
}

/* Alone. */
static uint64_t duration_ns(const struct seam_fit_machine *machine, const struct seam_fit_op *op)
{
	if (!is_copy(op->lane))
		return op->ns;
	return machine->copy_ns + seam__fit_copy_ns(op->bytes, op->lane == SEAM_FIT_UP ? machine->up : machine->down);
}

uint64_t seam__fit_time_bound(const struct seam_fit_problem *problem, const struct seam_fit_schedule *schedule)
{
	uint64_t lanes[SEAM_FIT_LANES] = {0};
	for (uint32_t i = 0; i < schedule->op_count; i++)
		lanes[schedule->ops[i].lane] += duration_ns(&problem->machine, &schedule->ops[i]);
	uint64_t most = 0;
	for (uint32_t i = 0; i < SEAM_FIT_LANES; i++)
		most = lanes[i] > most ? lanes[i] : most;
	return most;
}

/* An iteration that waits for nothing of the one before, and leaves nothing to do, is like the next. */
static void fill_turns(struct run *run, struct seam_fit_timer *timer)
{
	const struct seam_fit_schedule *schedule = run->schedule;
	uint32_t counts[SEAM_FIT_LANES] = {0}, ends[SEAM_FIT_LANES], begin = 0;
	for (uint32_t i = 0; i < schedule->op_count; i++)
		timer->ordinals[i] = counts[schedule->ops[i].lane]++;
	for (uint32_t lane = 0; lane < SEAM_FIT_LANES; lane++) {
		ends[lane] = begin;
		run->lanes[lane] = (struct lane){.turns = timer->turns + begin, .count = counts[lane], .speed = 1};
		begin += counts[lane];
	}
	run->iterations = counts[SEAM_FIT_HOST] > 0 ? 2 : 1;
	for (uint32_t i = 0; i < schedule->op_count; i++) {
		const struct seam_fit_op *op = &schedule->ops[i];
		struct seam_fit_turn *turn = &timer->turns[ends[op->lane]++];
		*turn = (struct seam_fit_turn){.ns = duration_ns(&run->problem->machine, op), .op = i};
		for (uint32_t j = 0; j < 2; j++) {
			uint32_t after = op->after[j];
			if (after == SEAM_FIT_NONE)
				after = i; /* itself, in the iteration before: it has ended, they share a lane */
			else if (after >= i)
				run->iterations = 2;
			uint32_t of = schedule->ops[after].lane;
			turn->of[j] = of;
			turn->after[j] = (int64_t)timer->ordinals[after] + 1 - (after >= i ? (int64_t)counts[of] : 0);
		}
	}
}

static bool has_next(const struct run *run, const struct lane *lane)
{
	return lane->at < lane->count && lane->iteration < run->iterations;
}

/* The lane whose progress the head of a lane still waits for; SEAM_FIT_LANES: none. */
static uint32_t awaited(const struct run *run, const struct lane *lane)
{
	const struct seam_fit_turn *turn = &lane->turns[lane->at];
	for (uint32_t i = 0; i < 2; i++) {
		const struct lane *other = &run->lanes[turn->of[i]];
		if (other->ended < turn->after[i] + (int64_t)lane->iteration * other->count)
			return turn->of[i];
	}
	return SEAM_FIT_LANES;
}

static void end(struct run *run, uint32_t number)
{
	struct lane *lane = &run->lanes[number];
	if (lane->iteration + 1 == run->iterations) {
		run->found.busy_ns[number] += (uint64_t)(run->now_ns - lane->began_ns);
		if (run->spans != NULL)
			run->spans[lane->turns[lane->at].op] = (struct seam_fit_span){lane->began_ns, run->now_ns};
	}
	lane->is_running = false;
	lane->ended++;
	if (++lane->at < lane->count)
		return;
	lane->at = 0;
	lane->iteration++;
	if (number != SEAM_FIT_COMPUTE)
		return;
	run->from_ns = run->to_ns;
	run->to_ns = run->now_ns;
	if (lane->iteration < run->iterations)
		run->found.copy_wait_ns = run->found.host_wait_ns = 0;
}

/* Sets when a lane ends what it runs, from now on at this speed. */
static void set_speed(struct run *run, struct lane *lane, uint64_t speed)
{
	uint64_t gone = (uint64_t)(run->now_ns - lane->since_ns) * lane->speed;
	lane->left = gone < lane->left ? lane->left - gone : 0;
	lane->speed = speed;
	lane->since_ns = run->now_ns;
	lane->ends_ns = run->now_ns + (int64_t)((lane->left + speed - 1) / speed);
}

static void set_copy_speeds(struct run *run)
{
	struct lane *up = &run->lanes[SEAM_FIT_UP], *down = &run->lanes[SEAM_FIT_DOWN];
	if (up->is_running)
		set_speed(run, up, down->is_running ? run->both[SEAM_FIT_UP] : PARTS);
	if (down->is_running)
		set_speed(run, down, up->is_running ? run->both[SEAM_FIT_DOWN] : PARTS);
}

/* Starts the head of a lane. What takes no time ends at once. */
static void start(struct run *run, uint32_t number)
{
	struct lane *lane = &run->lanes[number];
	uint64_t ns = lane->turns[lane->at].ns;
	lane->began_ns = lane->since_ns = run->now_ns;
	lane->is_running = ns > 0;
	if (ns == 0) {
		end(run, number);
	} else if (is_copy(number)) {
		lane->left = ns * PARTS;
		set_copy_speeds(run);
	} else {
		lane->ends_ns = run->now_ns + (int64_t)ns;
	}
}

static void start_all(struct run *run)
{
	for (bool is_changed = true; is_changed;) {
		is_changed = false;
		for (uint32_t i = 0; i < SEAM_FIT_LANES; i++) {
			struct lane *lane = &run->lanes[i];
			while (!lane->is_running && has_next(run, lane) && awaited(run, lane) == SEAM_FIT_LANES) {
				start(run, i);
				is_changed = true;
			}
		}
	}
}

/* The lane that the compute lane waits for in the end: what it waits for may wait itself. */
static uint32_t cause(const struct run *run)
{
	uint32_t lane = SEAM_FIT_COMPUTE;
	for (uint32_t i = 0; i < SEAM_FIT_LANES; i++) {
		uint32_t other = awaited(run, &run->lanes[lane]);
		if (other == SEAM_FIT_LANES)
			break;
		lane = other;
		if (run->lanes[lane].is_running || !has_next(run, &run->lanes[lane]))
			break;
	}
	return lane;
}

/* Goes on to the next end. false: nothing runs. */
static bool advance(struct run *run)
{
	int64_t next_ns = INT64_MAX;
	for (uint32_t i = 0; i < SEAM_FIT_LANES; i++)
		if (run->lanes[i].is_running && run->lanes[i].ends_ns < next_ns)
			next_ns = run->lanes[i].ends_ns;
	if (next_ns == INT64_MAX)
		return false;
	if (!run->lanes[SEAM_FIT_COMPUTE].is_running && has_next(run, &run->lanes[SEAM_FIT_COMPUTE]))
		*(cause(run) == SEAM_FIT_HOST ? &run->found.host_wait_ns : &run->found.copy_wait_ns) +=
			(uint64_t)(next_ns - run->now_ns);
	run->now_ns = next_ns;
	bool copy_ended = false;
	for (uint32_t i = 0; i < SEAM_FIT_LANES; i++)
		if (run->lanes[i].is_running && run->lanes[i].ends_ns == next_ns) {
			end(run, i);
			copy_ended |= is_copy(i);
		}
	if (copy_ended)
		set_copy_speeds(run);
	return true;
}

/* Time of the compute lane, what is recomputed apart. */
static void sum_compute(struct run *run)
{
	struct seam_fit_prediction *found = &run->found;
	for (uint32_t i = 0; i < run->schedule->op_count; i++) {
		const struct seam_fit_op *op = &run->schedule->ops[i];
		if (op->lane != SEAM_FIT_COMPUTE)
			continue;
		uint64_t kept = op->ns;
		if (op->kind == SEAM_FIT_VISIT)
			kept = run->problem->visits[op->subject].under[SEAM_FIT_KEEP].compute_ns;
		kept = kept < op->ns ? kept : op->ns;
		found->compute_ns += kept;
		found->recompute_ns += op->ns - kept;
	}
}

bool seam__fit_time(struct seam_fit_timer *timer, const struct seam_fit_problem *problem,
	const struct seam_fit_schedule *schedule, struct seam_fit_span *spans, uint64_t *work,
	struct seam_fit_prediction *ret_prediction)
{
	const struct seam_fit_machine *machine = &problem->machine;
	struct run run = {.problem = problem, .schedule = schedule, .spans = spans};
	if (machine->up > 0) {
		run.both[SEAM_FIT_UP] = (uint64_t)((double)machine->up_both * PARTS / (double)machine->up);
		run.both[SEAM_FIT_DOWN] = (uint64_t)((double)machine->down_both * PARTS / (double)machine->down);
		run.both[SEAM_FIT_UP] += run.both[SEAM_FIT_UP] == 0;
		run.both[SEAM_FIT_DOWN] += run.both[SEAM_FIT_DOWN] == 0;
	} else {
		run.both[SEAM_FIT_UP] = run.both[SEAM_FIT_DOWN] = PARTS;
	}
	fill_turns(&run, timer);
	*work += (uint64_t)run.iterations * schedule->op_count;
	do
		start_all(&run);
	while (advance(&run));
	for (uint32_t i = 0; i < SEAM_FIT_LANES; i++)
		if (has_next(&run, &run.lanes[i]))
			return false;
	sum_compute(&run);
	for (uint32_t i = 0; spans != NULL && i < schedule->op_count; i++) {
		spans[i].begin_ns -= run.from_ns;
		spans[i].end_ns -= run.from_ns;
	}
	run.found.ns = (uint64_t)(run.to_ns - run.from_ns);
	run.found.peak_bytes = schedule->peak_bytes;
	run.found.host_bytes = schedule->host_bytes;
	*ret_prediction = run.found;
	return true;
}
