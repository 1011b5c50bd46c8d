/* SPDX-License-Identifier: MIT */
/*
 * Side-band records: what the kernel's perf_event_mmap(), _comm(), _task() and so on write, with the
 * trailer of sample_id_all.
 */
#include "sampling/record.h"

#include "abi/errno.h"
#include "base/mem.h"

/* 0 or one word each, in this order. */
u32 ap_record_trailer(const struct ap_record_format *f, const struct ap_record_origin *origin,
		      u64 out[AP_RECORD_TRAILER_MAX / 8])
{
	u32 pair[2] = { origin->pid, origin->tid };
	u32 n = 0;

	if (!(f->flags & AP_PERF_SAMPLE_ID_ALL))
		return 0;
	if (f->sample_type & AP_PERF_SAMPLE_TID)
		memcpy(&out[n++], pair, 8);
	if (f->sample_type & AP_PERF_SAMPLE_TIME)
		out[n++] = origin->time;
	if (f->sample_type & AP_PERF_SAMPLE_ID)
		out[n++] = f->id;
	if (f->sample_type & AP_PERF_SAMPLE_STREAM_ID)
		out[n++] = f->stream_id;
	if (f->sample_type & AP_PERF_SAMPLE_CPU) {
		pair[0] = origin->cpu;
		pair[1] = 0;
		memcpy(&out[n++], pair, 8);
	}
	if (f->sample_type & AP_PERF_SAMPLE_IDENTIFIER)
		out[n++] = f->id;
	return n * 8;
}

void ap_record_owner_of(const struct ap_record_format *f, const struct ap_record_origin *origin,
			u64 trailer[AP_RECORD_TRAILER_MAX / 8], struct ap_ring_owner *out)
{
	*out = (struct ap_ring_owner){ .id = f->id, .trailer = trailer };
	out->trailer_size = ap_record_trailer(f, origin, trailer);
	if (out->trailer_size && origin->now && f->sample_type & AP_PERF_SAMPLE_TIME)
		out->time_at = 1 + (f->sample_type & AP_PERF_SAMPLE_TID ? 8 : 0);
}

void ap_record_format_of(const struct ap_sampler *s, struct ap_record_format *out)
{
	*out = (struct ap_record_format){
		.sample_type = s->sample_type,
		.read_format = s->read_format,
		.flags = s->flags,
		.branch_sample_type = s->branch_sample_type,
		.regs_user = s->regs_user,
		.regs_intr = s->regs_intr,
		.stack_user = s->stack_user,
		.wakeup_events = s->flags & AP_PERF_WATERMARK ? 0 : s->wakeup_events,
		.id = s->id,
		.stream_id = s->stream_id,
	};
}

/* More is cut: names are far shorter, and a record that cannot be is worse than a short one. */
static u32 fit(u32 more, u32 others)
{
	u32 most = AP_PERF_RECORD_SIZE_MAX - others;

	return more < most ? more : most;
}

int ap_record_write(const struct ap_record_to *to, u32 type, u16 misc, const void *fixed,
		    u32 fixed_size, const void *more, u32 more_size)
{
	u64 trailer[AP_RECORD_TRAILER_MAX / 8];
	struct ap_ring_owner owner;
	struct ap_perf_event_header header = { .type = type, .misc = misc };
	u32 padded, body;
	struct ap_ring_out out;
	int r;

	ap_record_owner_of(to->format, to->origin, trailer, &owner);
	more_size = fit(more_size, sizeof(header) + fixed_size + owner.trailer_size);
	body = fixed_size + more_size;
	padded = (body + 7) & ~7U;
	header.size = (u16)(sizeof(header) + padded + owner.trailer_size);
	r = ap_ring_begin(&out, to->map, to->writer, &owner, header.size);
	if (r)
		return r;
	ap_ring_put(&out, &header, sizeof(header));
	ap_ring_put(&out, fixed, fixed_size);
	ap_ring_put(&out, more, more_size);
	ap_ring_zero(&out, padded - body);
	if (owner.time_at)
		ap_ring_time_ahead(&out, owner.time_at - 1);
	ap_ring_put(&out, trailer, owner.trailer_size);
	if (to->origin->now)
		ap_ring_stamp(&out, to->origin->now, to->origin->now_arg);
	if (ap_ring_end(&out))
		*to->wakes = true;
	return 0;
}

#define NAME_MAX_BYTES 4096U

/* With the NUL at its end: what is fixed is of whole words, so that a cut name is padded with one. */
static int write_named(const struct ap_record_to *to, u32 type, u16 misc, const void *fixed,
		       u32 fixed_size, const char *name)
{
	u32 n = (u32)strnlen(name, NAME_MAX_BYTES);

	return ap_record_write(to, type, misc, fixed, fixed_size, name,
			       n < NAME_MAX_BYTES ? n + 1 : NAME_MAX_BYTES - 1);
}

#define PROT_EXECUTE 4U

int ap_record_mapping(const struct ap_record_to *to, const struct ap_record_mapping *m)
{
	struct ap_perf_record_mmap2 v2 = { .pid = to->origin->pid,
					   .tid = to->origin->tid,
					   .addr = m->addr,
					   .len = m->len,
					   .pgoff = m->pgoff,
					   .prot = m->prot,
					   .flags = m->flags };
	struct ap_perf_record_mmap v1 = { v2.pid, v2.tid, m->addr, m->len, m->pgoff };
	u16 misc = AP_PERF_RECORD_MISC_USER;

	if (!(m->prot & PROT_EXECUTE))
		misc |= AP_PERF_RECORD_MISC_MMAP_DATA;
	if (!(to->format->flags & AP_PERF_MMAP2))
		return write_named(to, AP_PERF_RECORD_MMAP, misc, &v1, sizeof(v1), m->filename);
	if ((to->format->flags & AP_PERF_BUILD_ID) && m->build_id_size) {
		misc |= AP_PERF_RECORD_MISC_MMAP_BUILD_ID;
		v2.build_id_size = m->build_id_size;
		memcpy(v2.build_id, m->build_id, sizeof(v2.build_id));
	} else {
		v2.maj = m->maj;
		v2.min = m->min;
		v2.ino = m->ino;
		v2.ino_generation = m->ino_generation;
	}
	return write_named(to, AP_PERF_RECORD_MMAP2, misc, &v2, sizeof(v2), m->filename);
}

int ap_record_unmapping(const struct ap_record_to *to, const struct ap_record_mapping *m)
{
	struct ap_perf_record_mmap rec = { to->origin->pid, to->origin->tid, m->addr, m->len,
					   m->pgoff };

	return write_named(to, AP_PERF_RECORD_MUNMAP, AP_PERF_RECORD_MISC_USER, &rec, sizeof(rec),
			   m->filename);
}

int ap_record_comm(const struct ap_record_to *to, const char *comm, bool is_exec)
{
	struct ap_perf_record_comm rec = { to->origin->pid, to->origin->tid };

	return write_named(to, AP_PERF_RECORD_COMM, is_exec ? AP_PERF_RECORD_MISC_COMM_EXEC : 0,
			   &rec, sizeof(rec), comm);
}

int ap_record_comm_of(const struct ap_record_to *to, u32 pid, u32 tid, const char *comm)
{
	struct ap_perf_record_comm rec = { pid, tid };

	return write_named(to, AP_PERF_RECORD_COMM, 0, &rec, sizeof(rec), comm);
}

int ap_record_task(const struct ap_record_to *to, u32 type, u32 pid, u32 tid, u32 ppid, u32 ptid)
{
	struct ap_perf_record_task rec = {
		.pid = pid, .ppid = ppid, .tid = tid, .ptid = ptid, .time = to->origin->time
	};

	return ap_record_write(to, type, 0, &rec, sizeof(rec), NULL, 0);
}

int ap_record_throttle(const struct ap_record_to *to, bool is_throttled)
{
	struct ap_perf_record_throttle rec = { to->origin->time, to->format->id,
					       to->format->stream_id };

	return ap_record_write(to,
			       is_throttled ? AP_PERF_RECORD_THROTTLE : AP_PERF_RECORD_UNTHROTTLE,
			       0, &rec, sizeof(rec), NULL, 0);
}

int ap_record_read(const struct ap_record_to *to, const u64 *words, u32 nr)
{
	struct ap_perf_record_read rec = { to->origin->pid, to->origin->tid };

	return ap_record_write(to, AP_PERF_RECORD_READ, 0, &rec, sizeof(rec), words, nr * 8);
}

static u16 switch_misc(bool is_out, bool is_preempted)
{
	return (is_out ? AP_PERF_RECORD_MISC_SWITCH_OUT : 0) |
	       (is_out && is_preempted ? AP_PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : 0);
}

int ap_record_switch(const struct ap_record_to *to, bool is_out, bool is_preempted)
{
	return ap_record_write(to, AP_PERF_RECORD_SWITCH, switch_misc(is_out, is_preempted), NULL,
			       0, NULL, 0);
}

int ap_record_switch_cpu_wide(const struct ap_record_to *to, bool is_out, bool is_preempted,
			      u32 pid, u32 tid)
{
	struct ap_perf_record_switch_cpu_wide rec = { pid, tid };

	return ap_record_write(to, AP_PERF_RECORD_SWITCH_CPU_WIDE,
			       switch_misc(is_out, is_preempted), &rec, sizeof(rec), NULL, 0);
}

int ap_record_namespaces(const struct ap_record_to *to, u32 pid, u32 tid,
			 const struct ap_perf_ns_link *links, u32 nr)
{
	struct ap_perf_record_namespaces rec = { pid, tid, nr };

	return ap_record_write(to, AP_PERF_RECORD_NAMESPACES, 0, &rec, sizeof(rec), links,
			       nr * (u32)sizeof(*links));
}

int ap_record_ksymbol(const struct ap_record_to *to, const struct ap_perf_record_ksymbol *symbol,
		      const char *name)
{
	return write_named(to, AP_PERF_RECORD_KSYMBOL, 0, symbol, sizeof(*symbol), name);
}

int ap_record_bpf_event(const struct ap_record_to *to, const struct ap_perf_record_bpf_event *event)
{
	return ap_record_write(to, AP_PERF_RECORD_BPF_EVENT, 0, event, sizeof(*event), NULL, 0);
}

int ap_record_cgroup(const struct ap_record_to *to, u64 id, const char *path)
{
	struct ap_perf_record_cgroup rec = { id };

	return write_named(to, AP_PERF_RECORD_CGROUP, 0, &rec, sizeof(rec), path);
}

/* addr and the two lengths are 12 bytes, not what C makes of them. */
#define POKE_FIXED 12U

int ap_record_text_poke(const struct ap_record_to *to, u64 addr, const void *old, u16 old_len,
			const void *new, u16 new_len)
{
	u8 body[POKE_FIXED + 512];

	if ((u32)old_len + new_len > sizeof(body) - POKE_FIXED)
		return -AP_E2BIG;
	memcpy(body, &addr, 8);
	memcpy(body + 8, &old_len, 2);
	memcpy(body + 10, &new_len, 2);
	memcpy(body + POKE_FIXED, old, old_len);
	memcpy(body + POKE_FIXED + old_len, new, new_len);
	return ap_record_write(to, AP_PERF_RECORD_TEXT_POKE, 0, body, POKE_FIXED, body + POKE_FIXED,
			       (u32)old_len + new_len);
}

int ap_record_lost_samples(const struct ap_record_to *to, u64 lost)
{
	struct ap_perf_record_lost_samples rec = { lost };

	return ap_record_write(to, AP_PERF_RECORD_LOST_SAMPLES, 0, &rec, sizeof(rec), NULL, 0);
}
