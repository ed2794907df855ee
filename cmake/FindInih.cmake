# SPDX-License-Identifier: GPL-2.0-only
# inih: reads drive profiles; gives the target Inih::Inih.
include(VsanFindLibrary)
vsan_find_library(Inih PKGCONFIG "inih" HEADER ini.h LIBRARY inih PACKAGE libinih-dev)
