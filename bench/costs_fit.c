/* costs_fit.c: time = fixed + per_mapping * mappings + per_2mib * size, fitted by least squares.
 *
 * Errors are weighted by 1 / time: a table that is right for 512 MiB and wrong by a factor for 2 MiB would be no use.
 */
#include <math.h>
#include <string.h>

#include "costs.h"

#define TERMS 3
#define CHUNK_BYTES (UINT64_C(2) << 20)

/* Solves m * x = r in place, for the terms in use. False if they cannot be told apart. */
static bool solve(double m[TERMS][TERMS], double r[TERMS], size_t terms)
{
	for (size_t i = 0; i < terms; i++) {
		size_t best = i;
		for (size_t k = i + 1; k < terms; k++) {
			if (fabs(m[k][i]) > fabs(m[best][i]))
				best = k;
		}
		if (fabs(m[best][i]) < 1e-12 * fabs(m[0][0]) || m[best][i] == 0)
			return false;
		for (size_t c = 0; c < terms; c++) {
			double swap = m[i][c];
			m[i][c] = m[best][c];
			m[best][c] = swap;
		}
		double swap = r[i];
		r[i] = r[best];
		r[best] = swap;
		for (size_t k = 0; k < terms; k++) {
			if (k == i)
				continue;
			double factor = m[k][i] / m[i][i];
			for (size_t c = i; c < terms; c++)
				m[k][c] -= factor * m[i][c];
			r[k] -= factor * r[i];
		}
	}
	for (size_t i = 0; i < terms; i++)
		r[i] /= m[i][i];
	return true;
}

static bool is_used(const struct cost_sample *sample, enum seam_drv_call call)
{
	return sample->call == call && !sample->busy && sample->threads == 1 && sample->live_mappings == 0;
}

/* Fits the given columns (0: fixed, 1: mappings, 2: size). False if the rows do not tell them apart. */
static bool fit(
	const struct costs *costs, enum seam_drv_call call, const int *columns, size_t terms, double result[TERMS])
{
	double m[TERMS][TERMS];
	double r[TERMS] = {0};
	memset(m, 0, sizeof(m));
	for (size_t i = 0; i < costs->sample_count; i++) {
		const struct cost_sample *sample = &costs->samples[i];
		if (!is_used(sample, call))
			continue;
		uint64_t mappings = sample->mappings == 0 ? 1 : sample->mappings;
		const double row[TERMS] = {
			1, (double)sample->mappings, (double)(sample->chunk_bytes * mappings) / (double)CHUNK_BYTES};
		double weight = 1 / (sample->p50_ns == 0 ? 1 : (double)sample->p50_ns * (double)sample->p50_ns);
		for (size_t a = 0; a < terms; a++) {
			for (size_t b = 0; b < terms; b++)
				m[a][b] += weight * row[columns[a]] * row[columns[b]];
			r[a] += weight * row[columns[a]] * (double)sample->p50_ns;
		}
	}
	if (!solve(m, r, terms))
		return false;
	memset(result, 0, TERMS * sizeof(result[0]));
	for (size_t a = 0; a < terms; a++)
		result[columns[a]] = r[a];
	return true;
}

static uint64_t rounded(double value)
{
	return value > 0 ? (uint64_t)llround(value) : 0;
}

void costs_fit(const struct costs *costs, struct seam_emu_cost table[SEAM_DRV_COUNT])
{
	/* From the most terms to the least; a negative one is taken out rather than cut off, so that the others make up
	 * for it. */
	static const struct {
		int columns[TERMS];
		size_t terms;
	} models[] = {{{0, 1, 2}, 3}, {{1, 2, 0}, 2}, {{0, 2, 0}, 2}, {{1, 0, 0}, 1}, {{0, 0, 0}, 1}};
	for (int call = 0; call < SEAM_DRV_COUNT; call++) {
		double found[TERMS] = {0};
		table[call] = (struct seam_emu_cost){0};
		for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++) {
			if (!fit(costs, (enum seam_drv_call)call, models[i].columns, models[i].terms, found))
				continue;
			if (found[0] < -0.5 || found[1] < -0.5 || found[2] < -0.5)
				continue;
			table[call] = (struct seam_emu_cost){rounded(found[0]), rounded(found[1]), rounded(found[2])};
			break;
		}
	}
}
