# make install PREFIX=...: libraries, headers, programs and manual pages.
install(TARGETS sheaf sheaf_static LIBRARY DESTINATION lib ARCHIVE DESTINATION lib)
foreach(mpi ${SHEAF_MPIS})
  install(TARGETS sheaf_${mpi} sheaf_${mpi}_static LIBRARY DESTINATION lib/${mpi} ARCHIVE DESTINATION lib/${mpi})
  set_target_properties(sheaf_${mpi} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
endforeach()
install(DIRECTORY include/ DESTINATION include)
install(DIRECTORY docs/man/ DESTINATION share/man/man1 FILES_MATCHING PATTERN "*.1")
