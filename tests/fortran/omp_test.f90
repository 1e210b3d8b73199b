! Tests the OpenMP module, in which every thread of a team is a task of one multifile.
program omp_test
  use omp_lib, only: omp_get_thread_num, omp_get_num_threads
  use sion_f90_omp
  use checks
  use peer
  implicit none
  character(len=40) :: name = 'fortran_omp.sion'
  integer, parameter :: threads = 4
  character(len=2), parameter :: writing(2) = ['bw', 'wb']
  integer :: round

  do round = 1, 2
    call write_with(threads)
    call check(read_by_c(name, threads), 'C reads what Fortran threads wrote')
    call read_with(threads)
  end do
  call write_with(1)
  call check(read_by_c(name, 1), 'a team of one')
  call refuse_what_is_wrong
  call finish
contains

  subroutine write_with(team)
    integer, intent(in) :: team
    integer :: fsblksize, rank, sid, ierr, thread
    integer(i8) :: chunk
    character(len=30) :: newname
    !$omp parallel num_threads(team) private(fsblksize, rank, sid, ierr, thread, chunk, newname)
    thread = omp_get_thread_num()
    fsblksize = 512
    chunk = 1000 + thread
    rank = -5
    newname = repeat('x', len(newname))
    call check(omp_get_num_threads() == team, 'the team has the size asked for')
    call fsion_paropen_omp(name, writing(min(round, 2)), chunk, fsblksize, rank, newname, sid)
    call check(sid >= 0 .and. rank == thread, 'opened to write')
    call check(newname == name, 'name of the physical file, filled with blanks')
    call write_content(sid, rank)
    call fsion_parclose_omp(sid, ierr)
    call check(ierr == sion_success, 'closed')
    !$omp end parallel
  end subroutine

  subroutine read_with(team)
    integer, intent(in) :: team
    integer :: fsblksize, rank, sid, ierr
    integer(i8) :: chunk
    character(len=3) :: newname
    !$omp parallel num_threads(team) private(fsblksize, rank, sid, ierr, chunk, newname)
    rank = -5
    call fsion_paropen_omp(trim(name), 'br', chunk, fsblksize, rank, newname, sid)
    call check(sid >= 0 .and. fsblksize == 512 .and. chunk >= 1000, 'opened to read')
    call check(rank == -5, 'reading leaves the number alone')
    call check(newname == name(1:3), 'the name is cut')
    call check_content(sid, omp_get_thread_num())
    call fsion_parclose_omp(sid, ierr)
    call check(ierr == sion_success, 'closed')
    !$omp end parallel
  end subroutine

  subroutine refuse_what_is_wrong
    integer :: fsblksize, rank, sid, ierr
    integer(i8) :: chunk
    character(len=9) :: newname
    !$omp parallel num_threads(threads) private(fsblksize, rank, sid, ierr, chunk, newname)
    fsblksize = -1
    newname = 'untouched'
    chunk = 100
    if (omp_get_thread_num() == 2) chunk = -1
    call fsion_paropen_omp(name, 'bw', chunk, fsblksize, rank, newname, sid)
    call check(sid == -1, 'a negative chunk size of one thread is refused on all')
    call check(newname == 'untouched', 'the name is not touched by a failure')
    call fsion_paropen_omp('/nonexistent/directory/file', 'rb', chunk, fsblksize, rank, newname, sid)
    call check(sid == -1, 'a file that is not there')
    call fsion_parclose_omp(4711, ierr)
    call check(ierr == 0, 'close of an invalid handle')
    !$omp end parallel
  end subroutine
end program omp_test
