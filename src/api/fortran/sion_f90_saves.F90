! The SION interface for Fortran: saves in the background (docs/async.md). A part of the module sion_f90.
! include/sheaf_save.h describes the calls.
!
! A save is an integer(8), 0 if there is none. fsheaf_save_free releases it.

module sion_f90_saves
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t
  implicit none
  public
  private :: c_char, c_int, c_int64_t

  integer, parameter :: sheaf_save_failed = -1
  integer, parameter :: sheaf_save_skipped = 0
  integer, parameter :: sheaf_save_captured = 1
  integer, parameter :: sheaf_save_local = 2
  integer, parameter :: sheaf_save_durable = 3

  interface
    subroutine fsheaf_parclose_async(sid, save) bind(C, name='fsheaf_parclose_async_c_')
      import :: c_int, c_int64_t
      integer(c_int), intent(in) :: sid
      integer(c_int64_t), intent(out) :: save
    end subroutine

    subroutine fsheaf_save_test(save, state) bind(C, name='fsheaf_save_test_c_')
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(in) :: save
      integer(c_int), intent(out) :: state
    end subroutine

    ! Sets `reached` to 1, or to 0 if the save has failed or was skipped.
    subroutine fsheaf_save_wait(save, state, reached) bind(C, name='fsheaf_save_wait_c_')
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(in) :: save
      integer(c_int), intent(in) :: state
      integer(c_int), intent(out) :: reached
    end subroutine

    subroutine fsheaf_save_progress(save, bytes, written, state) bind(C, name='fsheaf_save_progress_c_')
      import :: c_int, c_int64_t
      integer(c_int64_t), intent(in) :: save
      integer(c_int64_t), intent(out) :: bytes, written
      integer(c_int), intent(out) :: state
    end subroutine

    ! Sets `save` to 0.
    subroutine fsheaf_save_free(save) bind(C, name='fsheaf_save_free_c_')
      import :: c_int64_t
      integer(c_int64_t), intent(inout) :: save
    end subroutine
  end interface

contains

  subroutine fsheaf_save_of(name, save)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(out) :: save
    interface
      subroutine save_of_c(name, save, name_length) bind(C, name='fsheaf_save_of_c_')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: name(*)
        integer(c_int64_t), intent(out) :: save
        integer(c_int), value :: name_length
      end subroutine
    end interface
    call save_of_c(name, save, len(name))
  end subroutine

  ! Sets `message` to why the save has failed, truncated or filled with blanks.
  subroutine fsheaf_save_error(save, message)
    integer(c_int64_t), intent(in) :: save
    character(len=*), intent(inout) :: message
    interface
      subroutine save_error_c(save, message, message_length) bind(C, name='fsheaf_save_error_c_')
        import :: c_char, c_int, c_int64_t
        integer(c_int64_t), intent(in) :: save
        character(kind=c_char), intent(inout) :: message(*)
        integer(c_int), value :: message_length
      end subroutine
    end interface
    call save_error_c(save, message, len(message))
  end subroutine

  ! Sets `name`, filled with blanks, and `length`: 0 if no multifile matches, -1 on error or if `name` is too
  ! short.
  subroutine fsheaf_latest(pattern, name, length)
    character(len=*), intent(in) :: pattern
    character(len=*), intent(inout) :: name
    integer(c_int64_t), intent(out) :: length
    interface
      subroutine latest_c(pattern, name, length, pattern_length, name_length) bind(C, name='fsheaf_latest_c_')
        import :: c_char, c_int, c_int64_t
        character(kind=c_char), intent(in) :: pattern(*)
        character(kind=c_char), intent(inout) :: name(*)
        integer(c_int64_t), intent(out) :: length
        integer(c_int), value :: pattern_length, name_length
      end subroutine
    end interface
    call latest_c(pattern, name, length, len(pattern), len(name))
  end subroutine

end module sion_f90_saves
