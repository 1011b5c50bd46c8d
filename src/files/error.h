/* SPDX-License-Identifier: MIT */
/*
 * Why a file was not opened.  Functions of this module return -errno, or one of these, negated: no errno says what
 * they do, and "Permission denied" does not tell root what to change.
 */
#ifndef AP_FILES_ERROR_H
#define AP_FILES_ERROR_H

enum ap_file_error {
	AP_FILE_LINK = 4096, /* a stranger's link in a folder that others may write */
	AP_FILE_STRANGER,    /* a stranger's file there, which would be written to */
	AP_FILE_OLD,	     /* another's NAME.old there, which could not be replaced */
	AP_FILE_CHANGED,     /* what was opened is not what was judged */
	AP_FILE_FIFO,	     /* an input that may never come */
	AP_FILE_DEVICE,
	AP_FILE_NO_FIFO,
	AP_FILE_OWNER, /* another user's, where only ours and root's is believed */
	AP_FILE_FOLDER /* that is another user's, or where another may rename what is there */
};

/* error: as a function of this module returned it, negative or not. */
const char *ap_file_error(int error);

#endif
