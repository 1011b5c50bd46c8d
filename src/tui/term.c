/* SPDX-License-Identifier: MIT */
/*
 * ncursesw, and what brings the terminal back when the program does not end as it should: see
 * docs/design/tui.md, "The terminal".
 */
#define _XOPEN_SOURCE_EXTENDED 1
#define NCURSES_WIDECHAR       1
#include "tui/term.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* The macros of curses.h and term.h are words of everyday use. */
#undef erase
#undef lines
#undef columns

#define STACK (64U * 1024)

static struct {
	struct ap_screen screen;
	SCREEN *curses;
	FILE *keys; /* the terminal, where standard input is not */
	int key_fd, out_fd;
	int pipe[2]; /* a byte per signal */
	bool is_open, is_resized;
	volatile sig_atomic_t is_shown;
	int signal; /* that asked to end */
	struct termios saved;
	char leave[256]; /* what brings the terminal back */
	size_t nleave;
} term = { .key_fd = -1, .pipe = { -1, -1 } };

/* --- on the way out */

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const int crashing[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP };

static void on_signal(int sig)
{
	int error = errno;
	char byte = (char)sig;

	if (write(term.pipe[1], &byte, 1) < 0 && errno != EAGAIN)
		_exit(128 + sig);
	errno = error;
}

/* Nothing but what may be called from anywhere. */
static void on_crash(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	if (term.is_shown) {
		term.is_shown = 0;
		if (write(term.out_fd, term.leave, term.nleave) < 0)
			(void)!0;
		tcsetattr(term.out_fd, TCSANOW, &term.saved);
	}
	sigaction(sig, &dfl, NULL);
	raise(sig);
}

static void take_signals(void)
{
	static char stack[STACK];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction old;
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(ending); i++) {
		/* what whoever started us ignores stays ignored */
		if (!sigaction(ending[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ending[i], &act, NULL);
	}
	act.sa_flags = 0; /* the wait is to end */
	sigaction(SIGWINCH, &act, NULL);
	sigaltstack(&alt, NULL);
	act.sa_handler = on_crash;
	act.sa_flags = SA_ONSTACK | SA_NODEFER;
	for (i = 0; i < AP_ARRAY_SIZE(crashing); i++)
		sigaction(crashing[i], &act, NULL);
}

static void leave_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	struct sigaction old;
	size_t i;

	for (i = 0; i < AP_ARRAY_SIZE(ending); i++) {
		if (!sigaction(ending[i], NULL, &old) && old.sa_handler == on_signal)
			sigaction(ending[i], &dfl, NULL);
	}
	sigaction(SIGWINCH, &dfl, NULL);
	for (i = 0; i < AP_ARRAY_SIZE(crashing); i++)
		sigaction(crashing[i], &dfl, NULL);
}

void ap_term_close(void)
{
	if (!term.is_open)
		return;
	term.is_open = false;
	/* where there is no other screen to go back to, the shell goes on in the last line */
	wmove(stdscr, getmaxy(stdscr) - 1, 0);
	wclrtoeol(stdscr);
	wrefresh(stdscr);
	endwin();
	term.is_shown = 0;
	leave_signals();
	delscreen(term.curses);
	term.curses = NULL;
	if (term.keys)
		fclose(term.keys);
	term.keys = NULL;
	close(term.pipe[0]);
	close(term.pipe[1]);
}

void ap_term_raise(void)
{
	if (!term.signal)
		return;
	fflush(NULL);
	signal(term.signal, SIG_DFL);
	raise(term.signal);
}

/* A string of the terminal without the pauses that old ones need ("$<5>"). */
static void keep(const char *name)
{
	const char *s = tigetstr(name), *end;

	if (!s || s == (const char *)-1)
		return;
	for (; *s && term.nleave < sizeof(term.leave); s++) {
		end = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;
		if (end)
			s = end;
		else
			term.leave[term.nleave++] = *s;
	}
}

static void prepare_leaving(void)
{
	static const char *const names[] = { "sgr0", "op", "rmkx", "cnorm", "rmcup" };

	term.nleave = 0;
	for (size_t i = 0; i < AP_ARRAY_SIZE(names); i++)
		keep(names[i]);
}

/* --- the screen */

static int attr_of(enum ap_tint tint)
{
	bool colour = has_colors();

	switch (tint) {
	case AP_TINT_BAR:
		return A_REVERSE;
	case AP_TINT_HEAD:
		return A_BOLD;
	case AP_TINT_SELECTED:
		return A_REVERSE | A_BOLD;
	case AP_TINT_HOT:
		return colour ? (int)COLOR_PAIR(1) : A_BOLD;
	case AP_TINT_WARM:
		return colour ? (int)COLOR_PAIR(2) : A_NORMAL;
	case AP_TINT_DIM:
		return colour ? (int)COLOR_PAIR(3) : A_NORMAL;
	default:
		return A_NORMAL;
	}
}

static void term_erase(struct ap_screen *s)
{
	(void)s;
	werase(stdscr);
}

static void term_put(struct ap_screen *s, u32 row, u32 col, enum ap_tint tint, const char *text)
{
	(void)s;
	wattrset(stdscr, attr_of(tint));
	mvwaddstr(stdscr, (int)row, (int)col, text);
	wattrset(stdscr, A_NORMAL);
}

static void term_cursor(struct ap_screen *s, u32 row, u32 col)
{
	curs_set(row < s->rows);
	wmove(stdscr, row < s->rows ? (int)row : 0, row < s->rows ? (int)col : 0);
}

static void term_show(struct ap_screen *s)
{
	(void)s;
	wrefresh(stdscr);
}

static void measure(void)
{
	struct winsize size;

	term.is_resized = false;
	if (!ioctl(term.out_fd, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	term.screen.rows = (u32)getmaxy(stdscr);
	term.screen.cols = (u32)getmaxx(stdscr);
}

const char *ap_term_lacks(void)
{
	const char *name = secure_getenv("TERM");
	char *clear, *move;
	int err;

	if (!isatty(STDOUT_FILENO))
		return "standard output is no terminal";
	if (!name || !*name)
		return "TERM is not set";
	if (setupterm(name, STDOUT_FILENO, &err) != OK)
		return "TERM names a terminal that terminfo does not know";
	clear = tigetstr("clear");
	move = tigetstr("cup");
	if (!clear || clear == (char *)-1 || !move || move == (char *)-1)
		return "TERM names a terminal that cannot move its cursor";
	return NULL;
}

static int open_keys(void)
{
	int fd;

	if (isatty(STDIN_FILENO)) {
		term.key_fd = STDIN_FILENO;
		return 0;
	}
	fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	term.keys = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (!term.keys && fd >= 0)
		close(fd);
	term.key_fd = fd;
	return term.keys ? 0 : -1;
}

static void set_modes(void)
{
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(1, COLOR_RED, -1);
		init_pair(2, COLOR_GREEN, -1);
		init_pair(3, COLOR_CYAN, -1);
	}
}

int ap_term_open(struct ap_screen **out, char *why, size_t size)
{
	const char *lack = ap_term_lacks();

	setlocale(LC_CTYPE, "");
	if (!lack && open_keys())
		lack = "no terminal takes keys";
	if (!lack && pipe2(term.pipe, O_CLOEXEC | O_NONBLOCK))
		lack = strerror(errno);
	if (!lack) {
		term.out_fd = STDOUT_FILENO;
		tcgetattr(term.out_fd, &term.saved);
		fflush(stdout);
		take_signals();
		term.is_shown = 1;
		term.curses = newterm(NULL, stdout, term.keys ? term.keys : stdin);
		if (!term.curses) {
			term.is_shown = 0;
			leave_signals();
			lack = "the terminal cannot be opened";
		}
	}
	if (lack) {
		snprintf(why, size, "%s", lack);
		return -1;
	}
	prepare_leaving();
	term.is_open = true;
	atexit(ap_term_close);
	set_modes();
	term.screen = (struct ap_screen){
		.erase = term_erase, .put = term_put, .cursor = term_cursor, .show = term_show
	};
	measure();
	*out = &term.screen;
	return 0;
}

/* --- keys */

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000U + (u64)ts.tv_nsec;
}

static u32 take_bytes(void)
{
	char bytes[64];
	ssize_t n = read(term.pipe[0], bytes, sizeof(bytes));
	u32 what = 0;

	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == SIGWINCH) {
			term.is_resized = true;
			what |= AP_TERM_KEY;
		} else {
			term.signal = bytes[i];
			what |= AP_TERM_SIGNAL;
		}
	}
	return what;
}

u32 ap_term_wait(int fd, u64 until)
{
	struct pollfd p[3] = { { .fd = term.key_fd, .events = POLLIN },
			       { .fd = term.pipe[0], .events = POLLIN },
			       { .fd = fd, .events = POLLIN } };
	struct timespec left = { 0 };
	u64 now = now_ns();
	u32 what = 0;
	int n;

	if (until && now < until) {
		left.tv_sec = (time_t)((until - now) / 1000000000U);
		left.tv_nsec = (long)((until - now) % 1000000000U);
	}
	n = ppoll(p, 3, until ? &left : NULL, NULL);
	if (n < 0 && errno != EINTR)
		return AP_TERM_SIGNAL;
	if (n > 0) {
		/* a terminal that is gone: as if its line had been hung up */
		if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			what |= AP_TERM_SIGNAL;
		what |= p[0].revents & POLLIN ? AP_TERM_KEY : 0;
		what |= p[2].revents ? AP_TERM_FD : 0;
	}
	what |= take_bytes();
	if (until && now_ns() >= until)
		what |= AP_TERM_TIME;
	return what;
}

/* Ctrl-Z: in raw mode it is a key.  All of the job stops, as with other programs. */
static void suspend(void)
{
	def_prog_mode();
	endwin();
	term.is_shown = 0;
	kill(0, SIGTSTP);
	term.is_shown = 1;
	reset_prog_mode();
	clearok(stdscr, TRUE);
	measure();
}

static u32 special(wint_t c)
{
	static const struct {
		int code;
		u32 key;
	} names[] = {
		{ KEY_UP, AP_TUI_UP },	      { KEY_DOWN, AP_TUI_DOWN },
		{ KEY_LEFT, AP_TUI_LEFT },    { KEY_RIGHT, AP_TUI_RIGHT },
		{ KEY_PPAGE, AP_TUI_PGUP },   { KEY_NPAGE, AP_TUI_PGDN },
		{ KEY_HOME, AP_TUI_HOME },    { KEY_END, AP_TUI_END },
		{ KEY_BTAB, AP_TUI_BACKTAB }, { KEY_BACKSPACE, AP_TUI_BACKSPACE },
		{ KEY_DC, AP_TUI_BACKSPACE }, { KEY_ENTER, AP_TUI_ENTER },
		{ KEY_F(1), AP_TUI_F1 },      { KEY_RESIZE, AP_TUI_RESIZE },
		{ KEY_FIND, AP_TUI_HOME },    { KEY_SELECT, AP_TUI_END },
	};

	for (size_t i = 0; i < AP_ARRAY_SIZE(names); i++) {
		if ((wint_t)names[i].code == c)
			return names[i].key;
	}
	return 0;
}

bool ap_term_key(u32 *key)
{
	wint_t c;
	int kind;

	if (term.is_resized) {
		measure();
		*key = AP_TUI_RESIZE;
		return true;
	}
	for (;;) {
		kind = wget_wch(stdscr, &c);
		if (kind == ERR)
			return false;
		if (kind == OK && c == AP_TUI_CTRL('z')) {
			suspend();
			*key = AP_TUI_RESIZE;
			return true;
		}
		*key = kind == KEY_CODE_YES ? special(c) : (u32)c;
		if (kind == OK && c == '\r')
			*key = AP_TUI_ENTER;
		if (kind == OK && (c == 0x7f || c == '\b'))
			*key = AP_TUI_BACKSPACE;
		if (kind == OK && c == AP_TUI_CTRL('l'))
			clearok(stdscr, TRUE);
		if (*key)
			return true;
	}
}

void ap_term_run(struct ap_tui *t, struct ap_screen *s)
{
	u32 key;

	while (!t->is_over) {
		ap_tui_draw(t, s);
		if (ap_term_wait(-1, 0) & AP_TERM_SIGNAL)
			break;
		while (!t->is_over && ap_term_key(&key))
			ap_tui_key(t, key);
	}
	ap_term_close();
}
