/* cusolver.c: a cuSOLVER that computes nothing.
 *
 * Its workspaces are memory that PyTorch requests, and are of no bytes here: no source says how many there are.
 * seamalloc/_margin.py has an argument. What a decomposition says of itself (info) is not written: the device reads as
 * 0, which is success.
 */
#include "stub.h"

/* A function that tells of a workspace: on the device; on the device and on the host. */
#define NONE(NAME, ...)                                \
	int cusolverDn##NAME##_bufferSize(__VA_ARGS__) \
	{                                              \
		*size = 0;                             \
		return 0;                              \
	}
#define NONE_OF_BOTH(NAME, ...)                        \
	int cusolverDn##NAME##_bufferSize(__VA_ARGS__) \
	{                                              \
		*size = *host = 0;                     \
		return 0;                              \
	}

/* For each type of numbers. */
#define OF_EACH(T)                                                                                                   \
	NONE(T##getrf, void *h, int m, int n, void *a, int lda, int *size)                                           \
	NONE(T##geqrf, void *h, int m, int n, void *a, int lda, int *size)                                           \
	NONE(T##potrf, void *h, int half, int n, void *a, int lda, int *size)                                        \
	NONE(T##sytrf, void *h, int n, void *a, int lda, int *size)                                                  \
	NONE(T##gesvd, void *h, int m, int n, int *size)                                                             \
	NONE(T##gesvdj, void *h, int job, int econ, int m, int n, void *a, int lda, void *s, void *u, int ldu,       \
		void *v, int ldv, int *size, void *info)                                                             \
	NONE(T##gesvdjBatched, void *h, int job, int m, int n, void *a, int lda, void *s, void *u, int ldu, void *v, \
		int ldv, int *size, void *info, int batch)                                                           \
	NONE(T##gesvdaStridedBatched, void *h, int job, int rank, int m, int n, void *a, int lda, long long next_a,  \
		void *s, long long next_s, void *u, int ldu, long long next_u, void *v, int ldv, long long next_v,   \
		int *size, int batch)

/* Of which the names for complex numbers are others. */
#define OF_REAL_OR_COMPLEX(ORGQR, ORMQR, SYEVD, SYEVJ)                                                                \
	NONE(ORGQR, void *h, int m, int n, int k, void *a, int lda, void *tau, int *size)                             \
	NONE(ORMQR, void *h, int side, int trans, int m, int n, int k, void *a, int lda, void *tau, void *c, int ldc, \
		int *size)                                                                                            \
	NONE(SYEVD, void *h, int job, int half, int n, void *a, int lda, void *w, int *size)                          \
	NONE(SYEVJ, void *h, int job, int half, int n, void *a, int lda, void *w, int *size, void *info, int batch)

OF_EACH(S)
OF_EACH(D)
OF_EACH(C)
OF_EACH(Z)
OF_REAL_OR_COMPLEX(Sorgqr, Sormqr, Ssyevd, SsyevjBatched)
OF_REAL_OR_COMPLEX(Dorgqr, Dormqr, Dsyevd, DsyevjBatched)
OF_REAL_OR_COMPLEX(Cungqr, Cunmqr, Cheevd, CheevjBatched)
OF_REAL_OR_COMPLEX(Zungqr, Zunmqr, Zheevd, ZheevjBatched)

NONE_OF_BOTH(Xgeqrf, void *h, void *params, int64_t m, int64_t n, int type_a, void *a, int64_t lda, int type_tau,
	void *tau, int computed_in, size_t *size, size_t *host)
NONE_OF_BOTH(Xpotrf, void *h, void *params, int half, int64_t n, int type_a, void *a, int64_t lda, int computed_in,
	size_t *size, size_t *host)
NONE_OF_BOTH(Xsyevd, void *h, void *params, int job, int half, int64_t n, int type_a, void *a, int64_t lda, int type_w,
	void *w, int computed_in, size_t *size, size_t *host)
NONE_OF_BOTH(XsyevBatched, void *h, void *params, int job, int half, int64_t n, int type_a, void *a, int64_t lda,
	int type_w, void *w, int computed_in, size_t *size, size_t *host, int64_t batch)
NONE_OF_BOTH(Xsytrs, void *h, int half, int64_t n, int64_t columns, int type_a, void *a, int64_t lda, void *pivots,
	int type_b, void *b, int64_t ldb, size_t *size, size_t *host)
NONE_OF_BOTH(Xgeev, void *h, void *params, int job_left, int job_right, int64_t n, int type_a, void *a, int64_t lda,
	int type_w, void *w, int type_left, void *left, int64_t ld_left, int type_right, void *right, int64_t ld_right,
	int computed_in, size_t *size, size_t *host)

int cusolverDnCreate(void **handle)
{
	return hand_out(handle);
}

int cusolverDnCreateParams(void **params)
{
	return hand_out(params);
}

int cusolverDnCreateGesvdjInfo(void **info)
{
	return hand_out(info);
}

int cusolverDnCreateSyevjInfo(void **info)
{
	return hand_out(info);
}
