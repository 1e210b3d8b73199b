/* api/mpiio/front/names: every function of the drop-in, without MPI_ or PMPI_: X(name) for those that begin
 * to work on files, and Y(name) for those that programs without files call too, which need no engine before
 * there is one. */
#define SHEAF_MPIIO_NAMES(X, Y)                                                                              \
  X(File_c2f)                                                                                                \
  X(File_call_errhandler)                                                                                    \
  X(File_close) X(File_create_errhandler) X(File_delete) X(File_f2c) X(File_fromint) X(File_get_amode) X(    \
      File_get_atomicity) X(File_get_byte_offset) X(File_get_errhandler) X(File_get_group) X(File_get_info)  \
      X(File_get_position) X(File_get_position_shared) X(File_get_size) X(File_get_type_extent)              \
          X(File_get_type_extent_c) X(File_get_view) X(File_iread) X(File_iread_all) X(File_iread_all_c) X(  \
              File_iread_at) X(File_iread_at_all) X(File_iread_at_all_c) X(File_iread_at_c) X(File_iread_c)  \
              X(File_iread_shared) X(File_iread_shared_c) X(File_iwrite) X(File_iwrite_all) X(               \
                  File_iwrite_all_c) X(File_iwrite_at) X(File_iwrite_at_all) X(File_iwrite_at_all_c)         \
                  X(File_iwrite_at_c) X(File_iwrite_c) X(File_iwrite_shared) X(File_iwrite_shared_c) X(      \
                      File_open) X(File_preallocate) X(File_read) X(File_read_all) X(File_read_all_begin)    \
                      X(File_read_all_begin_c) X(File_read_all_c) X(File_read_all_end) X(File_read_at) X(    \
                          File_read_at_all) X(File_read_at_all_begin) X(File_read_at_all_begin_c)            \
                          X(File_read_at_all_c) X(File_read_at_all_end) X(File_read_at_c) X(File_read_c) X(  \
                              File_read_ordered) X(File_read_ordered_begin) X(File_read_ordered_begin_c)     \
                              X(File_read_ordered_c) X(File_read_ordered_end) X(File_read_shared) X(         \
                                  File_read_shared_c) X(File_seek) X(File_seek_shared) X(File_set_atomicity) \
                                  X(File_set_errhandler) X(File_set_info) X(File_set_size) X(File_set_view)  \
                                      X(File_sync) X(File_toint) X(File_write) X(File_write_all) X(          \
                                          File_write_all_begin) X(File_write_all_begin_c)                    \
                                          X(File_write_all_c) X(File_write_all_end) X(File_write_at) X(      \
                                              File_write_at_all) X(File_write_at_all_begin)                  \
                                              X(File_write_at_all_begin_c) X(File_write_at_all_c) X(         \
                                                  File_write_at_all_end) X(File_write_at_c) X(File_write_c)  \
                                                  X(File_write_ordered) X(File_write_ordered_begin)          \
                                                      X(File_write_ordered_begin_c) X(File_write_ordered_c)  \
                                                          X(File_write_ordered_end) X(File_write_shared)     \
                                                              X(File_write_shared_c) X(Register_datarep)     \
                                                                  X(Register_datarep_c) Y(Errhandler_free)   \
                                                                      Y(Error_string)
