/* SPDX-License-Identifier: MIT */
/* Between hist_rows.c (which lines there are), hist_view.c (what they look like, keys), hist_zoom.c (filters, menu). */
#ifndef AP_TUI_HIST_VIEW_H
#define AP_TUI_HIST_VIEW_H

#include "tui/marks.h"
#include "tui/view.h"

/* A line: an entry, or a frame of the tree under it. */
struct hist_row {
	const struct ap_hist_entry *e;
	const struct ap_chain_node *frame; /* NULL: the entry itself */
	u64 entry, mark;		   /* of the entry; of what the line's sign opens */
	u64 total;			   /* what a percentage is of */
	u32 depth;
	char sign; /* '+' folded, '-' open, ' ' nothing is below */
	bool has_weight;
};

enum zoom_kind { ZOOM_DSO, ZOOM_THREAD, ZOOM_KERNEL, ZOOM_NAME, ZOOM_SOCKET };

struct zoom {
	enum zoom_kind kind;
	const char *dso;  /* interned names */
	const char *comm; /* NULL: by tid */
	u32 tid;
	s32 socket;
	char name[200];
};

#define MAX_ZOOM 16

struct hist_view {
	struct ap_view v;
	struct ap_tui_profile *p;
	u32 event;
	u64 generation; /* of the table that the rows are of */
	struct hist_row *row;
	u32 cap;
	struct ap_marks open; /* or folded, where all is open */
	bool is_all_open, has_no_head, is_stale;
	bool is_relative; /* percents are of what passes */
	u64 whole;	  /* what they are of otherwise, and which entries pass */
	bool is_opening;  /* while hist_open_entry() goes through a tree */
	double limit;	  /* percent; below 0: as the table's options say */
	struct zoom zoom[MAX_ZOOM];
	u32 nzoom;
	u64 shown; /* samples of the entries that pass */
	u32 width[AP_HIST_COLUMNS];
};

/* NULL: the event has no samples now. */
struct ap_hist *hist_of(const struct hist_view *h);
/* Makes the rows; the cursor stays on its line, where that is still there. */
void hist_rows_make(struct hist_view *h);
bool hist_is_open(const struct hist_view *h, u64 mark);
void hist_open(struct hist_view *h, u64 mark, bool on);
/* Opens or folds all below the entry of a line. */
void hist_open_entry(struct hist_view *h, u32 line, bool on);
void hist_open_all(struct hist_view *h, bool on);
const struct hist_row *hist_current(const struct hist_view *h);

/* --- hist_zoom.c */
bool hist_passes(const struct hist_view *h, const struct ap_hist_entry *e);
void hist_zoom_dso(struct hist_view *h);
void hist_zoom_thread(struct hist_view *h);
void hist_zoom_kernel(struct hist_view *h);
void hist_zoom_socket(struct hist_view *h);
void hist_zoom_name(struct hist_view *h, const char *text);
bool hist_zoom_out(struct hist_view *h); /* false: nothing was zoomed */
void hist_describe_zoom(const struct hist_view *h, char *buf, size_t size);
void hist_menu(struct hist_view *h);
void hist_annotate(struct hist_view *h);
bool hist_next_event(struct hist_view *h, int step);

/* --- hist_files.c */
/* Menus: samples as text; other files of this folder. */
void hist_samples(struct hist_view *h);
void hist_other_file(struct hist_view *h);

#endif
