/* fakecuda_control.h: what a test asks of the emulated devices behind the fake driver, beside what a driver offers.
 *
 * Exported by the fake libcuda.so.1, so that any program that uses the device through the driver or the fake runtime
 * looks at the same ones. Asked is the device whose context is current on the thread, or device 0 where none is;
 * violations and time are those of all devices. Results called "code" are CUresult numbers; before cuInit, and after
 * the context has gone, it is 3 (not initialised), and counts are 0.
 *
 * Environment, read at cuInit:
 *   FAKECUDA=none           no device
 *   FAKECUDA=old            a driver without cuStreamGetId
 *   FAKECUDA_DEVICES=2      so many devices (default: 1; at most 16)
 *   FAKECUDA_PEERS=none     no device can reach another one's memory
 *   FAKECUDA_CAPACITY=24G   memory of each device, in bytes or with K, M, G (default: 8G, or 80G without real memory)
 *   FAKECUDA_GPU=rtx4090    the devices are such GPUs, of machines.def; an unknown one is an error of cuInit
 *   FAKECUDA_MEMORY=strict  a load or store of the CPU in a device's memory, of any kind, is a SIGSEGV, as on a GPU
 *   FAKECUDA_MEMORY=still   as strict, and copies move nothing
 *   FAKECUDA_MEMORY=book    no real memory: addresses cannot be touched, copies move nothing
 *   FAKECUDA_HOST=none      no memory on the host's NUMA node; no_cpu, as_device: what else enum seam_emu_host says
 *   FAKECUDART_KERNELS=skip  kernels succeed, compute nothing and take fakecuda_kernel_ns(); read at each launch
 *   FAKECUDA_CLOCK=1        fakecuda_ticks() counts
 */
#ifndef SEAM_FAKECUDA_CONTROL_H
#define SEAM_FAKECUDA_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A fake kernel: pending on `stream` for duration_ns of virtual time, touching [va, va + bytes) if bytes is not 0. The
 * emulator judges it: see vmm/emu.h. Returns a code. */
int fakecuda_work(void *stream, uint64_t va, uint64_t bytes, int writes, uint64_t duration_ns);

/* Whether kernels, which cannot run, are passed over. Else they are refused. */
int fakecuda_skips_kernels(void);

/* A kernel that does nothing, where the environment wants that. Returns a code: 801, refused. */
int fakecuda_kernel(void *stream);

/* How long kernels take that are launched from now on, on any device and by any thread: each holds its stream so long,
 * in virtual time, and what waits for it. A captured one keeps what was valid at its capture. Returns the time until
 * now, which is FAKECUDA_KERNEL_NS at first. */
#define FAKECUDA_KERNEL_NS UINT64_C(10000)
uint64_t fakecuda_kernel_ns(uint64_t ns);

/* How often work for a device was asked for so far: kernels, refused ones too, and launches of graphs, each as one, on
 * all devices; copies and fills of the device asked. */
uint64_t fakecuda_launches(void);

/* Launches what cuStreamEndCapture() gave, as often as wanted. */
int fakecuda_graph_launch(void *graph, void *stream);

/* Lets virtual time pass. It also passes by itself, by what driver calls cost. */
void fakecuda_advance(uint64_t ns);
uint64_t fakecuda_now(void);

/* How often the device was asked so far: one call of vmm/driver.def by name ("mem_map"); NULL: all that concern memory.
 */
uint64_t fakecuda_calls(const char *name);

/* Bytes of physical memory in use. */
uint64_t fakecuda_used_bytes(void);

/* What a real device would have punished only sometimes; the newest in words, "" if none. */
uint64_t fakecuda_violations(void);
const char *fakecuda_violation_text(void);
void fakecuda_clear_violations(void);

/* Makes the nth call that concerns memory (1: the next) fail with `code`. 0: none. */
void fakecuda_fail_at(uint64_t n, int code);

/* Ticks of the processor's counter that all threads have spent in the emulator, where FAKECUDA_CLOCK asks for it. */
uint64_t fakecuda_ticks(void);

/* The mapping or plain allocation of device memory that contains va. Returns a code: 1 where nothing is mapped. */
int fakecuda_range(uint64_t va, uint64_t *ret_base, uint64_t *ret_bytes);

/* The number of the device whose memory is at va; -1: none's. */
int fakecuda_device_of(uint64_t va);

/* Likewise of page-locked host memory. */
int fakecuda_host_range(const void *at, uint64_t *ret_base, uint64_t *ret_bytes);

/* 1: the device's memory has contents. */
int fakecuda_is_real(void);

#ifdef __cplusplus
}
#endif

#endif
