# sheaf-mount, the only program that needs libfuse: bin/ here, libexec/sheaf/ when installed; `sheaf mount` starts it. What it shows is
# made by src/mount/.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(fuse3 QUIET IMPORTED_TARGET fuse3>=3.12)
endif()
if(NOT TARGET PkgConfig::fuse3)
  list(APPEND SHEAF_NOT_BUILT "sheaf mount: no libfuse 3.12 or newer was found (Debian: libfuse3-dev, pkg-config)")
  return()
endif()
sheaf_rooms(mount_sources ${SHEAF_VIEW_ROOMS} ${SHEAF_MOUNT_ROOMS})
add_library(sheaf_mount_objects OBJECT ${mount_sources} src/cli/terminal.cpp)
target_include_directories(sheaf_mount_objects PRIVATE src include)
target_link_libraries(sheaf_mount_objects PRIVATE sheaf_warnings PkgConfig::fuse3)
sheaf_for_size(sheaf_mount_objects)
add_executable(sheaf_mount $<TARGET_OBJECTS:sheaf_mount_objects>)
set_target_properties(sheaf_mount PROPERTIES OUTPUT_NAME sheaf-mount LINKER_LANGUAGE CXX
  INSTALL_RPATH "$ORIGIN/../../${SHEAF_LIB}")
# The sanitizer of types needs names of classes that the library does not show.
target_link_libraries(sheaf_mount PRIVATE $<IF:$<BOOL:${SHEAF_SANITIZE}>,sheaf_static,sheaf> PkgConfig::fuse3)
install(TARGETS sheaf_mount DESTINATION libexec/sheaf)
