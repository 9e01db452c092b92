/* test_torch_segments.c: segments for PyTorch's native allocator: they wait as cudaMalloc and cudaFree do. */
#include "door_fixture.h"

#define LONG_NS UINT64_C(1000000000)

Test(torch_segments, nothing_is_pending_on_a_segment)
{
	set_conf(DEVICE);
	void *a = make_stream(0), *b = make_stream(0);
	char *first = seam_torch_segment_alloc(MIB(20), 0, a);
	cr_assert_not_null(first);
	launch(0, b, first, MIB(20), LONG_NS); /* native has given it to another stream than the current one */
	seam_torch_segment_free(first, MIB(20), 0, a);
	char *second = seam_torch_segment_alloc(MIB(20), 0, a);
	cr_assert_eq(second, first);
	launch(0, a, second, MIB(20), LONG_NS); /* the emulator would see the two writers collide */
	check(0);
	seam_torch_segment_free(second, MIB(20), 0, b);
	seam_torch_segment_free(NULL, 0, 0, b);
	cr_assert_eq(figures(0).live_blocks, 0);
	seam_torch_reset();
	cr_assert_eq(figures(0).reserved_bytes, 0, "what no capture has used goes back");
	check(0);
}

Test(torch_segments, a_shortage_is_answered_by_null)
{
	set_conf(DEVICE);
	cr_assert_null(seam_torch_segment_alloc(MIB(300), 0, NULL));
	assert_told("no segment of 314572800 bytes on device 0: out of device memory");
	cr_assert_null(seam_torch_segment_alloc(0, 0, NULL));
	cr_assert_null(seam_torch_segment_alloc(MIB(2), -1, NULL));
	assert_told("no such ordinal");
	seam_torch_segment_free(&(int){0}, 4, 0, NULL);
	cr_assert_eq(seam_torch_unknown_frees(), 1);
	cr_assert_not_null(seam_torch_segment_alloc(MIB(2), 0, NULL));
	seam__driver_fail_at(door(0)->driver, 1, 1u << SEAM_DRV_EVENT, SEAM_CU_UNKNOWN);
	uint64_t live = figures(0).live_blocks;
	cr_assert_null(seam_torch_segment_alloc(MIB(2), 0, NULL), "a device that cannot be waited for");
	cr_assert_eq(figures(0).live_blocks, live);
}

Test(torch_segments, a_contiguous_segment_is_one_chunk)
{
	set_conf(DEVICE);
	struct seam_block_chunk chunks[2];
	size_t count = 0;
	void *stitchable = seam_torch_segment_alloc(MIB(20), 0, NULL),
	     *one = seam_torch_segment_alloc_contiguous(MIB(20), 0, NULL);
	cr_assert_ok(seam_block_chunks(door(0), stitchable, chunks, 2, &count));
	cr_assert_gt(count, 1);
	cr_assert_ok(seam_block_chunks(door(0), one, chunks, 2, &count));
	cr_assert_eq(count, 1);
	cr_assert_eq(chunks[0].used_bytes, MIB(20));
	seam_torch_segment_free(one, MIB(20), 0, NULL);
	seam_torch_segment_free(stitchable, MIB(20), 0, NULL);
	check(0);
}

Test(torch_segments, what_a_capture_used_stays_for_segments)
{
	set_conf(DEVICE);
	void *stream = make_stream(0);
	(void)seam_torch_segment_alloc(MIB(2), 0, stream);
	begin_capture(0, stream);
	void *in_graph = seam_torch_segment_alloc(MIB(20), 0, stream);
	cr_assert_not_null(in_graph, "%s", (seam_torch_error(told, sizeof told), told));
	end_capture(0, stream);
	seam_torch_segment_free(in_graph, MIB(20), 0, stream);
	seam_torch_reset();
	cr_assert_neq(seam_torch_alloc(MIB(20), 0, stream), in_graph, "I12: not for eager memory");
	cr_assert_eq(seam_torch_segment_alloc(MIB(20), 0, stream), in_graph);
	check(0);
}

Test(torch_segments, a_segment_in_a_capture_is_not_memory_with_work_pending)
{
	set_conf(DEVICE);
	void *stream = make_stream(0), *eager = seam_torch_alloc(MIB(20), 0, stream);
	(void)seam_torch_segment_alloc(MIB(2), 0, stream);
	launch(0, stream, eager, MIB(20), LONG_NS);
	seam_torch_free(eager, MIB(20), 0, stream);
	begin_capture(0, stream);
	void *in_graph = seam_torch_segment_alloc(MIB(20), 0, stream);
	end_capture(0, stream);
	launch(0, make_stream(0), in_graph, MIB(20), LONG_NS); /* a replay on another stream */
	check(0);
}

/* A capture's segment is handed out without waiting: the free has waited, also for streams that it was not told of. */
Test(torch_segments, a_freed_segment_has_no_work_pending_for_a_capture)
{
	set_conf(DEVICE);
	void *stream = make_stream(0), *other = make_stream(0);
	void *segment = seam_torch_segment_alloc(MIB(20), 0, stream);
	launch(0, other, segment, MIB(20), LONG_NS);
	seam_torch_segment_free(segment, MIB(20), 0, stream);
	begin_capture(0, stream);
	void *in_graph = seam_torch_segment_alloc(MIB(20), 0, stream);
	end_capture(0, stream);
	cr_assert_eq(in_graph, segment, "the capture has the memory that was freed");
	launch(0, make_stream(0), in_graph, MIB(20), LONG_NS); /* a replay, beside what is pending */
	check(0);
}
