/* cudart_stream.c: streams, events and captures.
 *
 * The emulated device knows captures in relaxed mode only. What the other modes forbid, to the capturing thread
 * (thread-local mode) or to all (global mode), is kept here: who asks for it meets cudaErrorStreamCaptureUnsupported
 * and spoils the capture, as with the real runtime. What a capture has seen is the nodes of its graph: see
 * cudart_graph.c.
 */
#include <pthread.h>
#include <stdlib.h>

#include "fakecudart.h"

#define STREAMS 1024

struct known_stream {
	CUstream handle; /* NULL: a free place */
	int priority;
	int device;
	bool blocking;
	bool captured; /* as the origin of a capture */
	bool spoilt;   /* that capture was disturbed */
	enum cudaStreamCaptureMode mode;
	pthread_t thread;   /* that began it */
	cuuint64_t capture; /* its number */
	struct rt_nodes nodes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_stream streams[STREAMS];
static _Atomic unsigned captures; /* written under the lock */
static _Thread_local enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

/* Under the lock. NULL also makes a place of a new stream findable. */
static struct known_stream *find(CUstream handle)
{
	for (size_t i = 0; i < STREAMS; i++)
		if (streams[i].handle == handle)
			return &streams[i];
	return NULL;
}

static cudaError_t create(cudaStream_t *stream, unsigned flags, int priority)
{
	int error = rt_enter();
	if (error == 0)
		error = (int)rt_driver->stream_create(stream, flags);
	if (error != 0)
		return rt_result(error);
	(void)pthread_mutex_lock(&lock);
	struct known_stream *known = find(NULL);
	if (known != NULL)
		*known = (struct known_stream){.handle = *stream,
			.priority = priority,
			.device = rt_device(),
			.blocking = flags == cudaStreamDefault};
	(void)pthread_mutex_unlock(&lock);
	return rt_result(known != NULL ? 0 : cudaErrorMemoryAllocation);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
	return create(stream, flags, priority);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	return create(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	return create(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	int error = rt_enter();
	if (error == 0 && stream == NULL)
		error = cudaErrorInvalidResourceHandle;
	if (error == 0)
		error = (int)rt_driver->stream_destroy(stream);
	if (error != 0)
		return rt_result(error);
	(void)pthread_mutex_lock(&lock);
	struct known_stream *known = find(stream);
	if (known != NULL) {
		captures -= known->captured;
		free(known->nodes.at);
		*known = (struct known_stream){.handle = NULL};
	}
	(void)pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	(void)pthread_mutex_lock(&lock);
	const struct known_stream *known = stream != NULL ? find(stream) : NULL;
	*priority = known != NULL ? known->priority : 0;
	(void)pthread_mutex_unlock(&lock);
	return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	RT_RETURN(rt_driver->stream_query(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	RT_RETURN(rt_driver->stream_sync(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	RT_RETURN(rt_driver->stream_wait_event(stream, event, flags));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument)
{
	RT_RETURN(rt_driver->host_func(stream, function, argument));
}

/* The older call: a function that is told of the stream too. */
struct callback {
	cudaStream_t stream;
	cudaStreamCallback_t function;
	void *argument;
};

static void call_back(void *argument)
{
	struct callback *callback = argument;
	callback->function(callback->stream, cudaSuccess, callback->argument);
	free(callback);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *argument, unsigned flags)
{
	int error = flags != 0 || function == NULL ? (int)cudaErrorInvalidValue : rt_enter();
	struct callback *callback = error == 0 ? malloc(sizeof(*callback)) : NULL;
	if (callback != NULL) {
		*callback = (struct callback){.stream = stream, .function = function, .argument = argument};
		error = (int)rt_driver->host_func(stream, call_back, callback);
		if (error != 0)
			free(callback);
	} else if (error == 0) {
		error = cudaErrorMemoryAllocation;
	}
	return rt_result(error);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	RT_RETURN(cuEventCreate(event, flags));
}

/* In virtual time. */
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t first, cudaEvent_t last)
{
	RT_RETURN(cuEventElapsedTime(ms, first, last));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	RT_RETURN(rt_driver->event_destroy(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	RT_RETURN(rt_driver->event_record(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
	return flags != 0 ? rt_result(cudaErrorNotSupported) : cudaEventRecord(event, stream);
}

static int query(cudaEvent_t event)
{
	int error = rt_capture_guard();
	if (error != 0)
		return error;
	/* The fake driver is stricter than a real one: it wants every question in relaxed mode. */
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	error = (int)rt_driver->capture_mode(&mode);
	if (error != 0)
		return error;
	error = (int)rt_driver->event_query(event);
	(void)rt_driver->capture_mode(&mode);
	return error;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	RT_RETURN(query(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	RT_RETURN(rt_driver->event_sync(event));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	enum cudaStreamCaptureMode before = thread_mode;
	thread_mode = *mode;
	*mode = before;
	return cudaSuccess;
}

int rt_capture_guard(void)
{
	int error = 0;
	if (thread_mode == cudaStreamCaptureModeRelaxed)
		return 0;
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; captures != 0 && i < STREAMS; i++) {
		struct known_stream *known = &streams[i];
		bool mine = known->captured && pthread_equal(known->thread, pthread_self());
		if (!known->captured || known->mode == cudaStreamCaptureModeRelaxed)
			continue;
		if (mine ||
			(known->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal)) {
			known->spoilt = true;
			error = cudaErrorStreamCaptureUnsupported;
		}
	}
	(void)pthread_mutex_unlock(&lock);
	return error;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t capture = 0;
	int error = rt_enter();
	if (error == 0)
		error = (int)rt_driver->capture_begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
	if (error == 0)
		error = (int)rt_driver->capture_info(stream, &status, &capture);
	if (error != 0)
		return rt_result(error);
	(void)pthread_mutex_lock(&lock);
	struct known_stream *known = find(stream);
	if (known != NULL) {
		known->captured = true;
		known->spoilt = false;
		known->mode = mode;
		known->thread = pthread_self();
		known->capture = capture;
		captures++;
	}
	(void)pthread_mutex_unlock(&lock);
	return rt_result(known != NULL ? 0 : cudaErrorNotSupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	CUgraph ended = NULL;
	struct rt_nodes nodes = {0};
	int error = rt_enter();
	*graph = NULL;
	if (error == 0)
		error = (int)rt_driver->capture_end(stream, &ended);
	(void)pthread_mutex_lock(&lock);
	struct known_stream *known = stream != NULL ? find(stream) : NULL;
	bool was_captured = known != NULL && known->captured;
	if (was_captured) {
		known->captured = false;
		nodes = known->nodes;
		known->nodes = (struct rt_nodes){0};
		captures--;
	}
	if (error == 0 && was_captured && known->spoilt)
		error = cudaErrorStreamCaptureInvalidated;
	(void)pthread_mutex_unlock(&lock);
	if (error == 0)
		error = rt_graph_make(&nodes, ended, graph);
	else
		free(nodes.at);
	if (error == cudaErrorStreamCaptureInvalidated && ended != NULL)
		(void)rt_driver->graph_destroy(ended);
	return rt_result(error);
}

/* Under the lock. False: no memory, which spoils the capture. */
static bool add_node(struct rt_nodes *nodes, const struct rt_node *node)
{
	if (nodes->count == nodes->capacity) {
		size_t capacity = nodes->capacity == 0 ? 64 : 2 * nodes->capacity;
		struct rt_node *at = realloc(nodes->at, capacity * sizeof(*at));
		if (at == NULL)
			return false;
		nodes->at = at;
		nodes->capacity = capacity;
	}
	nodes->at[nodes->count++] = *node;
	return true;
}

bool rt_capture_add_node(CUstream stream, const struct rt_node *node)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t capture = 0;
	if (captures == 0 || stream == NULL || rt_driver->capture_info(stream, &status, &capture) != CUDA_SUCCESS ||
		status == CU_STREAM_CAPTURE_STATUS_NONE)
		return false;
	/* The stream may only have joined: the capture is its origin's. */
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; i < STREAMS; i++) {
		struct known_stream *known = &streams[i];
		if (known->captured && known->capture == capture)
			known->spoilt |= !add_node(&known->nodes, node);
	}
	(void)pthread_mutex_unlock(&lock);
	return true;
}

static int capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id)
{
	CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t number = 0;
	bool legacy = stream == NULL || stream == cudaStreamLegacy;
	bool blocked = false;
	int device = rt_device();
	bool spoilt = false;
	(void)pthread_mutex_lock(&lock);
	for (size_t i = 0; captures != 0 && i < STREAMS; i++) {
		blocked = blocked || (streams[i].captured && streams[i].blocking && streams[i].device == device);
		spoilt = spoilt || (streams[i].handle == stream && streams[i].captured && streams[i].spoilt);
	}
	(void)pthread_mutex_unlock(&lock);
	int error = legacy ? (blocked ? (int)cudaErrorStreamCaptureImplicit : 0)
			   : (int)rt_driver->capture_info(stream, &found, &number);
	if (error != 0)
		return error;
	*status = spoilt ? cudaStreamCaptureStatusInvalidated : (enum cudaStreamCaptureStatus)(int)found;
	if (id != NULL)
		*id = number;
	return 0;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	RT_RETURN(capture_info(stream, status, NULL));
}

/* Nodes are counted, not kept: there are no dependencies to show. */
static int capture_info_all(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
	cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
	if (graph != NULL)
		*graph = NULL;
	if (dependencies != NULL)
		*dependencies = NULL;
	if (count != NULL)
		*count = 0;
	return capture_info(stream, status, id);
}

#if FAKECUDART_MAJOR == 12
EXPORTED cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count);
EXPORTED cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
	const cudaGraphEdgeData **edges, size_t *count);

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
	RT_RETURN(capture_info_all(stream, status, id, graph, dependencies, count));
}

#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#endif

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
	cudaGraph_t *graph, const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges, size_t *count)
{
	if (edges != NULL)
		*edges = NULL;
	RT_RETURN(capture_info_all(stream, status, id, graph, dependencies, count));
}
