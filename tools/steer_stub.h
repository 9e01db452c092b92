#ifndef STEER_STUB_H
#define STEER_STUB_H
#include "pool.h"
#include "misses.h"
struct stub_counts { uint64_t requests, misses[SEAM_MISS_COUNT], hits, dynamic_hits, adoptions, drops, adopt_ns, lends, collects, resyncs, switches; };
static inline void stub_counts(struct seam_pool *p, struct stub_counts *c) { (void)p; *c = (struct stub_counts){0}; }
static inline uint64_t stub_hits(struct seam_pool *p) { (void)p; return 0; }
static inline uint64_t stub_adoptions(struct seam_pool *p) { (void)p; return 0; }
static inline void seam__pool_work(struct seam_pool *p, bool *d) { (void)p; *d = false; }
static inline enum seam_rc seam_plan_use(struct seam_pool *p, const struct seam_plan *q, char *e) { (void)p; (void)q; e[0] = 0; return SEAM_OK; }
static inline enum seam_rc seam_step(struct seam_pool *p) { (void)p; return SEAM_OK; }
static inline enum seam_rc seam_phase_begin(struct seam_pool *p, const char *n) { (void)p; (void)n; return SEAM_OK; }
static inline enum seam_rc seam_phase_end(struct seam_pool *p, const char *n) { (void)p; (void)n; return SEAM_OK; }
static inline enum seam_rc seam_dynamic_begin(struct seam_pool *p) { (void)p; return SEAM_OK; }
static inline enum seam_rc seam_dynamic_end(struct seam_pool *p) { (void)p; return SEAM_OK; }
static inline enum seam_rc stub_act_as(struct seam_pool *p, uint32_t n) { (void)p; (void)n; return SEAM_OK; }
#endif
