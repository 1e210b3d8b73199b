! A write fails because of a limit on the file size. The flush and the close must report the failure; if the write
! is in the background, the close or the save. The program must run with a small limit (ulimit -f).
program failed_write_test
  use, intrinsic :: iso_c_binding
  use sion_f90
  use checks
  implicit none
  integer, parameter :: i8 = c_int64_t, elements = 200000
  character(len=64) :: name = 'fortran_failed_write.sion'
  integer :: ntasks, nfiles, fsblksize, sid, ierr
  integer(i8) :: sizes(1), rc
  integer :: ranks(1)
  logical :: exists
  double precision, allocatable :: values(:)
  allocate(values(elements))
  values = 0.5d0
  ntasks = 1
  nfiles = 1
  sizes = 1000
  ranks = 0
  fsblksize = 512
  call fsion_open(name, 'bw,atomic', ntasks, nfiles, sizes, fsblksize, ranks, sid)
  call check(sid >= 0, 'opened')
  call fsion_write(values, 8_i8, int(elements, i8), sid, rc)
  call check(rc /= elements, 'the write fails')
  call fsion_flush(sid, ierr)
  call check(ierr /= sion_success, 'the flush fails')
  call fsion_close(sid, ierr)
  call check(ierr /= sion_success, 'the close fails')
  inquire(file=name, exist=exists)
  call check(.not. exists, 'there is no file')
  call fail_in_background
  call finish
contains

  subroutine fail_in_background
    integer(i8) :: save
    integer :: state, reached
    character(len=200) :: message
    call fsion_open('fortran_failed_save.sion', 'bw,async', ntasks, nfiles, sizes, fsblksize, ranks, sid)
    call check(sid >= 0, 'opened in the background')
    call fsion_write(values, 8_i8, int(elements, i8), sid, rc)
    call fsheaf_parclose_async(sid, save)
    if (save /= 0) then
      call fsheaf_save_wait(save, sheaf_save_durable, reached)
      call check(reached == 0, 'the save fails')
      call fsheaf_save_test(save, state)
      call check(state == sheaf_save_failed, 'the save has failed')
      call fsheaf_save_error(save, message)
      call check(index(message, 'fortran_failed_save.sion') > 0, 'its error names the file')
      call fsheaf_save_free(save)
    end if
    inquire(file='fortran_failed_save.sion', exist=exists)
    call check(.not. exists, 'there is no file of the failed save')
  end subroutine
end program
