# SPDX-License-Identifier: GPL-2.0-only
#
# Finds fio's binary and the headers of exactly that fio.
#
# An external ioengine is compiled against fio's internal structures, which change between releases and
# which no distribution packages, so the headers are taken from a configured source tree:
#   1. -DFIO_SOURCE_DIR=/path or the environment's FIO_SOURCE_DIR,
#   2. the tree that scripts/setup made: ${FIO_VSAN_CACHE:-${XDG_CACHE_HOME:-~/.cache}/fio-vsan}/fio-VERSION
#
# Gives: FIO_EXECUTABLE, Fio_VERSION (3.33), Fio_VERSION_STRING (fio-3.33), Fio_SOURCE_DIR, Fio::Headers.
find_program(FIO_EXECUTABLE fio DOC "The fio binary that the engine is built for")
set(FIO_SOURCE_DIR "" CACHE PATH "Configured fio source tree (default: the one made by scripts/setup)")

function(_fio_find)
	set(mend "Run: ${PROJECT_SOURCE_DIR}/scripts/setup")
	if(NOT FIO_EXECUTABLE)
		message(FATAL_ERROR "fio is not installed. ${mend}")
	endif()
	execute_process(COMMAND "${FIO_EXECUTABLE}" --version
		OUTPUT_VARIABLE binary_version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(NOT binary_version MATCHES "^fio-(.+)$")
		message(FATAL_ERROR "${FIO_EXECUTABLE} --version says '${binary_version}', not fio-X.Y. ${mend}")
	endif()
	set(version "${CMAKE_MATCH_1}")

	if(FIO_SOURCE_DIR)
		set(dir "${FIO_SOURCE_DIR}")
	elseif(DEFINED ENV{FIO_SOURCE_DIR})
		set(dir "$ENV{FIO_SOURCE_DIR}")
	else()
		if(DEFINED ENV{FIO_VSAN_CACHE})
			set(cache "$ENV{FIO_VSAN_CACHE}")
		elseif(DEFINED ENV{XDG_CACHE_HOME})
			set(cache "$ENV{XDG_CACHE_HOME}/fio-vsan")
		else()
			set(cache "$ENV{HOME}/.cache/fio-vsan")
		endif()
		set(dir "${cache}/fio-${version}")
	endif()
	if(NOT EXISTS "${dir}/fio.h" OR NOT EXISTS "${dir}/config-host.h")
		message(FATAL_ERROR "No configured source tree of ${binary_version} at ${dir}. ${mend}")
	endif()
	set(Fio_VERSION "${version}" PARENT_SCOPE)
	set(Fio_VERSION_STRING "${binary_version}" PARENT_SCOPE)
	set(Fio_SOURCE_DIR "${dir}" PARENT_SCOPE)
endfunction()
_fio_find()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Fio REQUIRED_VARS FIO_EXECUTABLE Fio_SOURCE_DIR VERSION_VAR Fio_VERSION)
if(Fio_FOUND AND NOT TARGET Fio::Headers)
	add_library(Fio::Headers INTERFACE IMPORTED)
	# The order matters: fio's sources are all compiled with config-host.h first.
	target_compile_options(Fio::Headers INTERFACE
		"SHELL:-include ${Fio_SOURCE_DIR}/config-host.h" "SHELL:-isystem ${Fio_SOURCE_DIR}")
	target_compile_definitions(Fio::Headers INTERFACE
		FIO_INTERNAL FIO_BUILT_FOR="${Fio_VERSION_STRING}")
endif()
