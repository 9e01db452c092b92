/* cusparse.c: a cuSPARSE that computes nothing. Its buffers are memory that PyTorch requests, and are of no bytes here,
 * as cuSOLVER's are. */
#include "stub.h"

/* A function that tells of a buffer. */
#define NONE(NAME, TYPE, ...)                       \
	int cusparse##NAME(__VA_ARGS__, TYPE *size) \
	{                                           \
		*size = 0;                          \
		return 0;                           \
	}

NONE(SpMM_bufferSize, size_t, void *h, int op_a, int op_b, void *alpha, void *a, void *b, void *beta, void *c,
	int computed_in, int how)
NONE(SpMV_bufferSize, size_t, void *h, int op_a, void *alpha, void *a, void *x, void *beta, void *y, int computed_in,
	int how)
NONE(SDDMM_bufferSize, size_t, void *h, int op_a, int op_b, void *alpha, void *a, void *b, void *beta, void *c,
	int computed_in, int how)
NONE(SpSM_bufferSize, size_t, void *h, int op_a, int op_b, void *alpha, void *a, void *b, void *c, int computed_in,
	int how, void *descr)
NONE(SpSV_bufferSize, size_t, void *h, int op_a, void *alpha, void *a, void *x, void *y, int computed_in, int how,
	void *descr)
NONE(Xcoosort_bufferSizeExt, size_t, void *h, int m, int n, int count, void *rows, void *columns)
NONE(Xcsrsort_bufferSizeExt, size_t, void *h, int m, int n, int count, void *rows, void *columns)

/* For each type of numbers. */
#define OF_EACH(T)                                                                                                     \
	NONE(T##bsrsm2_bufferSize, int, void *h, int dir, int op_a, int op_x, int mb, int n, int count, void *descr,   \
		void *values, void *rows, void *columns, int block, void *info)                                        \
	NONE(T##bsrsv2_bufferSize, int, void *h, int dir, int op_a, int mb, int count, void *descr, void *values,      \
		void *rows, void *columns, int block, void *info)                                                      \
	NONE(T##csrgeam2_bufferSizeExt, size_t, void *h, int m, int n, void *alpha, void *descr_a, int count_a,        \
		void *values_a, void *rows_a, void *columns_a, void *beta, void *descr_b, int count_b, void *values_b, \
		void *rows_b, void *columns_b, void *descr_c, void *values_c, void *rows_c, void *columns_c)

OF_EACH(S)
OF_EACH(D)
OF_EACH(C)
OF_EACH(Z)

/* The product of two sparse matrices, and their sum: how many numbers they have depends on values, and none is found.
 */
int cusparseSpGEMM_workEstimation(void *h, int op_a, int op_b, void *alpha, void *a, void *b, void *beta, void *c,
	int computed_in, int how, void *descr, size_t *size, void *buffer)
{
	*size = 0;
	return 0;
}

int cusparseSpGEMM_compute(void *h, int op_a, int op_b, void *alpha, void *a, void *b, void *beta, void *c,
	int computed_in, int how, void *descr, size_t *size, void *buffer)
{
	*size = 0;
	return 0;
}

int cusparseSpMatGetSize(void *matrix, int64_t *rows, int64_t *columns, int64_t *count)
{
	*rows = *columns = *count = 0;
	return 0;
}

int cusparseXcsrgeam2Nnz(void *h, int m, int n, void *descr_a, int count_a, void *rows_a, void *columns_a,
	void *descr_b, int count_b, void *rows_b, void *columns_b, void *descr_c, void *rows_c, int *count,
	void *workspace)
{
	*count = 0;
	return 0;
}

const char *cusparseGetErrorString(int status)
{
	return NO_ERRORS;
}

/* Functions whose first argument is the place for a handle. */
#define CREATED(NAME)                   \
	int cusparse##NAME(void **made) \
	{                               \
		return hand_out(made);  \
	}

CREATED(Create)
CREATED(CreateMatDescr)
CREATED(CreateBsrsm2Info)
CREATED(CreateBsrsv2Info)
CREATED(CreateCoo)
CREATED(CreateCsr)
CREATED(CreateCsc)
CREATED(CreateBsr)
CREATED(CreateConstCsr)
CREATED(CreateDnMat)
CREATED(CreateDnVec)
CREATED(SpGEMM_createDescr)
CREATED(SpSM_createDescr)
CREATED(SpSV_createDescr)
