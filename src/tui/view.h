/* SPDX-License-Identifier: MIT */
/*
 * A list of lines with a cursor, of which a part is on the screen.  All screens are such lists.
 */
#ifndef AP_TUI_VIEW_H
#define AP_TUI_VIEW_H

#include "tui/tui.h"

/* A line: text in spans of one tint each. */
struct ap_row {
	char text[4096];
	u32 len, nspans;
	struct {
		u32 end;
		enum ap_tint tint;
	} span[24];
};

void ap_row_add(struct ap_row *r, enum ap_tint tint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct ap_view_ops {
	void (*title)(struct ap_view *v, char *buf, size_t size);
	void (*head)(struct ap_view *v, struct ap_row *out); /* NULL, or leaves it empty: none */
	void (*row)(struct ap_view *v, u32 i, struct ap_row *out);
	/* false: not one of mine */
	bool (*key)(struct ap_view *v, u32 key);
	/* brings v->n up to date before anything else is asked; may be NULL */
	void (*refresh)(struct ap_view *v);
	void (*free)(struct ap_view *v);
	const char *(*empty)(struct ap_view *v); /* why there is no line; may be NULL */
	const char *help;			 /* lines of its keys */
	const char *hint;			 /* at the bottom */
	/* the name of a file to save to, NULL: perf.hist.N */
	void (*save_name)(struct ap_view *v, char *buf, size_t size);
};

/* First in each view. */
struct ap_view {
	const struct ap_view_ops *ops;
	struct ap_tui *tui;
	struct ap_view *below;
	u32 n;	     /* lines */
	u32 at, top; /* the cursor's; the first on the screen */
	u32 left;    /* columns that are scrolled out */
	u32 height;  /* lines on the screen, when it was last drawn */
};

/* Keeps the cursor in the list and on the screen. */
void ap_view_settle(struct ap_view *v);
void ap_view_go(struct ap_view *v, u32 line);
/* Movement, which all views have; false: not such a key. */
bool ap_view_move(struct ap_view *v, u32 key);
void ap_view_draw(struct ap_view *v, struct ap_screen *s);
/* The next line (step 1) or the one before (-1) that has the text, beginning beside the cursor, all around. */
bool ap_view_find(struct ap_view *v, const char *text, int step);
/* All lines to a file that is written whole; the name, or why not, is said. */
void ap_view_save(struct ap_view *v);

/* Lines of text, which is taken (free). */
struct ap_view *ap_text_view(const char *title, char *text);
/* Choices; chosen is called with the index when the menu is gone, freed after. */
typedef void ap_menu_chosen(void *arg, u32 choice);
struct ap_menu;
struct ap_menu *ap_menu_new(const char *title, ap_menu_chosen *chosen, void *arg);
void ap_menu_add(struct ap_menu *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
struct ap_view *ap_menu_view(struct ap_menu *m);
/* It stays when something was chosen. */
void ap_menu_stays(struct ap_menu *m);

#endif
