# Compatible: not older than what was asked for, and of the same ABI. The numbers are read out of the
# header that was installed.

get_filename_component(_anyhost_header "${CMAKE_CURRENT_LIST_DIR}/../../../include/anyhost.h" ABSOLUTE)
set(_anyhost_version "")
foreach(_anyhost_part MAJOR MINOR PATCH)
  file(STRINGS "${_anyhost_header}" _anyhost_line REGEX "^#define ANYHOST_VERSION_${_anyhost_part} ")
  string(REGEX MATCH "[0-9]+$" _anyhost_number "${_anyhost_line}")
  list(APPEND _anyhost_version "${_anyhost_number}")
endforeach()
string(REPLACE ";" "." PACKAGE_VERSION "${_anyhost_version}")

# Within one major version functions are added and never taken away; so it is said in the header.
string(REGEX MATCH "^[0-9]+" _anyhost_major "${PACKAGE_VERSION}")
if(PACKAGE_FIND_VERSION_MAJOR STREQUAL _anyhost_major
    AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
