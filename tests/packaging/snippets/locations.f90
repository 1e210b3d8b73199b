! build: gfortran $(sionconfig --cflags --ser --f90) app.f90 -o app $(sionconfig --libs --ser --f90)
! run: ./app
program app
  use sion_f90
  implicit none
  integer :: tasks = 2, files = 1, block = -1, task_numbers(2) = [0, 1], sid, ierr
  integer(8) :: chunks(2) = 100, written

  call fsion_open('out.sion', 'bw', tasks, files, chunks, block, task_numbers, sid)
  call fsion_write('text', 1_8, 4_8, sid, written)
  call fsion_close(sid, ierr)
  call fsion_open('out.sion', 'br', tasks, files, chunks, block, task_numbers, sid)
  call show
  call fsion_close(sid, ierr)
  if (ierr /= sion_success) error stop 1
contains
  subroutine show
    @SNIPPET@
    if (sizes(1) < 100 .or. any(ranks /= [0, 1]) .or. sum(blocksizes) /= 4) error stop 2
  end subroutine
end program
