# SPDX-License-Identifier: GPL-2.0-only
# libcsv: reads fio's logs (it has no pkg-config file); gives the target Csv::Csv.
include(VsanFindLibrary)
vsan_find_library(Csv PKGCONFIG "" HEADER csv.h LIBRARY csv PACKAGE libcsv-dev)
