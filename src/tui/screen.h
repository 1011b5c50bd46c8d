/* SPDX-License-Identifier: MIT */
/*
 * What the screens are drawn on, and what keys are called: a grid of cells.  term.c is the terminal;
 * tests have one in memory.
 */
#ifndef AP_TUI_SCREEN_H
#define AP_TUI_SCREEN_H

#include "base/types.h"

enum ap_tint {
	AP_TINT_PLAIN,
	AP_TINT_BAR,	  /* title, footer */
	AP_TINT_HEAD,	  /* headings of columns */
	AP_TINT_SELECTED, /* the line with the cursor */
	AP_TINT_HOT,	  /* 5 percent and more */
	AP_TINT_WARM,	  /* 0.5 percent and more */
	AP_TINT_DIM,	  /* source lines, hints */
	AP_TINT_N
};

/* How perf tints a percentage. */
enum ap_tint ap_tint_of(double percent);

struct ap_screen {
	u32 rows, cols; /* now */
	void *arg;
	void (*erase)(struct ap_screen *s);
	/* Printable text that fits. */
	void (*put)(struct ap_screen *s, u32 row, u32 col, enum ap_tint tint, const char *text);
	/* Where somebody types; row >= rows: nowhere. */
	void (*cursor)(struct ap_screen *s, u32 row, u32 col);
	void (*show)(struct ap_screen *s);
};

/* Beyond characters, which are their code points. */
enum ap_tui_key {
	AP_TUI_TAB = '\t',
	AP_TUI_ENTER = '\n',
	AP_TUI_ESC = 27,
	AP_TUI_UP = 0x110000,
	AP_TUI_DOWN,
	AP_TUI_LEFT,
	AP_TUI_RIGHT,
	AP_TUI_PGUP,
	AP_TUI_PGDN,
	AP_TUI_HOME,
	AP_TUI_END,
	AP_TUI_BACKTAB,
	AP_TUI_BACKSPACE,
	AP_TUI_F1,
	AP_TUI_RESIZE
};

#define AP_TUI_CTRL(c) ((u32)(c)&0x1f)

/*
 * Text as it may be shown: what is not printable is \x1b and the like.  Leaves out the first skip columns, takes at
 * most width; returns how many columns out has.
 */
u32 ap_text_clip(const char *text, u32 skip, u32 width, char *out, size_t size);
u32 ap_text_columns(const char *text);

#endif
