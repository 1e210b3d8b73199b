# Builds for another architecture with Debian's cross compilers:
# -DCMAKE_TOOLCHAIN_FILE=cmake/toolchains/debian-cross.cmake -DSHEAF_FOREIGN=s390x (or arm64)
# -DSHEAF_FOREIGN_ROOT=DIRECTORY. DIRECTORY contains unpacked Debian packages of that architecture (created by
# scripts/foreign.sh). Programs run in QEMU's user-mode emulation, which finds libraries in that directory.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SHEAF_FOREIGN SHEAF_FOREIGN_ROOT)
if(SHEAF_FOREIGN STREQUAL "arm64")
  set(CMAKE_SYSTEM_PROCESSOR aarch64)
elseif(SHEAF_FOREIGN STREQUAL "s390x")
  set(CMAKE_SYSTEM_PROCESSOR s390x)
else()
  message(FATAL_ERROR "SHEAF_FOREIGN is '${SHEAF_FOREIGN}'; it has to be arm64 or s390x")
endif()
if(NOT IS_DIRECTORY "${SHEAF_FOREIGN_ROOT}/usr/include")
  message(FATAL_ERROR "SHEAF_FOREIGN_ROOT is '${SHEAF_FOREIGN_ROOT}', which has no usr/include; scripts/foreign.sh makes one")
endif()
set(triplet ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_Fortran_COMPILER NOTFOUND)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L ${SHEAF_FOREIGN_ROOT})

# The compilers' own headers and libraries take precedence; all others are from the unpacked packages.
set(CMAKE_FIND_ROOT_PATH ${SHEAF_FOREIGN_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
foreach(kind EXE SHARED)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT
    "-Wl,-rpath-link,${SHEAF_FOREIGN_ROOT}/usr/lib/${triplet}:${SHEAF_FOREIGN_ROOT}/lib/${triplet}")
endforeach()
