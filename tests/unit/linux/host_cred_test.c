/* SPDX-License-Identifier: MIT */
/*
 * Who may look at whom, and which cgroup is within which: the rules, on texts as /proc has them.
 */
#include "linux/host/host_internal.h"
#include "tap/tap.h"

static const char status[] = "Name:\tx\nUmask:\t0022\nUid:\t1000\t1001\t1002\t1003\n"
			     "Gid:\t10\t11\t12\t13\nCapPrm:\t0000000000000001\n"
			     "CapEff:\t000001ffffffffff\n";

static void parses(void)
{
	struct ap_cred c;

	EXPECT(!ap_cred_parse(status, &c)); /* a status text */
	EXPECT(c.uid[0] == 1000 && c.uid[1] == 1001 && c.uid[2] == 1002 &&
	       c.uid[3] == 1003);		     /* uids */
	EXPECT(c.gid[0] == 10 && c.gid[3] == 13);    /* gids */
	EXPECT(c.cap_effective == 0x1ffffffffffULL); /* effective capabilities */
	EXPECT(ap_cred_parse("Uid:\t1\t1\t1\t1\n", &c) !=
	       0); /* no text without gids and capabilities */
}

static struct ap_cred user(u32 id)
{
	struct ap_cred c = { .uid = { id, id, id, id }, .gid = { id, id, id, id } };

	return c;
}

static void may_read(void)
{
	struct ap_cred a = user(1000), b = user(1000), c = user(1001), root = user(0);

	root.cap_effective = 1ULL << 19;
	EXPECT(ap_cred_may_read(&a, &b, true));	    /* the same user */
	EXPECT(!ap_cred_may_read(&a, &b, false));   /* not what may not be dumped */
	EXPECT(!ap_cred_may_read(&a, &c, true));    /* not another user */
	EXPECT(ap_cred_may_read(&root, &c, false)); /* CAP_SYS_PTRACE */
	b.uid[2] = 0;
	EXPECT(!ap_cred_may_read(&a, &b, true)); /* not with another saved uid */
	b = user(1000);
	b.gid[0] = 5;
	EXPECT(!ap_cred_may_read(&a, &b, true)); /* not with another real gid */
	a.uid[1] = 0;
	b = user(1000);
	EXPECT(ap_cred_may_read(&a, &b,
				true)); /* by the file system's uid, not the effective one */
}

static void cgroups(void)
{
	static const char text[] = "12:cpu:/a/b\n0::/a/b/c\n";

	EXPECT(ap_cgroup_is_within(text, "/a/b/c"));	  /* itself */
	EXPECT(ap_cgroup_is_within(text, "/a"));	  /* above */
	EXPECT(ap_cgroup_is_within(text, "/"));		  /* the root */
	EXPECT(!ap_cgroup_is_within(text, "/a/b/c/d"));	  /* not below */
	EXPECT(!ap_cgroup_is_within(text, "/a/b/cc"));	  /* not a longer name */
	EXPECT(!ap_cgroup_is_within(text, "/a/bb"));	  /* nor one that begins alike */
	EXPECT(ap_cgroup_is_within("0::/x\n", "/x"));	  /* the only line */
	EXPECT(!ap_cgroup_is_within("1:cpu:/x\n", "/x")); /* a hierarchy of version 1 is none */
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = { TAP(parses), TAP(may_read), TAP(cgroups), { 0 } };

	return tap_main(tests, argc, argv);
}
