# SPDX-License-Identifier: GPL-2.0-only
#
# vsan_find_library(NAME PKGCONFIG pc HEADER h LIBRARY l PACKAGE p): the common body of our find
# modules. Finds a library by its header and file, with pkg-config's paths as hints where it has a .pc
# file, and makes the imported target NAME::NAME. What is missing is reported with the command
# that installs it (PACKAGE is Debian's name).
include(FindPackageHandleStandardArgs)
find_package(PkgConfig QUIET)

macro(vsan_find_library name)
	cmake_parse_arguments(vfl "" "PKGCONFIG;HEADER;LIBRARY;PACKAGE" "" ${ARGN})
	if(vfl_PKGCONFIG AND PKG_CONFIG_FOUND)
		pkg_check_modules(PC_${name} QUIET ${vfl_PKGCONFIG})
	endif()
	find_path(${name}_INCLUDE_DIR ${vfl_HEADER} HINTS ${PC_${name}_INCLUDE_DIRS})
	find_library(${name}_LIBRARY ${vfl_LIBRARY} HINTS ${PC_${name}_LIBRARY_DIRS})
	mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
	set(${name}_VERSION "${PC_${name}_VERSION}")
	find_package_handle_standard_args(${name}
		REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR
		VERSION_VAR ${name}_VERSION
		REASON_FAILURE_MESSAGE "Run scripts/setup, or install what Debian calls ${vfl_PACKAGE}.")
	if(${name}_FOUND AND NOT TARGET ${name}::${name})
		add_library(${name}::${name} UNKNOWN IMPORTED)
		set_target_properties(${name}::${name} PROPERTIES
			IMPORTED_LOCATION "${${name}_LIBRARY}"
			INTERFACE_INCLUDE_DIRECTORIES "${${name}_INCLUDE_DIR}")
	endif()
endmacro()
