# -DSHEAF_FLAVOUR=tools: an installation for tracing libraries, which may be linked into programs that use the
# ordinary library. It contains the core as static archives with the classic names liblsioncom_64.a, liblsiongen_64.a,
# liblsionser_64.a. All names start with l (packaging/tools_flavour.sh) and environment variables with L; the headers
# and sionconfig use these names. The tools are included. MPI, OpenMP, Fortran and shared libraries are not: tracing
# libraries provide their own communication (sion_generic.h).
set_target_properties(sheaf sheaf_static sheaf_omp sheaf_omp_static sheaf_omp_objects sheaf_sharedfile PROPERTIES EXCLUDE_FROM_ALL TRUE)
set(script ${PROJECT_SOURCE_DIR}/packaging/tools_flavour.sh)
set(archive ${CMAKE_BINARY_DIR}/tools/liblsheaf.a)
set(header ${CMAKE_BINARY_DIR}/tools/sion_libversion_rep.h)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
add_custom_command(OUTPUT ${archive} ${header}
  COMMAND ${SHEAF_BINUTILS} ${script} ${archive} ${header} ${PROJECT_SOURCE_DIR}/include ${core_objects}
  DEPENDS ${script} ${PROJECT_SOURCE_DIR}/packaging/archive.ld ${core_objects} COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(sheaf_tools_flavour ALL DEPENDS ${archive} ${header})
add_dependencies(sheaf_tools_flavour ${core_targets})

install(FILES ${archive} DESTINATION ${SHEAF_LIB})
install(FILES LICENSE CHANGELOG.md CITATION.cff DESTINATION share/doc/sheaf)
install(DIRECTORY docs/man/ DESTINATION share/man/man1 FILES_MATCHING PATTERN "*.1"
  REGEX "(partest|iod|mpiio|run|mount)\\.1$" EXCLUDE)
install(DIRECTORY include/ DESTINATION include PATTERN "sion_libversion_rep.h" EXCLUDE
  PATTERN "*mpi*" EXCLUDE PATTERN "*omp.*" EXCLUDE PATTERN "sfio.h" EXCLUDE PATTERN "mio.h" EXCLUDE PATTERN "sion_f77.h" EXCLUDE
  PATTERN "include/sheaf" EXCLUDE)
install(FILES ${header} DESTINATION include)
sheaf_describe_build(sheaf_cli_views)
set(classic_source ${PROJECT_SOURCE_DIR}/packaging)
set(classic_build ${CMAKE_BINARY_DIR}/classic)
configure_file(packaging/install_classic.cmake.in ${classic_build}/install_classic.cmake @ONLY)
install(SCRIPT ${classic_build}/install_classic.cmake)
