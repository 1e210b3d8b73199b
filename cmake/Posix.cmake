# libsheaf_posix: the preload library that captures files of unchanged programs (docs/capture.md). Since it is loaded
# into arbitrary programs, it contains the parts of the core and of the C++ library it needs. It exports only the
# entry points, marked in src/streams/preload/real.hpp. Requires the GNU C library, because it creates streams of this
# library.
include(CheckCXXSymbolExists)
check_cxx_symbol_exists(__GLIBC__ "features.h" SHEAF_GLIBC)
if(NOT SHEAF_GLIBC OR NOT SHEAF_STREAMS)
  return()
endif()
sheaf_sources(posix_sources ${SHEAF_VIEW_FOLDERS} ${SHEAF_POSIX_FOLDERS})
add_library(sheaf_posix SHARED ${posix_sources})
target_include_directories(sheaf_posix PRIVATE src include)
# The fortified forms of calls are entry points here, so headers must not redirect one call to another. Clang counts
# the steps of evaluating constant tables, and the table of descriptors has 1,048,576 entries.
target_compile_options(sheaf_posix PRIVATE -U_FORTIFY_SOURCE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang,AppleClang>:-fconstexpr-steps=16777216>)
sheaf_unity(sheaf_posix)
sheaf_precompiled(sheaf_posix)
target_link_libraries(sheaf_posix PRIVATE sheaf_warnings sheaf_static ${CMAKE_DL_LIBS})
# Exports the entry points as the sources define them, and hides everything else of Sheaf and the C++ library.
set(posix_names "")
foreach(source ${posix_sources})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} entries REGEX "^SHEAF_(ENTRY|ENTRY_AND|REPLACED|REPLACED_AND|ALSO|SCANS)\\(")
  foreach(entry ${entries})
    set(word "([A-Za-z0-9_]+)")
    string(REGEX REPLACE "^SHEAF_(ENTRY|REPLACED)\\([^,]+, ${word}.*" "\\2" names "${entry}")
    string(REGEX REPLACE "^SHEAF_(ENTRY|REPLACED)_AND\\([^,]+, ${word}, ${word}.*" "\\2; \\3" names "${names}")
    string(REGEX REPLACE "^SHEAF_ALSO\\(${word}, ${word}.*" "\\2" names "${names}")
    string(REGEX REPLACE "^SHEAF_SCANS\\(${word}, ${word}, ${word}, ${word}.*" "\\1; \\2; \\3; \\4" names "${names}")
    string(APPEND posix_names " ${names};")
  endforeach()
endforeach()
file(WRITE ${CMAKE_BINARY_DIR}/posix.map "{ global:${posix_names} local: *; };\n")
# initfirst: standard streams are captured before other libraries use them.
target_link_options(sheaf_posix PRIVATE -static-libstdc++ -static-libgcc "LINKER:--version-script=${CMAKE_BINARY_DIR}/posix.map" "LINKER:-z,initfirst"
  "LINKER:--gc-sections")
set_target_properties(sheaf_posix PROPERTIES OUTPUT_NAME sheaf_posix NO_SONAME ON)
install(TARGETS sheaf_posix LIBRARY DESTINATION ${SHEAF_LIB})
