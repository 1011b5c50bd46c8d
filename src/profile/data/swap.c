/* SPDX-License-Identifier: MIT */
/*
 * Records of a machine with the other byte order.  Nearly all of a record is words of 64 bits, so
 * all of it is swapped as such, and then what is not gets mended: pairs of 32-bit fields exchange
 * places, text and raw bytes are swapped back.
 */
#include "profile/data/internal.h"

static void swap64(u8 *p)
{
	u64 v = __builtin_bswap64(ap_get64(p));

	memcpy(p, &v, 8);
}

static void swap32(u8 *p)
{
	u32 v = __builtin_bswap32(ap_get32(p));

	memcpy(p, &v, 4);
}

static void swap16(u8 *p)
{
	u16 v = __builtin_bswap16(ap_get16(p));

	memcpy(p, &v, 2);
}

static void swap_words(u8 *p, const u8 *end)
{
	for (; p + 8 <= end; p += 8)
		swap64(p);
}

/* Two 32-bit fields that were swapped as one word. */
static void mend_pair(u8 *p)
{
	u64 v = ap_get64(p);

	v = v << 32 | v >> 32;
	memcpy(p, &v, 8);
}

/* A sample's fields that are not words, front to back as they follow each other. */
static void mend_sample(const struct ap_data_event *ev, u8 *p, u8 *end)
{
	u64 type = ev->attr.sample_type, n;
	u64 words, i;

	p += AP_RECORD_HEADER;
	if (type & AP_PERF_SAMPLE_IDENTIFIER)
		p += 8;
	if (type & AP_PERF_SAMPLE_IP)
		p += 8;
	if ((type & AP_PERF_SAMPLE_TID) && p + 8 <= end) {
		mend_pair(p);
		p += 8;
	}
	p += 8 * (!!(type & AP_PERF_SAMPLE_TIME) + !!(type & AP_PERF_SAMPLE_ADDR) +
		  !!(type & AP_PERF_SAMPLE_ID) + !!(type & AP_PERF_SAMPLE_STREAM_ID));
	if ((type & AP_PERF_SAMPLE_CPU) && p + 8 <= end) {
		mend_pair(p);
		p += 8;
	}
	if (type & AP_PERF_SAMPLE_PERIOD)
		p += 8;
	if (type & AP_PERF_SAMPLE_READ) {
		u64 f = ev->attr.read_format;
		bool group = f & AP_PERF_FORMAT_GROUP;

		if (p + 8 > end)
			return;
		n = group ? ap_get64(p) : 1;
		words = 1 + !!(f & AP_PERF_FORMAT_ID) + !!(f & AP_PERF_FORMAT_LOST);
		if (n > (u64)(end - p) / 8)
			return;
		p += 8 * (n * words + group + !!(f & AP_PERF_FORMAT_TOTAL_TIME_ENABLED) +
			  !!(f & AP_PERF_FORMAT_TOTAL_TIME_RUNNING));
	}
	if (type & AP_PERF_SAMPLE_CALLCHAIN) {
		if (p + 8 > end || ap_get64(p) > (u64)(end - p) / 8)
			return;
		p += 8 + 8 * ap_get64(p);
	}
	if ((type & AP_PERF_SAMPLE_RAW) && p + 8 <= end) {
		mend_pair(p);
		n = ap_get32(p);
		if (n > (u64)(end - p) - 4 || (n + 4) % 8)
			return;
		swap32(p + 4); /* the first four bytes of the data, as they were */
		for (i = 8; i + 8 <= n + 4; i += 8)
			swap64(p + i);
	}
}

/* A name that begins in the middle of a record: its bytes as they were. */
static void mend_text(u8 *bytes, u32 size, u32 off, const struct ap_data_event *ev)
{
	u32 tail = 0;

	if (ev && (ev->attr.flags & AP_PERF_SAMPLE_ID_ALL)) {
		u64 t = ev->attr.sample_type;

		tail = 8U * (!!(t & AP_PERF_SAMPLE_TID) + !!(t & AP_PERF_SAMPLE_TIME) +
			     !!(t & AP_PERF_SAMPLE_ID) + !!(t & AP_PERF_SAMPLE_STREAM_ID) +
			     !!(t & AP_PERF_SAMPLE_CPU) + !!(t & AP_PERF_SAMPLE_IDENTIFIER));
	}
	if (off + tail <= size)
		swap_words(bytes + off, bytes + size - tail);
}

static void mend_trailer(u8 *bytes, u32 size, const struct ap_data_event *ev)
{
	u64 t = ev->attr.sample_type;
	u8 *p = bytes + size;

	if (!(ev->attr.flags & AP_PERF_SAMPLE_ID_ALL))
		return;
	if (t & AP_PERF_SAMPLE_IDENTIFIER)
		p -= 8;
	if (t & AP_PERF_SAMPLE_CPU) {
		p -= 8;
		if (p >= bytes + 8)
			mend_pair(p);
	}
	p -= 8U * (!!(t & AP_PERF_SAMPLE_STREAM_ID) + !!(t & AP_PERF_SAMPLE_ID) +
		   !!(t & AP_PERF_SAMPLE_TIME));
	if (t & AP_PERF_SAMPLE_TID) {
		p -= 8;
		if (p >= bytes + 8)
			mend_pair(p);
	}
}

static void mend_pairs(u8 *bytes, u32 size, u32 from, u32 to)
{
	for (; from < to && from + 8 <= size; from += 8)
		mend_pair(bytes + from);
}

static void mend_mmap2(u8 *bytes, u32 size, u16 misc)
{
	mend_pairs(bytes, size, 8, 16); /* pid, tid */
	if (misc & AP_PERF_RECORD_MISC_MMAP_BUILD_ID) {
		mend_text(bytes, size < 64 ? size : 64, 40, NULL);
		mend_pairs(bytes, size, 64, 72); /* prot, flags */
		return;
	}
	mend_pairs(bytes, size, 40, 48); /* maj, min */
	mend_pairs(bytes, size, 64, 72);
}

static void mend_kernel(struct ap_perf_event_header h, u8 *bytes, const struct ap_data_event *ev)
{
	switch (h.type) {
	case AP_PERF_RECORD_MMAP:
		mend_pairs(bytes, h.size, 8, 16);
		mend_text(bytes, h.size, 40, ev);
		break;
	case AP_PERF_RECORD_MMAP2:
		mend_mmap2(bytes, h.size, h.misc);
		mend_text(bytes, h.size, 72, ev);
		break;
	case AP_PERF_RECORD_COMM:
		mend_pairs(bytes, h.size, 8, 16);
		mend_text(bytes, h.size, 16, ev);
		break;
	case AP_PERF_RECORD_FORK:
	case AP_PERF_RECORD_EXIT:
		mend_pairs(bytes, h.size, 8, 24);
		break;
	case AP_PERF_RECORD_READ:
	case AP_PERF_RECORD_ITRACE_START:
	case AP_PERF_RECORD_SWITCH_CPU_WIDE:
	case AP_PERF_RECORD_NAMESPACES:
		mend_pairs(bytes, h.size, 8, 16);
		break;
	case AP_PERF_RECORD_KSYMBOL:
		mend_pairs(bytes, h.size, 16, 24);
		mend_text(bytes, h.size, 24, ev);
		break;
	case AP_PERF_RECORD_CGROUP:
		mend_text(bytes, h.size, 16, ev);
		break;
	default:
		break;
	}
	if (ev)
		mend_trailer(bytes, h.size, ev);
}

/* The tools' records that this reader looks into. */
static void swap_tool(struct ap_perf_event_header h, u8 *bytes)
{
	u32 i;

	switch (h.type) {
	case AP_RECORD_HEADER_ATTR:
		if (h.size >= AP_RECORD_HEADER + AP_PERF_ATTR_SIZE_VER0) {
			u32 size = __builtin_bswap32(ap_get32(bytes + 12));

			if (size < AP_PERF_ATTR_SIZE_VER0 || size > h.size - AP_RECORD_HEADER)
				size = AP_PERF_ATTR_SIZE_VER0;
			ap_swap_attr(bytes + AP_RECORD_HEADER, size);
			swap_words(bytes + AP_RECORD_HEADER + size, bytes + h.size);
		}
		break;
	case AP_RECORD_BUILD_ID:
		if (h.size >= 12)
			swap32(bytes + 8);
		break;
	case AP_RECORD_HEADER_FEATURE:
		if (h.size >= 16)
			swap64(bytes + 8);
		break;
	case AP_RECORD_EVENT_UPDATE:
		for (i = 8; i + 8 <= h.size && i < 24; i += 8)
			swap64(bytes + i);
		break;
	case AP_RECORD_ID_INDEX:
	case AP_RECORD_TIME_CONV:
	case AP_RECORD_STAT_CONFIG:
	case AP_RECORD_STAT_ROUND:
		swap_words(bytes + AP_RECORD_HEADER, bytes + h.size);
		break;
	case AP_RECORD_STAT:
		swap_words(bytes + AP_RECORD_HEADER, bytes + h.size);
		mend_pairs(bytes, h.size, 16, 24); /* cpu, thread */
		break;
	case AP_RECORD_THREAD_MAP: /* their number, then a tid and a name each */
		if (h.size >= 16)
			swap64(bytes + 8);
		for (i = 16; i + 8 <= h.size; i += 24)
			swap64(bytes + i);
		break;
	default:
		break;
	}
}

void ap_swap_record(const struct ap_data *d, u8 *bytes, u32 size)
{
	const struct ap_data_event *ev;
	struct ap_perf_event_header h;

	swap32(bytes);
	swap16(bytes + 4);
	swap16(bytes + 6);
	h = (struct ap_perf_event_header){ ap_get32(bytes), ap_get16(bytes + 4), (u16)size };
	if (h.type >= AP_RECORD_HEADER_ATTR) {
		swap_tool(h, bytes);
		return;
	}
	swap_words(bytes + AP_RECORD_HEADER, bytes + size);
	ev = ap_data_event_of(d, bytes);
	if (h.type != AP_PERF_RECORD_SAMPLE)
		mend_kernel(h, bytes, ev);
	else if (ev)
		mend_sample(ev, bytes, bytes + size);
}

/* Bit fields fill a byte from the other end there. */
static u8 reverse_bits(u8 v)
{
	v = (u8)(v << 4 | v >> 4);
	v = (u8)((v & 0x33) << 2 | (v >> 2 & 0x33));
	return (u8)((v & 0x55) << 1 | (v >> 1 & 0x55));
}

void ap_swap_attr(u8 *p, u32 size)
{
	static const u8 wide[] = { 8, 16, 24, 32, 56, 64, 72, 80, 96, 120, 128 };
	static const u8 narrow[] = { 0, 4, 48, 52, 88, 92, 104, 112, 116 };
	u32 i;

	for (i = 0; i < AP_ARRAY_SIZE(wide); i++) {
		if (wide[i] + 8U <= size)
			swap64(p + wide[i]);
	}
	for (i = 0; i < AP_ARRAY_SIZE(narrow); i++) {
		if (narrow[i] + 4U <= size)
			swap32(p + narrow[i]);
	}
	if (size >= 110)
		swap16(p + 108); /* sample_max_stack */
	for (i = 40; i < 48 && i < size; i++)
		p[i] = reverse_bits(p[i]);
}
