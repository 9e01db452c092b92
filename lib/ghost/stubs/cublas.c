/* cublas.c: a cuBLAS that computes nothing. Its workspaces are PyTorch's own requests, of a size that does not depend
 * on it. */
#include "stub.h"

int cublasCreate_v2(void **handle)
{
	return hand_out(handle);
}

int cublasGetMathMode(void *handle, int *mode)
{
	*mode = 0;
	return 0;
}

int cublasGetPointerMode_v2(void *handle, int *mode)
{
	*mode = 0;
	return 0;
}

int cublasGetVersion_v2(void *handle, int *version)
{
	*version = VERSION;
	return 0;
}

const char *cublasGetStatusString(int status)
{
	return NO_ERRORS;
}

/* Decompositions of many matrices tell on the host that their arguments are right. */
#define OF_EACH(T)                                                                                                  \
	int cublas##T##geqrfBatched(void *handle, int m, int n, void *a, int lda, void *tau, int *wrong, int batch) \
	{                                                                                                           \
		return *wrong = 0;                                                                                  \
	}                                                                                                           \
	int cublas##T##getrsBatched(void *handle, int trans, int n, int columns, void *a, int lda, void *pivots,    \
		void *b, int ldb, int *wrong, int batch)                                                            \
	{                                                                                                           \
		return *wrong = 0;                                                                                  \
	}                                                                                                           \
	int cublas##T##gelsBatched(void *handle, int trans, int m, int n, int columns, void *a, int lda, void *c,   \
		int ldc, int *wrong, void *info, int batch)                                                         \
	{                                                                                                           \
		return *wrong = 0;                                                                                  \
	}

OF_EACH(S)
OF_EACH(D)
OF_EACH(C)
OF_EACH(Z)
