/* SPDX-License-Identifier: MIT */
/*
 * The terminal as a screen, by ncursesw.  There is one.  Whatever ends the program leaves the terminal as it
 * was; see docs/design/tui.md.
 */
#ifndef AP_TUI_TERM_H
#define AP_TUI_TERM_H

#include "tui/tui.h"

/* NULL: a terminal is there that can do it; else why not, for one line. */
const char *ap_term_lacks(void);
/* 0 with *out, or -1 with why: then nothing was changed. */
AP_MUST_CHECK int ap_term_open(struct ap_screen **out, char *why, size_t size);
void ap_term_close(void);

/*
 * Waits for a key, for fd (-1: none) to have something, or for the time (CLOCK_MONOTONIC in ns, 0: ever).
 * AP_TERM_SIGNAL: one came that asks to end.
 */
#define AP_TERM_KEY    1U
#define AP_TERM_FD     2U
#define AP_TERM_TIME   4U
#define AP_TERM_SIGNAL 8U
u32 ap_term_wait(int fd, u64 until);
/* false: there is no more. */
bool ap_term_key(u32 *key);
/* After ap_term_close(): ends the program by the signal that asked for it, if one did. */
void ap_term_raise(void);

/* Shows until it is over, then closes the terminal. */
void ap_term_run(struct ap_tui *t, struct ap_screen *s);

#endif
