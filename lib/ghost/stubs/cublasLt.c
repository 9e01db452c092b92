/* cublasLt.c: a cuBLASLt that computes nothing. It has one algorithm, which needs no workspace: PyTorch has taken one
 * already by then. */
#include "stub.h"
#include <string.h>

#define RESULT_BYTES 104 /* of what the heuristics say of an algorithm */

size_t cublasLtGetVersion(void)
{
	return VERSION;
}

int cublasLtMatmulDescCreate(void **made)
{
	return hand_out(made);
}

int cublasLtMatmulPreferenceCreate(void **made)
{
	return hand_out(made);
}

int cublasLtMatrixLayoutCreate(void **made)
{
	return hand_out(made);
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *operation, void *a, void *b, void *c, void *d, void *preference,
	int wanted, void *results, int *count)
{
	memset(results, 0, RESULT_BYTES);
	*count = 1;
	return 0;
}
