/* SPDX-License-Identifier: MIT */
/* Each text completes "NAME: ", and says what to do where that is not plain. */
#include "files/error.h"

#include <stdlib.h>
#include <string.h>

const char *ap_file_error(int error)
{
	error = abs(error);
	switch (error) {
	case AP_FILE_LINK:
		return "another user's link, in a folder that others may write, is not followed";
	case AP_FILE_STRANGER:
		return "another user's file, in a folder that others may write, is not written to";
	case AP_FILE_OLD:
		return "its .old, which would be replaced, is another user's or a folder; name another file";
	case AP_FILE_CHANGED:
		return "another file has taken its name meanwhile";
	case AP_FILE_FIFO:
		return "is a FIFO, which may never have a writer";
	case AP_FILE_DEVICE:
		return "is no regular file";
	case AP_FILE_NO_FIFO:
		return "is no FIFO";
	case AP_FILE_OWNER:
		return "is not owned by the current user or root";
	case AP_FILE_FOLDER:
		return "others may rename files there; name a folder of your own, or a sticky one";
	default:
		return strerror(error);
	}
}
