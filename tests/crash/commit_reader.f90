! commit_reader PATH...: opens each PATH, saved by commit_writer, with fsion_open. Prints a line "PATH
! fsion_open STEP" with the step that it finds: -1 if PATH cannot be opened, -2 if its streams are not those
! of one step.
program commit_reader
  use, intrinsic :: iso_c_binding
  use sion_f90
  implicit none
  integer, parameter :: i8 = selected_int_kind(15), tasks = 5, numbers = 3000
  character(len=500) :: path
  integer :: i

  do i = 1, command_argument_count()
    call get_command_argument(i, path)
    write (*, '(a, a, i0)') trim(path), ' fsion_open ', step_in(path)
  end do
contains

  integer(i8) function step_in(path)
    character(len=*), intent(in) :: path
    integer :: ntasks, nfiles, fsblksize, sid, ierr, task, ranks(1)
    integer(i8) :: sizes(1), read, stream(numbers)
    character(len=10) :: mode = 'rb'
    step_in = -1
    call fsion_open(path, mode, ntasks, nfiles, sizes(1), fsblksize, ranks(1), sid)
    if (sid < 0) return
    do task = 0, tasks - 1
      call fsion_seek(sid, task, 0, 0_i8, ierr)
      call fsion_read(stream, 8_i8, int(numbers, i8), sid, read)
      if (task == 0) step_in = stream(1)
      if (read /= numbers .or. any(stream(1::2) /= step_in) .or. any(stream(2::2) /= task)) step_in = -2
    end do
    call fsion_close(sid, ierr)
  end function
end program
