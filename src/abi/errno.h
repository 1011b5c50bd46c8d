/* SPDX-License-Identifier: MIT */
/*
 * Error numbers as x86-64 Linux programs get them.  The portable layers use these and no libc's:
 * what a program of the session is told does not depend on where the supervisor was built.
 */
#ifndef AP_ABI_ERRNO_H
#define AP_ABI_ERRNO_H

#define AP_EPERM	1
#define AP_ENOENT	2
#define AP_ESRCH	3
#define AP_EINTR	4
#define AP_EIO		5
#define AP_ENXIO	6
#define AP_E2BIG	7
#define AP_EBADF	9
#define AP_ECHILD	10
#define AP_EAGAIN	11
#define AP_ENOMEM	12
#define AP_EACCES	13
#define AP_EFAULT	14
#define AP_EBUSY	16
#define AP_EEXIST	17
#define AP_EXDEV	18
#define AP_ENODEV	19
#define AP_ENOTDIR	20
#define AP_EISDIR	21
#define AP_EINVAL	22
#define AP_EMFILE	24
#define AP_ENOTTY	25
#define AP_ENOSPC	28
#define AP_ESPIPE	29
#define AP_EROFS	30
#define AP_ERANGE	34
#define AP_ENAMETOOLONG 36
#define AP_ENOSYS	38
#define AP_ELOOP	40
#define AP_ENODATA	61
#define AP_EPROTO	71
#define AP_EOVERFLOW	75
#define AP_EOPNOTSUPP	95
#define AP_ETIMEDOUT	110

#endif
