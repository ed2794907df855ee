# SPDX-License-Identifier: GPL-2.0-only
# libblkid: recognizes foreign content on a device; gives the target Blkid::Blkid.
include(VsanFindLibrary)
vsan_find_library(Blkid PKGCONFIG "blkid" HEADER blkid/blkid.h LIBRARY blkid PACKAGE libblkid-dev)
