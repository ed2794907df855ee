# SPDX-License-Identifier: GPL-2.0-only
# ISA-L: CRC32C; gives the target Isal::Isal.
include(VsanFindLibrary)
vsan_find_library(Isal PKGCONFIG "libisal" HEADER isa-l.h LIBRARY isal PACKAGE libisal-dev)
