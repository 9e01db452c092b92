/* plan_judge.h: the naive judge of plan_world.h. */
#ifndef TEST_PLAN_JUDGE_H
#define TEST_PLAN_JUDGE_H

#include "plan_world.h"

/* Fills world->unsafe from everything else. */
void world_find_unsafe(struct world *world);

#endif
