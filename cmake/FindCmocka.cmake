# SPDX-License-Identifier: GPL-2.0-only
# cmocka: unit tests; gives the target Cmocka::Cmocka.
include(VsanFindLibrary)
vsan_find_library(Cmocka PKGCONFIG "cmocka" HEADER cmocka.h LIBRARY cmocka PACKAGE libcmocka-dev)
