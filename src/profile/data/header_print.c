/* SPDX-License-Identifier: MIT */
/*
 * The feature sections as lines for people: what `--header` shows, as perf words it.
 */
#include <stdlib.h>
#include <time.h>

#include "print/print.h"
#include "profile/data/describe.h"

static void string_line(struct ap_data *d, enum ap_feature f, const char *label, FILE *out)
{
	const char *text = ap_data_string(d, f);

	if (text)
		ap_print(out, "# %s : %s\n", label, text);
}

static void nrcpus(struct ap_data *d, FILE *out)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_NRCPUS, &size);

	if (p && size >= 8)
		fprintf(out, "# nrcpus online : %u\n# nrcpus avail : %u\n", ap_data_u32(d, p + 4),
			ap_data_u32(d, p));
}

static void total_mem(struct ap_data *d, FILE *out)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_TOTAL_MEM, &size);

	if (p && size >= 8)
		fprintf(out, "# total memory : %llu kB\n", (unsigned long long)ap_data_u64(d, p));
}

/* A counted string of a list; NULL: damaged. */
static const char *next_text(struct ap_data *d, const u8 **p, const u8 *end)
{
	const char *s;
	u32 n;

	if (end - *p < 4)
		return NULL;
	n = ap_data_u32(d, *p);
	if (!n || n > (u64)(end - *p - 4) || !memchr(*p + 4, 0, n))
		return NULL;
	s = (const char *)*p + 4;
	*p += 4 + n;
	return s;
}

static void cmdline(struct ap_data *d, FILE *out)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_CMDLINE, &size), *end;
	const char *word;
	u32 i, n;

	if (!p || size < 4)
		return;
	end = p + size;
	n = ap_data_u32(d, p);
	p += 4;
	fputs("# cmdline : ", out);
	for (i = 0; i < n && (word = next_text(d, &p, end)); i++) {
		/* perf's way with quotes */
		for (size_t k; *word; word += k) {
			k = strcspn(word, "'");
			ap_print_bytes(out, word, k);
			if (word[k]) {
				fputs("\\'", out);
				k++;
			}
		}
		fputc(' ', out);
	}
	fputc('\n', out);
}

static void events(struct ap_data *d, FILE *out)
{
	struct ap_data_event *ev;
	u32 i, k;

	for (i = 0; i < ap_data_nevents(d); i++) {
		ev = ap_data_event(d, i);
		ap_print(out, "# event : name = %s, ", ev->name);
		if (ev->nids) {
			fputs(", id = {", out);
			for (k = 0; k < ev->nids; k++)
				ap_print(out, "%s %llu", k ? "," : "",
					 (unsigned long long)ev->ids[k]);
			fputs(" }", out);
		}
		ap_attr_print(&ev->attr, " = ", out);
		fputc('\n', out);
	}
}

static void pmus(struct ap_data *d, FILE *out)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_PMU_MAPPINGS, &size), *end;
	const char *name;
	u32 i, n, type;

	if (!p || size < 4)
		return;
	end = p + size;
	n = ap_data_u32(d, p);
	p += 4;
	if (!n)
		return;
	fputs("# pmu mappings: ", out);
	for (i = 0; i < n && end - p >= 4; i++) {
		type = ap_data_u32(d, p);
		p += 4;
		name = next_text(d, &p, end);
		if (!name)
			break;
		ap_print(out, "%s%s = %u", i ? ", " : "", name, type);
	}
	fputc('\n', out);
}

static void sample_time(struct ap_data *d, FILE *out)
{
	u64 size, first, last;
	const u8 *p = ap_data_feature(d, AP_FEAT_SAMPLE_TIME, &size);

	if (!p || size < 16)
		return;
	first = ap_data_u64(d, p);
	last = ap_data_u64(d, p + 8);
	fprintf(out, "# time of first sample : %llu.%06llu\n",
		(unsigned long long)(first / 1000000000),
		(unsigned long long)(first % 1000000000 / 1000));
	fprintf(out, "# time of last sample : %llu.%06llu\n",
		(unsigned long long)(last / 1000000000),
		(unsigned long long)(last % 1000000000 / 1000));
	fprintf(out, "# sample duration : %10.3f ms\n", (double)(last - first) / 1e6);
}

static void dir_format(struct ap_data *d, FILE *out)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_DIR_FORMAT, &size);

	if (p && size >= 8)
		fprintf(out, "# directory data version : %llu\n",
			(unsigned long long)ap_data_u64(d, p));
}

static const char *const feature_names[AP_FEAT_MAX] = {
	[AP_FEAT_TRACING_DATA] = "TRACING_DATA",
	[AP_FEAT_BUILD_ID] = "BUILD_ID",
	[AP_FEAT_HOSTNAME] = "HOSTNAME",
	[AP_FEAT_OSRELEASE] = "OSRELEASE",
	[AP_FEAT_VERSION] = "VERSION",
	[AP_FEAT_ARCH] = "ARCH",
	[AP_FEAT_NRCPUS] = "NRCPUS",
	[AP_FEAT_CPUDESC] = "CPUDESC",
	[AP_FEAT_CPUID] = "CPUID",
	[AP_FEAT_TOTAL_MEM] = "TOTAL_MEM",
	[AP_FEAT_CMDLINE] = "CMDLINE",
	[AP_FEAT_EVENT_DESC] = "EVENT_DESC",
	[AP_FEAT_CPU_TOPOLOGY] = "CPU_TOPOLOGY",
	[AP_FEAT_NUMA_TOPOLOGY] = "NUMA_TOPOLOGY",
	[AP_FEAT_BRANCH_STACK] = "BRANCH_STACK",
	[AP_FEAT_PMU_MAPPINGS] = "PMU_MAPPINGS",
	[AP_FEAT_GROUP_DESC] = "GROUP_DESC",
	[AP_FEAT_AUXTRACE] = "AUXTRACE",
	[AP_FEAT_STAT] = "STAT",
	[AP_FEAT_CACHE] = "CACHE",
	[AP_FEAT_SAMPLE_TIME] = "SAMPLE_TIME",
	[AP_FEAT_MEM_TOPOLOGY] = "MEM_TOPOLOGY",
	[AP_FEAT_CLOCKID] = "CLOCKID",
	[AP_FEAT_DIR_FORMAT] = "DIR_FORMAT",
	[AP_FEAT_BPF_PROG_INFO] = "BPF_PROG_INFO",
	[AP_FEAT_BPF_BTF] = "BPF_BTF",
	[AP_FEAT_COMPRESSED] = "COMPRESSED",
	[AP_FEAT_CPU_PMU_CAPS] = "CPU_PMU_CAPS",
	[AP_FEAT_CLOCK_DATA] = "CLOCK_DATA",
	[AP_FEAT_HYBRID_TOPOLOGY] = "HYBRID_TOPOLOGY",
	[AP_FEAT_PMU_CAPS] = "PMU_CAPS",
};

/* The ones that are long: said to be there. */
static void mention(struct ap_data *d, enum ap_feature f, FILE *out)
{
	if (ap_data_has(d, f))
		ap_print(out, "# %s info available, use -I to display\n", feature_names[f]);
}

static void compression(struct ap_data *d, FILE *out)
{
	u64 size;
	const u8 *p = ap_data_feature(d, AP_FEAT_COMPRESSED, &size);

	if (p && size >= 20)
		ap_print(out, "# compressed : %s, level = %u, ratio = %u\n",
			 ap_data_u32(d, p + 4) == 1 ? "Zstd" : "Unknown", ap_data_u32(d, p + 8),
			 ap_data_u32(d, p + 12));
}

/* One moment by two clocks, so that times of samples can be told as times of day. */
static void clock_data(struct ap_data *d, FILE *out)
{
	static const char *const names[] = { [0] = "realtime",
					     [1] = "monotonic",
					     [4] = "monotonic-raw",
					     [7] = "boottime",
					     [11] = "tai" };
	u64 size, day, clock;
	const u8 *p = ap_data_feature(d, AP_FEAT_CLOCK_DATA, &size);
	const char *name;
	char text[64] = "";
	struct tm tm;
	time_t s;
	u32 id;

	if (!p || size < 24)
		return;
	id = ap_data_u32(d, p + 4);
	day = ap_data_u64(d, p + 8);
	clock = ap_data_u64(d, p + 16);
	name = id < AP_ARRAY_SIZE(names) && names[id] ? names[id] : "unknown";
	s = (time_t)(day / 1000000000);
	if (localtime_r(&s, &tm))
		strftime(text, sizeof(text), "%F %T", &tm);
	ap_print(out, "# clockid: %s (%u)\n", name, id);
	ap_print(out, "# reference time: %s.%06llu = %llu.%06llu (TOD) = %llu.%09llu (%s)\n", text,
		 (unsigned long long)(day % 1000000000 / 1000),
		 (unsigned long long)(day / 1000000000),
		 (unsigned long long)(day % 1000000000 / 1000),
		 (unsigned long long)(clock / 1000000000), (unsigned long long)(clock % 1000000000),
		 name);
}

static void groups(struct ap_data *d, FILE *out)
{
	u32 i, k;

	for (i = 0; i < ap_data_nevents(d); i++) {
		const struct ap_data_event *ev = ap_data_event(d, i);

		if (ev->group_size < 2)
			continue;
		ap_print(out, "# group: %s{", ev->group ? ev->group : "");
		for (k = 0; k < ev->group_size; k++)
			ap_print(out, "%s%s", k ? "," : "", ap_data_event(d, i + k)->name);
		fputs("}\n", out);
	}
}

static void features(struct ap_data *d, FILE *out)
{
	const u8 *p;
	u64 size;

	string_line(d, AP_FEAT_HOSTNAME, "hostname", out);
	string_line(d, AP_FEAT_OSRELEASE, "os release", out);
	string_line(d, AP_FEAT_VERSION, "perf version", out);
	string_line(d, AP_FEAT_ARCH, "arch", out);
	nrcpus(d, out);
	string_line(d, AP_FEAT_CPUDESC, "cpudesc", out);
	string_line(d, AP_FEAT_CPUID, "cpuid", out);
	total_mem(d, out);
	cmdline(d, out);
	if (ap_data_has(d, AP_FEAT_EVENT_DESC))
		events(d, out);
	mention(d, AP_FEAT_CPU_TOPOLOGY, out);
	mention(d, AP_FEAT_NUMA_TOPOLOGY, out);
	if (ap_data_has(d, AP_FEAT_BRANCH_STACK))
		fputs("# contains samples with branch stack\n", out);
	pmus(d, out);
	groups(d, out);
	mention(d, AP_FEAT_CACHE, out);
	sample_time(d, out);
	mention(d, AP_FEAT_MEM_TOPOLOGY, out);
	p = ap_data_feature(d, AP_FEAT_CLOCKID, &size);
	if (p && size >= 8)
		fprintf(out, "# clockid frequency: %llu MHz\n",
			(unsigned long long)(ap_data_u64(d, p) * 1000));
	dir_format(d, out);
	compression(d, out);
	clock_data(d, out);
}

void ap_data_print_header(struct ap_data *d, FILE *out)
{
	const struct ap_data_header *h = ap_data_header(d);
	time_t when = (time_t)ap_data_mtime(d);
	char text[32];
	int f;

	if (ap_data_is_pipe(d)) {
		features(d, out);
		return;
	}
	fputs("# ========\n", out);
	if (ctime_r(&when, text))
		ap_print(out, "# captured on    : %.24s\n", text); /* without its own line end */
	fputs("# header version : 1\n", out);
	fprintf(out, "# data offset    : %llu\n# data size      : %llu\n# feat offset    : %llu\n",
		(unsigned long long)h->data.offset, (unsigned long long)h->data.size,
		(unsigned long long)(h->data.offset + h->data.size));
	features(d, out);
	fputs("# missing features: ", out);
	for (f = AP_FEAT_TRACING_DATA; f < AP_FEAT_MAX; f++) {
		if (!ap_data_has(d, f))
			ap_print(out, "%s ", feature_names[f]);
	}
	fputs("\n# ========\n#\n", out);
}
