! Passes constants, expressions and intent(in) dummy arguments wherever the original's modules have
! intent(in).
program constants_test
#ifdef WITH_MPI
  use mpi
  use sion_f90_mpi
  use sion_f90_ompi, only: fsion_paropen_ompi, fsion_parclose_ompi
#else
  use sion_f90
#endif
  use checks
  implicit none
  integer, parameter :: i8 = selected_int_kind(18)
  character(len=2) :: writing = 'bw'
  integer :: ierr

#ifdef WITH_MPI
  call MPI_Init(ierr)
  call in_parallel(rank_of_task())
  call hybrid
  if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
#else
  call serial
  call on_a_handle
  if (failures > 0) error stop 1
#endif
contains

#ifndef WITH_MPI
  subroutine serial
    integer, parameter :: one = 1
    character(len=2) :: reading = 'br'
    integer :: sid, blocksize, tasks, files
    integer(i8) :: chunk, rc
    chunk = 100
    blocksize = 512
    call fsion_open('constants.sion', writing, one, 2 - 1, chunk, blocksize, 7, sid)
    call check(sid >= 0, 'opened to write with constants')
    call fsion_fwrite('abcd', 1_i8, 4_i8, sid, rc)
    call check(rc == 4, 'written')
    call fsion_close(sid, ierr)
    call fsion_open('constants.sion', reading, 123, 45, chunk, blocksize, 0, sid)
    call check(sid >= 0, 'opened to read with constants that the file does not have')
    call fsion_close(sid, ierr)
    tasks = 123
    files = 45
    call fsion_open('constants.sion', reading, tasks, files, chunk, blocksize, 0, sid)
    call check(tasks == 1 .and. files == 1, 'variables are set')
    call fsion_close(sid, ierr)
  end subroutine

  subroutine on_a_handle
    integer, parameter :: one = 1
    character(len=2) :: reading = 'br'
    integer :: sid, blocksize, swapped
    integer(i8) :: chunk
    character(len=4) :: text
    integer(i8) :: rc
    call fsion_open_rank('constants.sion', reading, chunk, blocksize, one - 1, sid)
    call check(sid >= 0, 'a task by an expression')
    call fsion_fread(text, 1_i8, 4_i8, sid, rc)
    call check(rc == 4 .and. text == 'abcd', 'read')
    call fsion_seek(sid, sion_current_rank, 0, 0_i8, ierr)
    call check(ierr == sion_success, 'sought')
    call fsion_swap(swapped, 1, 4, 1, 1, 0)
    call check(swapped == 16777216, 'swapped a constant')
    call fsion_close(sid, ierr)
  end subroutine

#else
  integer function rank_of_task()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank_of_task, ierr)
  end function

  subroutine in_parallel(rank)
    integer, intent(in) :: rank
    integer :: sid, blocksize
    integer(i8) :: chunk
    character(len=8) :: newname
    chunk = 100
    blocksize = 512
    call fsion_paropen_mpi('constants_mpi.sion', 'bw', 1, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, blocksize, rank, &
                           newname, sid)
    call check(sid >= 0, 'opened to write with a rank that may not change')
    call fsion_parclose_mpi(sid, ierr)
    call fsion_paropen_mpi('constants_mpi.sion', 'br', 45, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, blocksize, 123, &
                           newname, sid)
    call check(sid >= 0, 'opened to read with constants that the file does not have')
    call fsion_parclose_mpi(sid, ierr)
  end subroutine

  subroutine hybrid
    integer :: sid, blocksize, rank
    integer(i8) :: chunk
    character(len=8) :: newname
    chunk = 100
    blocksize = 512
    rank = rank_of_task()
    call fsion_paropen_ompi('constants_ompi.sion', writing, 1, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, blocksize, rank, &
                            newname, sid)
    call check(sid >= 0, 'opened to write with a constant number of files')
    call fsion_parclose_ompi(sid, ierr)
  end subroutine
#endif
end program
