/* emu_bytes.c: how the device's work reads and writes the bytes behind its addresses.
 *
 * Strict mode: through the file of the memory, at the place of the mapped handle, for the CPU cannot touch the address;
 * a range that crosses mappings goes piece by piece. What the kernel refuses is a result: EFAULT where the CPU cannot
 * touch the program's side of a copy. Real mode: at the address; reading large blocks through the file takes twice the
 * processor's time.
 *
 * Not here: whether the work may touch the range (emu_copy.c), and what the CPU sees (emu_backing.c).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bits.h"
#include "emu_state.h"

/* On the stack of whoever lets time pass: small. Whole words, so that every piece of a fill begins with one. */
#define PIECE_BYTES UINT64_C(16384)

/* The place of va in the file, and how many bytes from there belong to its mapping. False: nothing is mapped. */
static bool find_place(struct emu *e, uint64_t va, off_t *ret_place, uint64_t *ret_bytes)
{
	const struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
	if (mapping == NULL)
		return false;
	*ret_place = (off_t)(mapping->phys->offset_bytes + (va - mapping->va));
	*ret_bytes = mapping->va + mapping->bytes - va;
	return true;
}

/* 0 or an errno. */
static int transfer_by_file(struct emu *e, uint64_t va, unsigned char *host, uint64_t bytes, bool write)
{
	while (bytes != 0) {
		off_t place;
		uint64_t here_bytes;
		if (!find_place(e, va, &place, &here_bytes))
			return EINVAL;
		here_bytes = seam__bits_min(here_bytes, bytes);
		ssize_t done =
			write ? pwrite(e->memfd, host, here_bytes, place) : pread(e->memfd, host, here_bytes, place);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done < 0 ? errno : EIO; /* the file ends before the memory does */
		host += done;
		va += (uint64_t)done;
		bytes -= (uint64_t)done;
	}
	return 0;
}

int seam__emu_bytes_read(struct emu *e, void *to, uint64_t va, uint64_t bytes)
{
	if (e->config.memory == SEAM_EMU_STRICT)
		return transfer_by_file(e, va, to, bytes, /* write= */ false);
	memcpy(to, (const void *)(uintptr_t)va, bytes);
	return 0;
}

int seam__emu_bytes_write(struct emu *e, uint64_t va, const void *from, uint64_t bytes)
{
	if (e->config.memory == SEAM_EMU_STRICT)
		return transfer_by_file(e, va, (unsigned char *)(uintptr_t)from, bytes, /* write= */ true);
	memcpy((void *)(uintptr_t)va, from, bytes);
	return 0;
}

int seam__emu_bytes_fill(struct emu *e, uint64_t va, uint32_t value, uint64_t bytes)
{
	unsigned char words[PIECE_BYTES];
	uint64_t used_bytes = seam__bits_min(seam__bits_align_up(bytes, sizeof(value)), sizeof(words));
	int error = 0;
	for (uint64_t at = 0; at < used_bytes; at += sizeof(value))
		memcpy(words + at, &value, sizeof(value));
	for (uint64_t at = 0; at < bytes && error == 0; at += sizeof(words))
		error = seam__emu_bytes_write(e, va + at, words, seam__bits_min(bytes - at, sizeof(words)));
	return error;
}

int seam__emu_bytes_move(struct emu *e, uint64_t to_va, uint64_t from_va, uint64_t bytes)
{
	unsigned char piece[PIECE_BYTES];
	int error = 0;
	for (uint64_t done = 0; done < bytes && error == 0;) {
		uint64_t piece_bytes = seam__bits_min(bytes - done, sizeof(piece));
		/* As memmove(): no byte is written before it has been read. */
		uint64_t at = to_va < from_va ? done : bytes - done - piece_bytes;
		error = seam__emu_bytes_read(e, piece, from_va + at, piece_bytes);
		if (error == 0)
			error = seam__emu_bytes_write(e, to_va + at, piece, piece_bytes);
		done += piece_bytes;
	}
	return error;
}
