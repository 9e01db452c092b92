/* nccl.c: an NCCL that moves nothing. */
#include "stub.h"

const char *ncclGetErrorString(int status)
{
	return NO_ERRORS;
}

int ncclGetVersion(int *version)
{
	*version = VERSION;
	return 0;
}
