# SPDX-License-Identifier: GPL-2.0-only
# Jansson: reads and writes JSON; gives the target Jansson::Jansson.
include(VsanFindLibrary)
vsan_find_library(Jansson PKGCONFIG "jansson" HEADER jansson.h LIBRARY jansson PACKAGE libjansson-dev)
