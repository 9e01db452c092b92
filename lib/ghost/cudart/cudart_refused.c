/* cudart_refused.c: the calls of cudart_refused.def.
 *
 * Without CUDA's headers: what their arguments are does not matter, and differs between CUDA 12 and 13.
 */
#define NOT_SUPPORTED 801
#define EXPORTED __attribute__((visibility("default")))

#define FAKECUDART_REFUSED(name) \
	EXPORTED int name(void); \
	int name(void)           \
	{                        \
		return refuse(); \
	}

/* The last error is kept by another file, which does have the headers. */
int rt_result(int error);

static int refuse(void)
{
	return rt_result(NOT_SUPPORTED);
}

#include "cudart_refused.def"
