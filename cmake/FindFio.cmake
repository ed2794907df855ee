# SPDX-License-Identifier: GPL-2.0-only
#
# Finds fio's binary and the headers of exactly that fio.
#
# An external ioengine is compiled against fio's internal structures, which change between releases and
# which no distribution packages, so the headers are taken from a configured source tree:
#   1. -DFIO_SOURCE_DIR=/path or the environment's FIO_SOURCE_DIR,
#   2. the tree that scripts/setup made: ${FIO_VSAN_CACHE:-${XDG_CACHE_HOME:-~/.cache}/fio-vsan}/fio-VERSION
# The binary is -DFIO_EXECUTABLE=/path, the environment's FIO, or the fio in PATH.
#
# A tree of another version would compile, and crash or corrupt fio's data when loaded. So the version is
# compared, and then the binary itself is asked to load a minimal engine made with the headers, which it
# does only when FIO_IOOPS_VERSION is its own.
#
# Gives: FIO_EXECUTABLE, Fio_VERSION (3.33), Fio_VERSION_STRING (fio-3.33), Fio_HEADER_DIR, Fio::Headers.
if(DEFINED ENV{FIO} AND NOT FIO_EXECUTABLE)
	find_program(FIO_EXECUTABLE "$ENV{FIO}" DOC "The fio binary that the engine is built for")
endif()
find_program(FIO_EXECUTABLE fio DOC "The fio binary that the engine is built for")
set(FIO_SOURCE_DIR "" CACHE PATH "Configured fio source tree (default: the one made by scripts/setup)")

# One line that CMake does not wrap or indent, then stop.
function(_fio_fail text)
	message(FATAL_ERROR "${text}\nTo mend it, run:\n  ${PROJECT_SOURCE_DIR}/scripts/setup")
endfunction()

# The version of a fio source tree as its binary would print it, "" when it cannot be told.
function(_fio_tree_version dir result)
	set(version "")
	if(EXISTS "${dir}/FIO-VERSION-FILE") # written by fio's make
		file(STRINGS "${dir}/FIO-VERSION-FILE" line REGEX "^FIO_VERSION *=" LIMIT_COUNT 1)
		string(REGEX REPLACE "^FIO_VERSION *= *" "" version "${line}")
	elseif(EXISTS "${dir}/.git")
		execute_process(COMMAND git -C "${dir}" describe --match "fio-[0-9]*" --abbrev=4 HEAD
			OUTPUT_VARIABLE version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
	elseif(EXISTS "${dir}/FIO-VERSION-GEN")
		file(STRINGS "${dir}/FIO-VERSION-GEN" line REGEX "^DEF_VER=" LIMIT_COUNT 1)
		string(REGEX REPLACE "^DEF_VER=" "" version "${line}")
	endif()
	set(${result} "${version}" PARENT_SCOPE)
endfunction()

# Build a minimal engine with the headers in @dir and have the binary load it. Result: "" or what is wrong.
function(_fio_probe dir result)
	set(probe "${PROJECT_BINARY_DIR}/CMakeFiles/fio-probe")
	file(WRITE "${probe}.c" [[
#include "fio.h"
static enum fio_q_status probe_queue(struct thread_data *td, struct io_u *io_u)
{
	(void)td;
	(void)io_u;
	return FIO_Q_COMPLETED;
}
struct ioengine_ops ioengine = {
	.name = "vsan-probe",
	.version = FIO_IOOPS_VERSION,
	.queue = probe_queue,
	.flags = FIO_SYNCIO,
};
]])
	execute_process(
		COMMAND "${CMAKE_C_COMPILER}" -std=gnu17 -fPIC -shared -w
			-D_GNU_SOURCE -D_LARGEFILE_SOURCE -D_FILE_OFFSET_BITS=64
			-include "${dir}/config-host.h" -isystem "${dir}" -o "${probe}.so" "${probe}.c"
		RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
	if(NOT status EQUAL 0)
		set(${result} "the headers in ${dir} do not compile:\n${output}" PARENT_SCOPE)
		return()
	endif()
	# fio looks a bare name up as a path only with a slash in it; the exit code is 1 either way.
	execute_process(COMMAND "${FIO_EXECUTABLE}" "--enghelp=${probe}.so"
		OUTPUT_VARIABLE output ERROR_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(output MATCHES "bad ioops version[^\n]*")
		set(${result} "${FIO_EXECUTABLE} and the headers in ${dir} differ: ${CMAKE_MATCH_0}" PARENT_SCOPE)
	elseif(NOT output MATCHES "vsan-probe")
		set(${result} "${FIO_EXECUTABLE} cannot load an engine made with the headers in ${dir}: ${output}"
			PARENT_SCOPE)
	else()
		set(${result} "" PARENT_SCOPE)
	endif()
endfunction()

function(_fio_find)
	if(NOT FIO_EXECUTABLE)
		_fio_fail("fio is not installed.")
	endif()
	execute_process(COMMAND "${FIO_EXECUTABLE}" --version
		OUTPUT_VARIABLE binary ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
	if(NOT binary MATCHES "^fio-(.+)$")
		_fio_fail("${FIO_EXECUTABLE} --version says '${binary}', not fio-X.Y.")
	endif()
	set(version "${CMAKE_MATCH_1}")

	if(FIO_SOURCE_DIR)
		set(dir "${FIO_SOURCE_DIR}")
	elseif(NOT "$ENV{FIO_SOURCE_DIR}" STREQUAL "")
		set(dir "$ENV{FIO_SOURCE_DIR}")
	elseif(NOT "$ENV{FIO_VSAN_CACHE}" STREQUAL "")
		set(dir "$ENV{FIO_VSAN_CACHE}/fio-${version}")
	elseif(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
		set(dir "$ENV{XDG_CACHE_HOME}/fio-vsan/fio-${version}")
	else()
		set(dir "$ENV{HOME}/.cache/fio-vsan/fio-${version}")
	endif()
	if(NOT EXISTS "${dir}/fio.h")
		_fio_fail("There are no headers of ${binary} in ${dir}.")
	endif()
	if(NOT EXISTS "${dir}/config-host.h")
		_fio_fail("The fio source tree ${dir} is not configured (no config-host.h).")
	endif()
	_fio_tree_version("${dir}" headers)
	if(NOT headers STREQUAL binary)
		_fio_fail("${FIO_EXECUTABLE} is ${binary}, but the source tree ${dir} is '${headers}'.")
	endif()

	# Loading takes a compilation, so it is done again only when something changed.
	file(TIMESTAMP "${FIO_EXECUTABLE}" binary_time)
	file(TIMESTAMP "${dir}/config-host.h" headers_time)
	set(key "${FIO_EXECUTABLE} ${binary_time} ${dir} ${headers_time} ${CMAKE_C_COMPILER}")
	if(NOT FIO_PROBED STREQUAL key)
		_fio_probe("${dir}" problem)
		if(problem)
			_fio_fail("${problem}")
		endif()
		set(FIO_PROBED "${key}" CACHE INTERNAL "The fio and headers that were seen to fit")
	endif()
	set(Fio_VERSION "${version}" PARENT_SCOPE)
	set(Fio_VERSION_STRING "${binary}" PARENT_SCOPE)
	set(Fio_HEADER_DIR "${dir}" PARENT_SCOPE)
endfunction()
_fio_find()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Fio REQUIRED_VARS FIO_EXECUTABLE Fio_HEADER_DIR VERSION_VAR Fio_VERSION)
if(Fio_FOUND AND NOT TARGET Fio::Headers)
	add_library(Fio::Headers INTERFACE IMPORTED)
	# All of fio is compiled with config-host.h before anything else.
	target_compile_options(Fio::Headers INTERFACE
		"SHELL:-include ${Fio_HEADER_DIR}/config-host.h" "SHELL:-isystem ${Fio_HEADER_DIR}")
	target_compile_definitions(Fio::Headers INTERFACE
		FIO_INTERNAL FIO_BUILT_FOR="${Fio_VERSION_STRING}")
endif()
