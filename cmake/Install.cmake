# make install PREFIX=...: programs, headers, modules, libraries, their classic names, the CMake package, pkg-config
# files and manual pages. Files that contain the prefix are written during installation
# (packaging/install_classic.cmake).
set(libraries sheaf)
foreach(target sheaf_omp sheaf_fortran sheaf_fortran_omp sheaf_fortran_static)
  if(TARGET ${target})
    list(APPEND libraries ${target})
  endif()
endforeach()
install(TARGETS ${libraries} LIBRARY DESTINATION ${SHEAF_LIB} ARCHIVE DESTINATION ${SHEAF_LIB})
set_target_properties(${libraries} PROPERTIES INSTALL_RPATH "$ORIGIN")

foreach(mpi ${SHEAF_MPIS})
  configure_file(packaging/pkgconfig/sheaf-mpi.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/sheaf-mpi-${mpi}.pc @ONLY)
  if(TARGET sheaf_fortran_${mpi})
    configure_file(packaging/pkgconfig/sheaf-fortran-mpi.pc.in
      ${CMAKE_BINARY_DIR}/pkgconfig/sheaf-fortran-mpi-${mpi}.pc @ONLY)
  endif()
endforeach()

install(DIRECTORY include/ DESTINATION include)
if(SHEAF_FORTRAN)
  install(DIRECTORY ${SHEAF_FORTRAN_MODULES}/ DESTINATION ${SHEAF_MODULES} FILES_MATCHING PATTERN "sion_f90*.mod"
    PATTERN "sfio_f90.mod")
  configure_file(packaging/pkgconfig/sheaf-fortran.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/sheaf-fortran.pc @ONLY)
  configure_file(packaging/pkgconfig/sheaf-fortran-omp.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/sheaf-fortran-omp.pc @ONLY)
endif()
if(NOT SHEAF_SYSTEM_LAYOUT)  # system packages have a separate place for them
  install(FILES LICENSE CHANGELOG.md CITATION.cff DESTINATION share/doc/sheaf)
endif()
install(FILES packaging/sheaf.magic DESTINATION share/misc)
install(FILES packaging/completion/sheaf.bash DESTINATION share/bash-completion/completions RENAME sheaf)
install(FILES packaging/completion/_sheaf DESTINATION share/zsh/site-functions)
install(FILES packaging/completion/sheaf.fish DESTINATION share/fish/vendor_completions.d)
install(DIRECTORY docs/man/ DESTINATION share/man/man1 FILES_MATCHING PATTERN "*.1")

configure_file(packaging/pkgconfig/sheaf.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/sheaf.pc @ONLY)
configure_file(packaging/pkgconfig/sheaf-omp.pc.in ${CMAKE_BINARY_DIR}/pkgconfig/sheaf-omp.pc @ONLY)
install(DIRECTORY ${CMAKE_BINARY_DIR}/pkgconfig DESTINATION ${SHEAF_LIB} FILES_MATCHING PATTERN "*.pc")

include(CMakePackageConfigHelpers)
file(RELATIVE_PATH package_to_prefix /p/${SHEAF_LIB}/cmake/Sheaf /p)
configure_file(packaging/cmake/SheafConfig.cmake.in ${CMAKE_BINARY_DIR}/package/SheafConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/SheafConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/SheafConfig.cmake ${CMAKE_BINARY_DIR}/package/SheafConfigVersion.cmake
  DESTINATION ${SHEAF_LIB}/cmake/Sheaf)

set(classic_source ${PROJECT_SOURCE_DIR}/packaging)
set(classic_build ${CMAKE_BINARY_DIR}/classic)
configure_file(packaging/install_classic.cmake.in ${classic_build}/install_classic.cmake @ONLY)
install(SCRIPT ${classic_build}/install_classic.cmake)
