# find_package(anyhost CONFIG): the targets anyhost::anyhost (shared) and anyhost::static.
#
# Paths follow from where this file lies, <prefix>/share/cmake/anyhost, so that the tree may be moved.

get_filename_component(_anyhost_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# lib of packaging/install.sh, or the folder of a distribution: lib64, lib/x86_64-linux-gnu. There may be
# several of the latter, of which that of the compiler goes first.
file(GLOB _anyhost_folders
    "${_anyhost_prefix}/lib" "${_anyhost_prefix}/lib64" "${_anyhost_prefix}/lib/*-*")
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(INSERT _anyhost_folders 0 "${_anyhost_prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()
find_library(_anyhost_shared NAMES libanyhost.so libanyhost.dylib
    PATHS ${_anyhost_folders} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
find_library(_anyhost_static NAMES libanyhost.a
    PATHS ${_anyhost_folders} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)

if(_anyhost_shared AND NOT TARGET anyhost::anyhost)
  add_library(anyhost::anyhost SHARED IMPORTED)
  set_target_properties(anyhost::anyhost PROPERTIES
      IMPORTED_LOCATION "${_anyhost_shared}"
      INTERFACE_INCLUDE_DIRECTORIES "${_anyhost_prefix}/include")
endif()
if(_anyhost_static AND NOT TARGET anyhost::static)
  add_library(anyhost::static STATIC IMPORTED)
  set_target_properties(anyhost::static PROPERTIES
      IMPORTED_LOCATION "${_anyhost_static}"
      INTERFACE_INCLUDE_DIRECTORIES "${_anyhost_prefix}/include"
      # Read on Windows only, where a shared library is imported.
      INTERFACE_COMPILE_DEFINITIONS ANYHOST_STATIC)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    # What rustc asks for beside libanyhost.a.
    set_target_properties(anyhost::static PROPERTIES
        INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl;c")
  endif()
endif()

if(NOT _anyhost_shared AND NOT _anyhost_static)
  set(anyhost_FOUND FALSE)
  set(anyhost_NOT_FOUND_MESSAGE "there is no libanyhost below ${_anyhost_prefix}")
endif()

unset(_anyhost_prefix)
unset(_anyhost_folders)
unset(_anyhost_shared CACHE)
unset(_anyhost_static CACHE)
