/* SPDX-License-Identifier: MIT */
/*
 * What the feature sections say that others need: strings, event names, build-ids; and the
 * records that stand for sections in a stream.
 */
#include <stdlib.h>

#include "profile/data/internal.h"

#define BUILD_ID_RECORD 36U /* header, pid, 24 bytes of id; a name follows */

u32 ap_data_u32(const struct ap_data *d, const u8 *p)
{
	return d->s.swapped ? __builtin_bswap32(ap_get32(p)) : ap_get32(p);
}

u64 ap_data_u64(const struct ap_data *d, const u8 *p)
{
	return d->s.swapped ? __builtin_bswap64(ap_get64(p)) : ap_get64(p);
}

/* A counted string at *p; moves *p past it.  NULL: it is not whole or does not end. */
static const char *text(const struct ap_data *d, const u8 **p, const u8 *end)
{
	const char *s;
	u32 n;

	if (end - *p < 4)
		return NULL;
	n = ap_data_u32(d, *p);
	*p += 4;
	if (n > (u64)(end - *p) || !n || !memchr(*p, 0, n))
		return NULL;
	s = (const char *)*p;
	*p += n;
	return s;
}

const char *ap_data_string(struct ap_data *d, enum ap_feature feature)
{
	u64 size;
	const u8 *p = ap_data_feature(d, feature, &size);

	return p ? text(d, &p, p + size) : NULL;
}

static void set_name(struct ap_data_event *ev, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return;
	free(ev->name);
	ev->name = copy;
	ev->named = true;
}

void ap_data_name_events(struct ap_data *d)
{
	u64 size, nids, i;
	const u8 *p = ap_data_feature(d, AP_FEAT_EVENT_DESC, &size), *end;
	u32 n, attr_size, k;

	if (!p || size < 8)
		return;
	end = p + size;
	n = ap_data_u32(d, p);
	attr_size = ap_data_u32(d, p + 4);
	p += 8;
	for (k = 0; k < n && attr_size <= (u64)(end - p) && (u64)(end - p) - attr_size >= 4; k++) {
		const char *name;

		p += attr_size;
		nids = ap_data_u32(d, p);
		p += 4;
		name = text(d, &p, end);
		if (!name || nids > (u64)(end - p) / 8)
			return;
		for (i = 0; i < nids; i++, p += 8)
			;
		if (k < d->nev)
			set_name(d->ev[k], name);
	}
}

/* Leaders and how many follow them; a list that does not fit the events is passed over. */
void ap_data_group_events(struct ap_data *d)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_GROUP_DESC, &size), *end;
	u32 i, n, leader, members;
	const char *name;

	if (!p || size < 4)
		return;
	end = p + size;
	n = ap_data_u32(d, p);
	p += 4;
	for (i = 0; i < n; i++) {
		name = text(d, &p, end);
		if (!name || end - p < 8)
			return;
		leader = ap_data_u32(d, p);
		members = ap_data_u32(d, p + 4);
		p += 8;
		if (leader >= d->nev || !members || members > d->nev - leader)
			return;
		d->ev[leader]->group_size = members;
		d->ev[leader]->group = strcmp(name, "{anon_group}") ? name : NULL;
	}
}

bool ap_data_has_groups(const struct ap_data *d)
{
	u32 i;

	for (i = 0; i < d->nev; i++) {
		if (d->ev[i]->group_size > 1)
			return true;
	}
	return false;
}

void ap_data_update_event(struct ap_data *d, const u8 *bytes)
{
	u32 size = ap_get16(bytes + 6), i, k;
	const char *name = (const char *)bytes + 24;
	u64 type, id, scale;

	if (size < 25)
		return;
	type = ap_get64(bytes + 8);
	id = ap_get64(bytes + 16);
	if (type != 1 && !memchr(name, 0, size - 24))
		return;
	for (i = 0; i < d->nev; i++) {
		for (k = 0; k < d->ev[i]->nids && d->ev[i]->ids[k] != id; k++)
			;
		if (k == d->ev[i]->nids)
			continue;
		if (type == 2) { /* its name */
			set_name(d->ev[i], name);
		} else if (type == 0) {
			free(d->ev[i]->unit);
			d->ev[i]->unit = strdup(name);
		} else if (type == 1 && size >= 32) {
			scale = ap_data_u64(d, bytes + 24);
			memcpy(&d->ev[i]->scale, &scale, sizeof(scale));
		}
	}
}

static bool attr_record(struct ap_data *d, const u8 *bytes, u32 size)
{
	u32 attr;

	if (!d->pipe)
		return true;
	if (size < AP_RECORD_HEADER + AP_PERF_ATTR_SIZE_VER0)
		return false;
	attr = ap_get32(bytes + AP_RECORD_HEADER + 4);
	if (!attr)
		attr = AP_PERF_ATTR_SIZE_VER0;
	if (attr < AP_PERF_ATTR_SIZE_VER0 || attr > size - AP_RECORD_HEADER)
		return false;
	return ap_data_add_event(d, bytes + AP_RECORD_HEADER, attr, bytes + AP_RECORD_HEADER + attr,
				 (size - AP_RECORD_HEADER - attr) / 8);
}

static bool feature_record(struct ap_data *d, const u8 *bytes, u32 size)
{
	struct ap_feature_data *f;
	u64 id;

	if (size < 16)
		return false;
	id = ap_get64(bytes + 8);
	if (!d->pipe || id >= AP_ARRAY_SIZE(d->feature))
		return true;
	f = &d->feature[id];
	if (f->present)
		return true;
	f->bytes = malloc(size - 16 + 1);
	if (!f->bytes)
		return false;
	memcpy(f->bytes, bytes + 16, size - 16);
	f->bytes[size - 16] = 0;
	f->size = size - 16;
	f->present = true;
	d->h.features[id / 64] |= 1ULL << id % 64;
	if (id == AP_FEAT_EVENT_DESC)
		ap_data_name_events(d);
	if (id == AP_FEAT_GROUP_DESC)
		ap_data_group_events(d);
	return true;
}

/* What the reader itself takes from the tools' records; false: damaged. */
bool ap_data_pipe_record(struct ap_data *d, const u8 *bytes)
{
	u32 size = ap_get16(bytes + 6);

	switch (ap_get32(bytes)) {
	case AP_RECORD_HEADER_ATTR:
		return attr_record(d, bytes, size);
	case AP_RECORD_HEADER_FEATURE:
		return feature_record(d, bytes, size);
	case AP_RECORD_EVENT_UPDATE:
		ap_data_update_event(d, bytes);
		return true;
	default:
		return true;
	}
}

void ap_data_build_ids(struct ap_data *d, ap_build_id_fn *fn, void *arg)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_BUILD_ID, &size);
	u32 len, id;
	u16 misc;

	for (; p && size >= BUILD_ID_RECORD; p += len, size -= len) {
		misc = ap_get16(p + 4);
		len = ap_get16(p + 6);
		if (d->s.swapped) {
			misc = __builtin_bswap16(misc);
			len = __builtin_bswap16((u16)len);
		}
		if (len <= BUILD_ID_RECORD || len > size ||
		    !memchr(p + BUILD_ID_RECORD, 0, len - BUILD_ID_RECORD))
			return;
		id = misc & AP_MISC_BUILD_ID_SIZE ? p[12 + 20] : 20;
		fn(arg, ap_data_u32(d, p + 8), misc, p + 12, id > 20 ? 20 : id,
		   (const char *)p + BUILD_ID_RECORD);
	}
}
