/* cudnn.c: a cuDNN that computes nothing, and asks the installed one how much memory it would take.
 *
 * Convolutions and attention go by way of descriptors of the backend (graphs of operations, heuristics, plans). The
 * installed library needs no GPU for them if it is given a GPU's properties instead of a handle, so it answers itself:
 * which engines there are, what workspace each has. Plans are made here, and executed by nobody. It must be 9.8 or
 * later. Recurrent layers, CTC and dropout cannot be asked for without a handle: what they take is estimated, further
 * down.
 */
#define _GNU_SOURCE
#include "stub.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SUPPORTED 3000
#define ORDERS 8 /* most dimensions that a tensor has */

/* Of the backend: types of values, kinds of descriptors, attributes. */
enum { TYPE_HANDLE = 0, TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15, TYPE_CHARACTERS = 24 };
enum { KIND_PLAN = 5, KIND_GPU = 38 };
enum { HEURISTICS_GRAPH = 201, HEURISTICS_GPU = 204, ENGINE_GRAPH = 1300, ENGINE_GPU = 1307 };
enum { PLAN_ENGINE = 401, PLAN_WORKSPACE = 402, ENGINE_WORKSPACE = 303 };
enum { GPU_AS_JSON = 2702 };

/* The installed library's own. */
static struct {
	int (*create)(int kind, void **made);
	int (*destroy)(void *descriptor);
	int (*finalize)(void *descriptor);
	int (*set)(void *descriptor, int name, int type, int64_t count, const void *values);
	int (*get)(const void *descriptor, int name, int type, int64_t asked, int64_t *count, void *values);
	const char *(*words)(int status);
	void *gpu; /* a descriptor of the ghost's properties; NULL: it cannot be asked */
} installed;

/* Properties of a GPU that the installed library asks for: by its name, and by the driver's number. The first two
 * have three each. */
static const struct {
	const char *name;
	int attribute, count;
} properties[] = {
	{"maxGridSize", 5, 3},
	{"maxBlockSize", 2, 3},
	{"regsPerBlock", 12, 1},
	{"multiProcessorCount", 16, 1},
	{"warpSize", 10, 1},
	{"maxSharedMemoryPerBlock", 8, 1},
	{"maxSharedMemoryPerBlockOptin", 97, 1},
	{"reservedSharedMemoryPerBlock", 111, 1},
	{"maxRegistersPerSM", 82, 1},
	{"maxCtasPerSM", 106, 1},
	{"maxThreadsPerBlock", 1, 1},
	{"maxThreadsPerSM", 39, 1},
	{"pciDeviceId", 34, 1},
	{"isTccDriver", 35, 1},
	{"supportCoopLaunch", 95, 1},
	{"smClockRateKHz", 13, 1},
	{"memClockRateKHz", 36, 1},
	{"l2CacheSize", 38, 1},
};
enum { COMPUTE_MAJOR = 75, COMPUTE_MINOR = 76, PROCESSORS = 16, THREADS = 39 };

static void *of_driver(const char *name)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return driver != NULL ? dlsym(driver, name) : NULL;
}

/* Of the ghost GPU: all that a process has are alike. */
static int attribute(int number)
{
	int (*ask)(int *value, int which, int device);
	int value = 0;
	*(void **)&ask = of_driver("cuDeviceGetAttribute");
	return ask != NULL && ask(&value, number, 0) == 0 ? value : 0;
}

static size_t total_memory(void)
{
	int (*ask)(size_t * size, int device);
	size_t size = 0;
	*(void **)&ask = of_driver("cuDeviceTotalMem_v2");
	return ask != NULL && ask(&size, 0) == 0 ? size : 0;
}

/* The ghost GPU in JSON. Returns how long it is. */
static size_t describe_gpu(char *text, size_t room)
{
	int n = snprintf(text, room,
		"{\"deviceName\":\"ghost\",\"cudaDeviceId\":0,\"driverVer\":%d,\"deviceVer\":%d,"
		"\"smCountOrigin\":0,\"oversizedSharedMemoryPerBlock\":0,\"totalGlobalMem\":%zu",
		CUDA, attribute(COMPUTE_MAJOR) * 100 + attribute(COMPUTE_MINOR) * 10, total_memory());
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
		int first = properties[i].attribute;
		if (properties[i].count == 1)
			n += snprintf(text + n, room - (size_t)n, ",\"%s\":%d", properties[i].name, attribute(first));
		else
			n += snprintf(text + n, room - (size_t)n, ",\"%s\":[%d,%d,%d]", properties[i].name,
				attribute(first), attribute(first + 1), attribute(first + 2));
	}
	return (size_t)(n + snprintf(text + n, room - (size_t)n, "}"));
}

static void find_installed(void)
{
	void *library = dlopen(INSTALLED, RTLD_NOW | RTLD_LOCAL);
	char text[2048];
	void *gpu = NULL;
	if (library == NULL)
		return;
	*(void **)&installed.create = dlsym(library, "cudnnBackendCreateDescriptor");
	*(void **)&installed.destroy = dlsym(library, "cudnnBackendDestroyDescriptor");
	*(void **)&installed.finalize = dlsym(library, "cudnnBackendFinalize");
	*(void **)&installed.set = dlsym(library, "cudnnBackendSetAttribute");
	*(void **)&installed.get = dlsym(library, "cudnnBackendGetAttribute");
	*(void **)&installed.words = dlsym(library, "cudnnGetErrorString");
	if (installed.create != NULL && installed.create(KIND_GPU, &gpu) == 0 &&
		installed.set(gpu, GPU_AS_JSON, TYPE_CHARACTERS, (int64_t)describe_gpu(text, sizeof text), text) == 0 &&
		installed.finalize(gpu) == 0)
		installed.gpu = gpu;
}

static bool can_ask(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, find_installed);
	return installed.gpu != NULL;
}

/* A plan, which is ours: the installed library would compile its kernels. Its address is odd, which that of none of the
 * others is. */
struct plan {
	int64_t workspace;
};

static struct plan *as_plan(const void *descriptor)
{
	uintptr_t address = (uintptr_t)descriptor;
	return (address & 1) != 0 ? (struct plan *)(address - 1) : NULL;
}

int cudnnBackendCreateDescriptor(int kind, void **made)
{
	if (!can_ask())
		return NOT_SUPPORTED;
	if (kind != KIND_PLAN)
		return installed.create(kind, made);
	struct plan *plan = calloc(1, sizeof *plan);
	if (plan == NULL)
		return NOT_SUPPORTED;
	*made = (void *)((uintptr_t)plan + 1);
	return 0;
}

int cudnnBackendDestroyDescriptor(void *descriptor)
{
	struct plan *plan = as_plan(descriptor);
	if (plan == NULL)
		return installed.destroy(descriptor);
	free(plan);
	return 0;
}

int cudnnBackendFinalize(void *descriptor)
{
	return as_plan(descriptor) != NULL ? 0 : installed.finalize(descriptor);
}

int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t asked, int64_t *count, void *values)
{
	const struct plan *plan = as_plan(descriptor);
	if (plan == NULL)
		return installed.get(descriptor, name, type, asked, count, values);
	if (name != PLAN_WORKSPACE || asked != 1)
		return NOT_SUPPORTED;
	if (count != NULL)
		*count = 1;
	memcpy(values, &plan->workspace, sizeof plan->workspace);
	return 0;
}

/* Handles are none: what would learn of the GPU from one is given its properties. */
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count, const void *values)
{
	struct plan *plan = as_plan(descriptor);
	if (plan != NULL && name == PLAN_ENGINE) {
		int64_t one;
		return installed.get(*(void *const *)values, ENGINE_WORKSPACE, TYPE_INT64, 1, &one, &plan->workspace);
	}
	if (plan != NULL || type == TYPE_HANDLE)
		return 0;
	int status = installed.set(descriptor, name, type, count, values);
	if (status == 0 && name == HEURISTICS_GRAPH)
		return installed.set(descriptor, HEURISTICS_GPU, TYPE_DESCRIPTOR, 1, &installed.gpu);
	if (status == 0 && name == ENGINE_GRAPH)
		return installed.set(descriptor, ENGINE_GPU, TYPE_DESCRIPTOR, 1, &installed.gpu);
	return status;
}

const char *cudnnGetErrorString(int status)
{
	return can_ask() ? installed.words(status) : "no cuDNN of 9.8 or later was found, which tells what it needs";
}

void cudnnGetLastErrorString(char *text, size_t room)
{
	if (room > 0)
		*text = '\0';
}

size_t cudnnGetVersion(void)
{
	return VERSION;
}

size_t cudnnGetCudartVersion(void)
{
	return CUDA;
}

int cudnnGetProperty(int which, int *value)
{
	const int parts[] = {VERSION / 10000, VERSION / 100 % 100, VERSION % 100};
	if (which < 0 || which > 2)
		return NOT_SUPPORTED;
	*value = parts[which];
	return 0;
}

int cudnnCreate(void **handle)
{
	return hand_out(handle);
}

int cudnnGetStream(void *handle, void **stream)
{
	*stream = NULL;
	return 0;
}

/* The descriptors of all other functions. Each is one of these, as far as it is read again. */
struct descriptor {
	int type; /* of numbers */
	int rank, sizes[ORDERS], strides[ORDERS];
	int cell, directions, input, hidden, output, layers; /* of a recurrent network */
	float dropout;
	int longest; /* a label, for CTC */
};

#define CREATED(NAME)                                               \
	int cudnnCreate##NAME##Descriptor(struct descriptor **made) \
	{                                                           \
		*made = calloc(1, sizeof **made);                   \
		return *made != NULL ? 0 : NOT_SUPPORTED;           \
	}                                                           \
	int cudnnDestroy##NAME##Descriptor(struct descriptor *made) \
	{                                                           \
		free(made);                                         \
		return 0;                                           \
	}

CREATED(Activation)
CREATED(CTCLoss)
CREATED(Convolution)
CREATED(Dropout)
CREATED(Filter)
CREATED(Pooling)
CREATED(RNN)
CREATED(RNNData)
CREATED(SpatialTransformer)
CREATED(Tensor)

static size_t bytes_of(int type)
{
	enum { FLOAT = 0, DOUBLE = 1 };
	return type == DOUBLE ? 8 : type == FLOAT ? 4 : 2;
}

int cudnnSetTensorNdDescriptor(struct descriptor *tensor, int type, int rank, const int *sizes, const int *strides)
{
	if (rank > ORDERS)
		return NOT_SUPPORTED;
	tensor->type = type;
	tensor->rank = rank;
	memcpy(tensor->sizes, sizes, sizeof *sizes * (size_t)rank);
	memcpy(tensor->strides, strides, sizeof *strides * (size_t)rank);
	return 0;
}

int cudnnGetTensorNdDescriptor(
	const struct descriptor *tensor, int room, int *type, int *rank, int *sizes, int *strides)
{
	size_t n = (size_t)(room < tensor->rank ? room : tensor->rank);
	*type = tensor->type;
	*rank = tensor->rank;
	memcpy(sizes, tensor->sizes, sizeof *sizes * n);
	memcpy(strides, tensor->strides, sizeof *strides * n);
	return 0;
}

/* Batch normalization alone keeps nothing between its passes: what it could (a mask) is of an activation behind it. */
#define NONE(NAME, ...)                                                       \
	int cudnnGetBatchNormalization##NAME##Size(__VA_ARGS__, size_t *size) \
	{                                                                     \
		*size = 0;                                                    \
		return 0;                                                     \
	}

NONE(TrainingExReserveSpace, void *handle, int mode, int with, void *activation, void *x)
NONE(ForwardTrainingExWorkspace, void *handle, int mode, int with, void *x, void *z, void *y, void *numbers,
	void *activation)
NONE(BackwardExWorkspace, void *handle, int mode, int with, void *x, void *y, void *dy, void *dz, void *dx,
	void *numbers, void *activation)

/* The older functions of convolutions, which PyTorch takes if its environment says so: one algorithm without a
 * workspace. */
struct tried {
	int algorithm, status;
	float seconds;
	size_t workspace;
	int deterministic, math, reserved[3];
};

static int tell_one(int room, int *count, struct tried *found)
{
	*count = room > 0;
	memset(found, 0, sizeof *found * (size_t)*count);
	return 0;
}

#define OF_CONVOLUTION(NAME)                                                                                           \
	int cudnnGetConvolution##NAME##Algorithm_v7(                                                                   \
		void *handle, void *a, void *b, void *convolution, void *c, int room, int *count, struct tried *found) \
	{                                                                                                              \
		return tell_one(room, count, found);                                                                   \
	}                                                                                                              \
	int cudnnFindConvolution##NAME##AlgorithmEx(void *handle, void *a, void *at_a, void *b, void *at_b,            \
		void *convolution, void *c, void *at_c, int room, int *count, struct tried *found, void *workspace,    \
		size_t size)                                                                                           \
	{                                                                                                              \
		return tell_one(room, count, found);                                                                   \
	}                                                                                                              \
	int cudnnGetConvolution##NAME##WorkspaceSize(                                                                  \
		void *handle, void *a, void *b, void *convolution, void *c, int algorithm, size_t *size)               \
	{                                                                                                              \
		*size = 0;                                                                                             \
		return 0;                                                                                              \
	}

OF_CONVOLUTION(Forward)
OF_CONVOLUTION(BackwardData)
OF_CONVOLUTION(BackwardFilter)

/* Recurrent networks: cells have one gate (two kinds of them), four (LSTM), three (GRU). */
enum { CELL_LSTM = 2, CELL_GRU = 3 };

static int gates(const struct descriptor *rnn)
{
	return rnn->cell == CELL_LSTM ? 4 : rnn->cell == CELL_GRU ? 3 : 1;
}

int cudnnSetRNNDescriptor_v8(struct descriptor *rnn, int algorithm, int cell, int bias, int direction, int input_mode,
	int type, int computed_in, int math, int input, int hidden, int output, int layers,
	const struct descriptor *dropout, unsigned flags)
{
	rnn->type = type;
	rnn->cell = cell;
	rnn->directions = direction + 1;
	rnn->input = input;
	rnn->hidden = hidden;
	rnn->output = output;
	rnn->layers = layers;
	rnn->dropout = dropout != NULL ? dropout->dropout : 0.0f;
	return 0;
}

/* One matrix of a network: its rows and columns, and how many numbers come before it. The last pseudo-layer's next: all
 * numbers of matrices. */
static size_t find_matrix(const struct descriptor *rnn, int pseudo_layer, int number, int *rows, int *columns)
{
	int count = 2 * gates(rnn) + (rnn->output != rnn->hidden);
	size_t before = 0;
	for (int layer = 0; layer <= pseudo_layer; layer++)
		for (int i = 0; i < count; i++) {
			*rows = i < 2 * gates(rnn) ? rnn->hidden : rnn->output;
			*columns = i >= 2 * gates(rnn)    ? rnn->hidden
				: i >= gates(rnn)         ? rnn->output
				: layer < rnn->directions ? rnn->input
							  : rnn->output * rnn->directions;
			if (layer == pseudo_layer && i == number)
				return before;
			before += (size_t)*rows * (size_t)*columns;
		}
	return before;
}

/* All matrices, and behind them two vectors for each gate. */
int cudnnGetRNNWeightSpaceSize(void *handle, const struct descriptor *rnn, size_t *size)
{
	int rows, columns, pseudo_layers = rnn->layers * rnn->directions;
	size_t numbers = find_matrix(rnn, pseudo_layers, 0, &rows, &columns);
	numbers += (size_t)pseudo_layers * 2 * (size_t)gates(rnn) * (size_t)rnn->hidden;
	*size = numbers * bytes_of(rnn->type);
	return 0;
}

int cudnnGetRNNWeightParams(void *handle, const struct descriptor *rnn, int pseudo_layer, size_t size, char *space,
	int number, struct descriptor *matrix, void **at_matrix, struct descriptor *bias, void **at_bias)
{
	int rows, columns, pseudo_layers = rnn->layers * rnn->directions;
	size_t all = find_matrix(rnn, pseudo_layers, 0, &rows, &columns);
	size_t vector = (size_t)(pseudo_layer * 2 * gates(rnn) + number) * (size_t)rnn->hidden;
	size_t before = find_matrix(rnn, pseudo_layer, number, &rows, &columns);
	if (matrix != NULL) {
		*at_matrix = space + bytes_of(rnn->type) * before;
		cudnnSetTensorNdDescriptor(
			matrix, rnn->type, 3, (int[]){1, rows, columns}, (int[]){rows * columns, columns, 1});
	}
	if (bias != NULL) {
		*at_bias = number < 2 * gates(rnn) ? space + bytes_of(rnn->type) * (all + vector) : NULL;
		cudnnSetTensorNdDescriptor(bias, rnn->type, 3, (int[]){1, rows, 1}, (int[]){rows, 1, 1});
	}
	return 0;
}

int cudnnSetRNNDataDescriptor(struct descriptor *data, int type, int layout, int steps, int batch, int width,
	const int *lengths, void *padding)
{
	return cudnnSetTensorNdDescriptor(data, type, 3, (int[]){steps, batch, width}, (int[]){0, 0, 0});
}

/* Estimates. The backward pass reads each gate, what a cell hands on (LSTM: its state and its output; GRU: its output,
 * and the part of the candidate that the reset gate multiplies), and between layers what dropout left. A pass works on
 * all gates of one layer.
 */
int cudnnGetRNNTempSpaceSizes(void *handle, const struct descriptor *rnn, int training, const struct descriptor *x,
	size_t *workspace, size_t *reserve)
{
	size_t cells = (size_t)x->sizes[0] * (size_t)x->sizes[1] * (size_t)rnn->directions;
	size_t kept =
		(size_t)(gates(rnn) + (rnn->cell >= CELL_LSTM ? 2 : 1)) * (size_t)rnn->hidden * (size_t)rnn->layers;
	size_t dropped = rnn->dropout > 0 ? (size_t)rnn->output * (size_t)(rnn->layers - 1) : 0;
	*workspace = cells * (size_t)gates(rnn) * (size_t)rnn->hidden * bytes_of(rnn->type);
	if (reserve != NULL)
		*reserve = training ? cells * (kept + dropped) * bytes_of(rnn->type) : 0;
	return 0;
}

/* A generator's state for each thread that the GPU runs at once. */
int cudnnDropoutGetStatesSize(void *handle, size_t *size)
{
	enum { STATE_BYTES = 48 };
	*size = (size_t)attribute(PROCESSORS) * (size_t)attribute(THREADS) * STATE_BYTES;
	return 0;
}

int cudnnSetDropoutDescriptor(
	struct descriptor *dropout, void *handle, float share, void *states, size_t size, unsigned long long seed)
{
	dropout->dropout = share;
	return 0;
}

int cudnnRestoreDropoutDescriptor(
	struct descriptor *dropout, void *handle, float share, void *states, size_t size, unsigned long long seed)
{
	return cudnnSetDropoutDescriptor(dropout, handle, share, states, size, seed);
}

int cudnnSetCTCLossDescriptor_v9(struct descriptor *loss, int computed_in, int normalized, int gradient, int longest)
{
	loss->longest = longest;
	return 0;
}

/* Two numbers for each step and place of a label or between: log_alpha, log_beta (PyTorch's LossCTC.cu has them). */
static int tell_ctc(const struct descriptor *probabilities, int longest, size_t *size)
{
	*size = 2 * bytes_of(0) * (size_t)probabilities->sizes[0] * (size_t)probabilities->sizes[1] *
		(2 * (size_t)longest + 1);
	return 0;
}

int cudnnGetCTCLossWorkspaceSize(void *handle, const struct descriptor *probabilities, void *gradients, void *labels,
	const int *label_lengths, void *input_lengths, int algorithm, void *loss, size_t *size)
{
	int longest = 0;
	for (int i = 0; i < probabilities->sizes[1]; i++)
		longest = label_lengths[i] > longest ? label_lengths[i] : longest;
	return tell_ctc(probabilities, longest, size);
}

int cudnnGetCTCLossWorkspaceSize_v8(void *handle, int algorithm, const struct descriptor *loss,
	const struct descriptor *probabilities, void *gradients, size_t *size)
{
	return tell_ctc(probabilities, loss->longest, size);
}
