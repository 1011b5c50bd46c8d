/* SPDX-License-Identifier: MIT */
/*
 * What a program prints by client requests: to standard error, as valgrind has it, behind "**PID** " at the beginning of each
 * line.  What a terminal obeys, and all that is not ASCII, is written as \x1b is.
 *
 * The format is printf's.  Its arguments are a va_list of the System V ABI, in the program's memory.  There are no floating-point
 * registers here: of a double, digits are made from its bits.
 */
#include "base/mem.h"
#include "base/str.h"
#include "engine/request/request.h"
#include "engine/runtime/engine.h"

#define TEXT_MAX   4096 /* characters of one message */
#define GPR_BYTES  48U
#define SAVE_BYTES 176U

struct va {
	u32 gpr, fpr; /* where the next one is saved */
	u64 overflow, saved;
};

struct client_text {
	struct va va;
	char out[1024];
	u32 n;		/* in out */
	u64 chars;	/* of the program's text */
	bool is_inside; /* of a line */
	u32 pid;
};

static bool was_inside; /* the last message of this process ended in the middle of a line */

static void write_out(struct client_text *m)
{
	for (u32 done = 0; done < m->n;) {
		s64 ret = ap_sys3(AP_NR_write, 2, (u64)m->out + done, m->n - done);

		if (ret == -AP_EINTR)
			continue;
		if (ret <= 0)
			break;
		done += (u32)ret;
	}
	m->n = 0;
}

static void put_text(struct client_text *m, const char *text)
{
	for (; *text; text++) {
		if (m->n == sizeof(m->out))
			write_out(m);
		m->out[m->n++] = *text;
	}
}

/* One of the program's. */
static void put_char(struct client_text *m, char c)
{
	char buf[32];
	struct ap_str s;

	if (++m->chars > TEXT_MAX)
		return;
	ap_str_init(&s, buf, sizeof(buf));
	if (!m->is_inside) {
		ap_str_add(&s, "**");
		ap_str_u64(&s, m->pid);
		ap_str_add(&s, "** ");
	}
	if ((c >= ' ' && c < 0x7f) || c == '\n' || c == '\t') {
		ap_str_char(&s, c);
	} else {
		ap_str_add(&s, "\\x");
		ap_str_hex(&s, (u8)c, 2);
	}
	m->is_inside = c != '\n';
	put_text(m, buf);
}

static bool word_at(u64 at, u64 *v)
{
	return !ap_safe_copy(v, (const void *)at, sizeof(*v));
}

/* The next argument; 0 where it cannot be read. */
static u64 next_of(struct client_text *m, u32 *used, u32 end, u32 step)
{
	u64 v = 0;

	if (*used + step <= end) {
		(void)word_at(m->va.saved + *used, &v);
		*used += step;
	} else {
		(void)word_at(m->va.overflow, &v);
		m->va.overflow += sizeof(u64);
	}
	return v;
}

static u64 next_word(struct client_text *m)
{
	return next_of(m, &m->va.gpr, GPR_BYTES, 8);
}

static u64 next_double(struct client_text *m)
{
	return next_of(m, &m->va.fpr, SAVE_BYTES, 16);
}

/* One conversion of the format. */
struct conversion {
	bool left, zero, alt, plus, space, has_precision;
	u32 width, precision;
	u32 bytes; /* of an integer */
	char what;
};

static void pad(struct client_text *m, char c, u32 have, u32 want)
{
	for (; have < want; have++)
		put_char(m, c);
}

/* sign: in front of it; digits behind. */
static void put_number(struct client_text *m, const struct conversion *s, const char *sign,
		       const char *digits)
{
	u32 nsign = (u32)strlen(sign), n = (u32)strlen(digits);
	u32 least = s->has_precision && s->what != 'f' ? s->precision : 0, body;

	if (s->zero && !s->left && !least)
		least = s->width > nsign ? s->width - nsign : 0;
	body = nsign + (n > least ? n : least);
	if (!s->left)
		pad(m, ' ', body, s->width);
	while (*sign)
		put_char(m, *sign++);
	pad(m, '0', n, least);
	while (*digits)
		put_char(m, *digits++);
	if (s->left)
		pad(m, ' ', body, s->width);
}

static const char *sign_of(const struct conversion *s, bool is_negative)
{
	return is_negative ? "-" : s->plus ? "+" : s->space ? " " : "";
}

static u64 narrowed(u64 v, u32 bytes, bool is_signed)
{
	u32 shift = 64 - 8 * bytes;

	return is_signed ? (u64)((s64)(v << shift) >> shift) : v << shift >> shift;
}

static void put_signed(struct client_text *m, const struct conversion *s)
{
	s64 v = (s64)narrowed(next_word(m), s->bytes, true);
	char buf[24];
	struct ap_str text;

	ap_str_init(&text, buf, sizeof(buf));
	ap_str_u64(&text, v < 0 ? 0 - (u64)v : (u64)v);
	put_number(m, s, sign_of(s, v < 0), buf);
}

static void put_unsigned(struct client_text *m, const struct conversion *s, u64 v, u32 bits)
{
	const char *all = s->what == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	char buf[24];
	u32 n = sizeof(buf) - 1;

	buf[n] = '\0';
	if (!bits) {
		do {
			buf[--n] = all[v % 10];
		} while (v /= 10);
	} else {
		u64 left = v;

		do {
			buf[--n] = all[left & ((1U << bits) - 1)];
		} while (left >>= bits);
	}
	put_number(m, s, bits == 4 && s->alt && v ? (s->what == 'X' ? "0X" : "0x") : "", buf + n);
}

/* A smaller double has 15 zeros behind the point; rest has no room for ten times as much. */
#define SHIFT_MAX 120

/* mantissa / 2^shift, below 1, rounded half up to so many digits; *ten is what would be 1. */
static u64 fraction(u64 mantissa, u32 shift, u32 digits, u64 *ten)
{
	unsigned __int128 rest = mantissa;
	u64 part = 0;

	*ten = 1;
	for (u32 i = 0; i < digits; i++, *ten *= 10) {
		rest *= 10;
		part = part * 10 + (u64)(rest >> shift);
		rest &= ((unsigned __int128)1 << shift) - 1;
	}
	return part + (u64)(rest >> (shift - 1));
}

/* With 15 digits behind the point at most. */
static void put_double(struct client_text *m, struct conversion *s)
{
	u64 bits = next_double(m), mantissa = bits << 12 >> 12, whole, part = 0, ten = 1;
	u32 digits = s->has_precision ? s->precision : 6;
	s32 e = (s32)(bits >> 52 & 0x7ff) - 1075;
	bool is_negative = bits >> 63;
	char buf[64];
	struct ap_str text;

	ap_str_init(&text, buf, sizeof(buf));
	digits = digits > 15 ? 15 : digits;
	s->what = 'f';
	if (e == 0x7ff - 1075 || e > 11) {
		ap_str_add(&text, mantissa && e == 0x7ff - 1075 ? "nan"
				  : e == 0x7ff - 1075		? "inf"
								: "huge");
		s->zero = false;
		put_number(m, s, sign_of(s, is_negative), buf);
		return;
	}
	mantissa |= e == -1075 ? 0 : 1ULL << 52;
	whole = e >= 0 ? mantissa << e : e > -64 ? mantissa >> -e : 0;
	if (e < 0 && e >= -SHIFT_MAX)
		part = fraction(e > -64 ? mantissa & ((1ULL << -e) - 1) : mantissa, (u32)-e, digits,
				&ten);
	if (part == ten) {
		part = 0;
		whole++;
	}
	ap_str_u64(&text, whole);
	if (digits) {
		char behind[20];
		u32 n = digits;

		behind[n] = '\0';
		for (; n; part /= 10)
			behind[--n] = (char)('0' + part % 10);
		ap_str_char(&text, '.');
		ap_str_add(&text, behind);
	}
	put_number(m, s, sign_of(s, is_negative), buf);
}

static void put_string(struct client_text *m, const struct conversion *s)
{
	u64 at = next_word(m);
	u32 n = 0, most = s->has_precision ? s->precision : TEXT_MAX;
	char c;

	while (n < most && !ap_safe_copy(&c, (const void *)(at + n), 1) && c)
		n++;
	if (!s->left)
		pad(m, ' ', n, s->width);
	for (u32 i = 0; i < n && !ap_safe_copy(&c, (const void *)(at + i), 1); i++)
		put_char(m, c);
	if (s->left)
		pad(m, ' ', n, s->width);
}

static void put_next(struct client_text *m, struct conversion *s)
{
	switch (s->what) {
	case 'd':
	case 'i':
		put_signed(m, s);
		return;
	case 'u':
		put_unsigned(m, s, narrowed(next_word(m), s->bytes, false), 0);
		return;
	case 'x':
	case 'X':
		put_unsigned(m, s, narrowed(next_word(m), s->bytes, false), 4);
		return;
	case 'o':
		put_unsigned(m, s, narrowed(next_word(m), s->bytes, false), 3);
		return;
	case 'p':
		s->alt = true;
		put_unsigned(m, s, next_word(m), 4);
		return;
	case 'c':
		if (!s->left)
			pad(m, ' ', 1, s->width);
		put_char(m, (char)next_word(m));
		if (s->left)
			pad(m, ' ', 1, s->width);
		return;
	case 's':
		put_string(m, s);
		return;
	case 'f':
	case 'F':
	case 'e':
	case 'g':
		put_double(m, s);
		return;
	default:
		put_char(m, s->what);
	}
}

/* --- the format, which is read byte by byte: the next page may not be there */

static char next_char(u64 *at)
{
	char c = '\0';

	if (!ap_safe_copy(&c, (const void *)*at, 1) && c)
		(*at)++;
	return c;
}

/* A width or precision.  As an argument it may be below 0. */
static s32 take_number(struct client_text *m, u64 *at, char *c)
{
	s32 n = 0;

	if (*c == '*') {
		n = (s32)next_word(m);
		*c = next_char(at);
		return n < -TEXT_MAX ? -TEXT_MAX : n < TEXT_MAX ? n : TEXT_MAX;
	}
	for (; *c >= '0' && *c <= '9'; *c = next_char(at))
		n = n < TEXT_MAX ? n * 10 + (*c - '0') : TEXT_MAX;
	return n < TEXT_MAX ? n : TEXT_MAX;
}

static char take_flags(struct conversion *s, u64 *at)
{
	char c = next_char(at);

	for (;; c = next_char(at)) {
		if (c == '-')
			s->left = true;
		else if (c == '0')
			s->zero = true;
		else if (c == '#')
			s->alt = true;
		else if (c == '+')
			s->plus = true;
		else if (c == ' ')
			s->space = true;
		else
			return c;
	}
}

/* Behind the %. */
static void take_spec(struct client_text *m, u64 *at)
{
	struct conversion s = { .bytes = 4 };
	char c = take_flags(&s, at);
	s32 n = take_number(m, at, &c);

	s.left |= n < 0;
	s.width = (u32)(n < 0 ? -n : n);
	if (c == '.') {
		c = next_char(at);
		n = take_number(m, at, &c);
		s.has_precision = n >= 0;
		s.precision = (u32)(n < 0 ? 0 : n);
	}
	for (; c == 'h' || c == 'l' || c == 'z' || c == 't' || c == 'j'; c = next_char(at))
		s.bytes = c == 'h' ? s.bytes / 2 : 8;
	s.bytes = s.bytes ? s.bytes : 1;
	s.what = c;
	if (c)
		put_next(m, &s);
}

/* As a frame of a backtrace. */
static void put_place(struct client_text *m, u64 pc)
{
	char buf[48];
	struct ap_str s;

	ap_str_init(&s, buf, sizeof(buf));
	ap_str_add(&s, m->is_inside ? "\n   at 0x" : "   at 0x");
	ap_str_hex(&s, pc, 0);
	ap_str_char(&s, '\n');
	for (const char *p = buf; *p; p++)
		put_char(m, *p);
}

u64 ap_request_print(struct ap_thread *t, u64 format, u64 va_list_at, bool has_place)
{
	struct client_text m = { .is_inside = __atomic_load_n(&was_inside, __ATOMIC_RELAXED),
				 .pid = t->pid };
	u64 chars;

	if (ap_safe_copy(&m.va, (const void *)va_list_at, sizeof(m.va)))
		m.va = (struct va){ 0 };
	for (char c; m.chars < TEXT_MAX && (c = next_char(&format));) {
		if (c == '%')
			take_spec(&m, &format);
		else
			put_char(&m, c);
	}
	chars = m.chars < TEXT_MAX ? m.chars : TEXT_MAX;
	if (has_place)
		put_place(&m, t->regs.rip);
	write_out(&m);
	__atomic_store_n(&was_inside, m.is_inside, __ATOMIC_RELAXED);
	return chars;
}
