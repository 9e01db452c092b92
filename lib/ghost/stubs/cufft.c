/* cufft.c: a cuFFT that computes nothing.
 *
 * Its work area is memory that PyTorch requests. NVIDIA's guide: between one and eight times the numbers of the
 * transforms, as complex numbers. Here it is one; seamalloc/_margin.py has the rest.
 */
#include "stub.h"

enum { REAL_FLOAT = 0, REAL_DOUBLE = 1, REAL_HALF = 2, COMPLEX_FLOAT = 4, COMPLEX_DOUBLE = 5, COMPLEX_HALF = 6 };

/* Bytes of a complex number; `type`: what is computed in. */
static size_t complex_bytes(int type)
{
	switch (type) {
	case REAL_DOUBLE:
	case COMPLEX_DOUBLE:
		return 16;
	case REAL_FLOAT:
	case COMPLEX_FLOAT:
		return 8;
	default:
		return 4;
	}
}

int cufftCreate(int *plan)
{
	*plan = 1;
	return 0;
}

int cufftXtMakePlanMany(int plan, int rank, const long long *sizes, const void *input_layout, long long input_stride,
	long long input_distance, int input_type, const void *output_layout, long long output_stride,
	long long output_distance, int output_type, long long batch, size_t *area, int computed_in)
{
	*area = complex_bytes(computed_in) * (size_t)batch;
	for (int i = 0; i < rank; i++)
		*area *= (size_t)sizes[i];
	return 0;
}
