! The SION interface for FORTRAN 77, to be included in fixed and free
! form sources. The routines are described in docs/api-fortran.md.
      integer sion_main_version, sion_sub_version
      integer sion_version_patchlevel, sion_fileformat_version
      integer sion_current_rank, sion_current_blk
      integer sion_current_chunk, sion_current_pos
      integer sion_absolute_pos, sion_success
      parameter (sion_main_version = 1)
      parameter (sion_sub_version = 7)
      parameter (sion_version_patchlevel = 6)
      parameter (sion_fileformat_version = 5)
      parameter (sion_current_rank = -101)
      parameter (sion_current_blk = -102)
      parameter (sion_current_chunk = -102)
      parameter (sion_current_pos = -103)
      parameter (sion_absolute_pos = -104)
      parameter (sion_success = 1)
      integer sion_dup_all, sion_dup_rank, sion_dup_rank_key
      integer sion_keyval_none, sion_keyval_inline
      integer sion_keyval_unknown
      parameter (sion_dup_all = -201)
      parameter (sion_dup_rank = -202)
      parameter (sion_dup_rank_key = -203)
      parameter (sion_keyval_none = 50)
      parameter (sion_keyval_inline = 51)
      parameter (sion_keyval_unknown = 54)
      integer sheaf_save_failed, sheaf_save_skipped
      integer sheaf_save_captured, sheaf_save_local
      integer sheaf_save_durable
      parameter (sheaf_save_failed = -1)
      parameter (sheaf_save_skipped = 0)
      parameter (sheaf_save_captured = 1)
      parameter (sheaf_save_local = 2)
      parameter (sheaf_save_durable = 3)
! Data of any type in one program unit, also for compilers that would
! otherwise compare the arguments of one call with those of another.
      interface
      subroutine fsion_write(data, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, size, nitems, rc
      integer data, size, nitems, sid, rc
      end subroutine
      subroutine fsion_fwrite(data, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, size, nitems, rc
      integer data, size, nitems, sid, rc
      end subroutine
      subroutine fsion_read(data, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, size, nitems, rc
      integer data, size, nitems, sid, rc
      end subroutine
      subroutine fsion_fread(data, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, size, nitems, rc
      integer data, size, nitems, sid, rc
      end subroutine
      subroutine fsion_coll_fwrite_mpi(data, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, size, nitems, rc
      integer data, size, nitems, sid, rc
      end subroutine
      subroutine fsion_coll_fread_mpi(data, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, size, nitems, rc
      integer data, size, nitems, sid, rc
      end subroutine
      subroutine fsion_fwrite_key(data, key, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, key, size, nitems, rc
      integer data, key, size, nitems, sid, rc
      end subroutine
      subroutine fsion_fread_key(data, key, size, nitems, sid, rc)
!GCC$ attributes no_arg_check :: data, key, size, nitems, rc
      integer data, key, size, nitems, sid, rc
      end subroutine
      subroutine fsion_swap(target, source, size, n, do_swap, rc)
!GCC$ attributes no_arg_check :: target, source, rc
      integer target, source, size, n, do_swap, rc
      end subroutine
      end interface
