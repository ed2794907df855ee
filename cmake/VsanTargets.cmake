# SPDX-License-Identifier: GPL-2.0-only
#
# What every target of this project has in common: warnings, visibility, sanitizers, the paths of
# the data files, and how data files are installed.

# Compile settings for all our own C. Data paths come twice, in the source tree and installed, so that
# programs work from a build tree without being installed; the code looks at the source tree first.
add_library(vsan_settings INTERFACE)
target_compile_options(vsan_settings INTERFACE
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -fvisibility=hidden)
target_compile_definitions(vsan_settings INTERFACE
	_GNU_SOURCE _LARGEFILE_SOURCE _FILE_OFFSET_BITS=64
	VSAN_VERSION="${PROJECT_VERSION}"
	VSAN_PROFILE_DIR_BUILD="${PROJECT_SOURCE_DIR}/engine/profiles"
	VSAN_PROFILE_DIR_INSTALL="${CMAKE_INSTALL_FULL_DATADIR}/fio-vsan/profiles"
	VSAN_PLOT_DIR_BUILD="${PROJECT_SOURCE_DIR}/plots"
	VSAN_PLOT_DIR_INSTALL="${CMAKE_INSTALL_FULL_DATADIR}/fio-vsan/plots")
target_include_directories(vsan_settings INTERFACE "${PROJECT_SOURCE_DIR}")
target_link_libraries(vsan_settings INTERFACE Threads::Threads m)
if(VSAN_WERROR)
	target_compile_options(vsan_settings INTERFACE -Werror)
endif()
if(VSAN_SANITIZE)
	target_compile_options(vsan_settings INTERFACE
		-fsanitize=${VSAN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
	target_link_options(vsan_settings INTERFACE -fsanitize=${VSAN_SANITIZE})
endif()

# Sources of a folder, without those in ARGN; looked at again at each build, so that a new file needs
# no edit here.
function(vsan_glob result folder)
	file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.c")
	foreach(name IN LISTS ARGN)
		list(REMOVE_ITEM sources "${folder}/${name}")
	endforeach()
	set(${result} "${sources}" PARENT_SCOPE)
endfunction()

# A library of the given sources; while there are none, an empty one that can be linked all the same.
function(vsan_static_library name)
	if(ARGN)
		add_library(${name} STATIC ${ARGN})
		target_link_libraries(${name} PUBLIC vsan_settings)
	else()
		add_library(${name} INTERFACE)
		target_link_libraries(${name} INTERFACE vsan_settings)
	endif()
endfunction()

# Link a library made by vsan_static_library, whichever kind it is, to more libraries.
function(vsan_link name)
	get_target_property(type ${name} TYPE)
	if(type STREQUAL "INTERFACE_LIBRARY")
		target_link_libraries(${name} INTERFACE ${ARGN})
	else()
		target_link_libraries(${name} PUBLIC ${ARGN})
	endif()
endfunction()

# Install the files of a source folder that match a pattern below DATADIR/fio-vsan.
function(vsan_install_data folder destination pattern)
	if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}")
		install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/"
			DESTINATION "${CMAKE_INSTALL_DATADIR}/fio-vsan/${destination}"
			FILES_MATCHING PATTERN "${pattern}")
	endif()
endfunction()
