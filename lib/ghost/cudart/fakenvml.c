/* fakenvml.c: a libnvidia-ml.so.1 that knows one device and nothing about it.
 *
 * PyTorch's expandable segments ask it whether memory can be shared over a fabric, and call through null pointers where
 * there is no such library. Here there is no fabric, no NVLink, and no process is listed.
 */
#define NOT_SUPPORTED 3
#define FABRIC_STATE_AT 28 /* behind a version, a number of 16 bytes, a status and a clique */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlSystemGetCudaDriverVersion_v2(int *version);
EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
EXPORTED int nvmlDeviceGetGpuFabricInfoV(void *device, unsigned char *info);
EXPORTED int nvmlDeviceGetNvLinkRemoteDeviceType(void);
EXPORTED int nvmlDeviceGetNvLinkRemotePciInfo_v2(void);
EXPORTED int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *processes);

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	*version = 13000;
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	static int only;
	(void)bus;
	*device = &only;
	return 0;
}

int nvmlDeviceGetGpuFabricInfoV(void *device, unsigned char *info)
{
	(void)device;
	info[FABRIC_STATE_AT] = 0; /* not supported */
	return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void)
{
	return NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void)
{
	return NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *processes)
{
	(void)device;
	(void)processes;
	*count = 0;
	return 0;
}
