# SPDX-License-Identifier: GPL-2.0-only
# liburing: asynchronous I/O to real devices; gives the target Uring::Uring.
include(VsanFindLibrary)
vsan_find_library(Uring PKGCONFIG "liburing" HEADER liburing.h LIBRARY uring PACKAGE liburing-dev)
