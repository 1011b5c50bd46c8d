/* SPDX-License-Identifier: MIT */
/*
 * perfctr's calls of 2004 by the ioctls of perfctr 2.6.  The public structures are the service's own, word
 * for word, which is asserted here.
 */
#include <anyperf/perfctr.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "abi/perfctr.h"
#include "perfctr/codec.h"

#define WORDS 256

#define SAME(ours, theirs)                                                                         \
	_Static_assert(sizeof(struct ours) == sizeof(struct theirs), "one layout")
SAME(ap_ctr_info, perfctr_info);
SAME(ap_x86ctr_control, perfctr_cpu_control);
SAME(ap_x86ctr_sum, perfctr_sum_ctrs);
SAME(ap_vctr_control, vperfctr_control);
SAME(ap_gctr_control, gperfctr_cpu_control);
SAME(ap_gctr_state, gperfctr_cpu_state);
_Static_assert(sizeof(struct vperfctr_state) == offsetof(struct ap_x86ctr_state, control),
	       "what is mapped");

struct buffer {
	u32 rdsize, wrsize;
	u32 words[WORDS];
};

static int failed(int err)
{
	errno = err < 0 ? -err : err;
	return -1;
}

static int open_device(void)
{
	int fd = open(AP_PERFCTR_PATH, O_RDONLY | O_CLOEXEC), err = EPROTO;
	u32 abi = 0;

	if (fd < 0)
		return -1;
	if (ioctl(fd, AP_PERFCTR_IOC_ABI, &abi))
		err = errno;
	else if (!((abi ^ AP_PERFCTR_ABI) & 0xff00ff00))
		return fd;
	close(fd);
	return failed(err);
}

static int get(int fd, unsigned long cmd, const struct ap_ctr_layout *layout, void *obj)
{
	struct buffer b = { .wrsize = WORDS };
	int ret;

	if (ioctl(fd, cmd, &b))
		return -1;
	ret = b.rdsize <= WORDS ? ap_ctr_decode(layout, b.words, b.rdsize, obj) : -EPROTO;
	return ret ? failed(ret) : 0;
}

int sys_perfctr_info(struct perfctr_info *info, struct perfctr_cpu_mask *cpus,
		     struct perfctr_cpu_mask *forbidden)
{
	int fd = open_device(), ret = 0, err;

	if (fd < 0)
		return -1;
	if (info)
		ret = get(fd, AP_PERFCTR_IOC_INFO, &ap_ctr_layout_info, info);
	if (!ret && cpus)
		ret = ioctl(fd, AP_PERFCTR_IOC_CPUS, cpus);
	if (!ret && forbidden)
		ret = ioctl(fd, AP_PERFCTR_IOC_FORBIDDEN, forbidden);
	err = errno;
	close(fd);
	return ret ? failed(err) : 0;
}

int sys_vperfctr_open(int tid, int creat)
{
	int fd = open_device(), ret, err;

	if (fd < 0)
		return -1;
	ret = ioctl(fd, creat ? AP_VPERFCTR_CREAT : AP_VPERFCTR_OPEN, tid);
	err = errno;
	close(fd);
	return ret < 0 ? failed(err) : ret;
}

int sys_vperfctr_control(int fd, const struct vperfctr_control *control)
{
	struct buffer b = { 0 };
	s32 n = control ? ap_ctr_encode(&ap_ctr_layout_control, control, b.words, WORDS) : -EFAULT;

	if (n < 0)
		return failed(n);
	b.rdsize = (u32)n;
	return ioctl(fd, AP_VPERFCTR_CONTROL, &b);
}

int sys_vperfctr_unlink(int fd)
{
	return ioctl(fd, AP_VPERFCTR_UNLINK, 0);
}

int sys_vperfctr_read(int fd, struct perfctr_sum_ctrs *sum, struct vperfctr_control *control)
{
	int ret = 0;

	if (sum)
		ret = get(fd, AP_VPERFCTR_READ_SUM, &ap_ctr_layout_sum, sum);
	if (!ret && control)
		ret = get(fd, AP_VPERFCTR_READ_CONTROL, &ap_ctr_layout_control, control);
	return ret;
}

int sys_vperfctr_iresume(int fd)
{
	return ioctl(fd, AP_VPERFCTR_IRESUME, 0);
}

/* --- counters of CPUs */

struct gperfctr {
	int fd;
};

struct gperfctr *gperfctr_open(void)
{
	struct gperfctr *g = malloc(sizeof(*g));
	int fd = g ? open_device() : -1;

	if (fd < 0) {
		free(g);
		return NULL;
	}
	g->fd = fd;
	return g;
}

void gperfctr_close(struct gperfctr *gperfctr)
{
	close(gperfctr->fd);
	free(gperfctr);
}

int gperfctr_control(const struct gperfctr *gperfctr, struct gperfctr_cpu_control *control)
{
	struct buffer b = { 0 };
	s32 n = control ? ap_ctr_encode(&ap_ctr_layout_gcontrol, control, b.words, WORDS) : -EFAULT;

	if (n < 0)
		return failed(n);
	b.rdsize = (u32)n;
	return ioctl(gperfctr->fd, AP_GPERFCTR_CONTROL, &b);
}

int gperfctr_read(const struct gperfctr *gperfctr, struct gperfctr_cpu_state *state)
{
	struct buffer b = { .wrsize = WORDS };
	s32 n = state ? ap_ctr_encode(&ap_ctr_layout_gcpu, state, b.words, WORDS) : -EFAULT;

	if (n < 0)
		return failed(n);
	b.rdsize = (u32)n;
	if (ioctl(gperfctr->fd, AP_GPERFCTR_READ, &b))
		return -1;
	n = b.rdsize <= WORDS ? ap_ctr_decode(&ap_ctr_layout_gstate, b.words, b.rdsize, state)
			      : -EPROTO;
	return n ? failed(n) : 0;
}

int gperfctr_start(const struct gperfctr *gperfctr, unsigned int interval_usec)
{
	return ioctl(gperfctr->fd, AP_GPERFCTR_START, interval_usec);
}

int gperfctr_stop(const struct gperfctr *gperfctr)
{
	return ioctl(gperfctr->fd, AP_GPERFCTR_STOP, 0);
}

int gperfctr_info(const struct gperfctr *gperfctr, struct perfctr_info *info)
{
	return get(gperfctr->fd, AP_PERFCTR_IOC_INFO, &ap_ctr_layout_info, info);
}
