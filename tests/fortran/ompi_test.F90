! Tests the hybrid module under a real MPI with two threads per process. COMMUNICATORS is mpi or mpi_f08.
program hybrid_test
  use COMMUNICATORS
  use omp_lib, only: omp_get_thread_num
  use sion_f90_ompi
  use checks
  use peer
  implicit none
  integer, parameter :: threads = 2
  character(len=*), parameter :: name = 'fortran_ompi.sion'
  integer :: rank, processes, provided, ierr, files

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, ierr)
  do files = 1, min(processes, 2)
    call write_by_threads(files)
    call read_by_threads(files)
    if (rank == 0) call check(read_by_c(name, threads*processes), 'C reads what Fortran threads wrote')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call refuse_what_is_wrong
  if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
contains

  subroutine write_by_threads(files)
    integer, intent(in) :: files
    integer :: nfiles, fsblksize, task, sid, ierr
    integer(i8) :: chunk
    character(len=40) :: newname
    !$omp parallel num_threads(threads) private(nfiles, fsblksize, task, sid, ierr, chunk, newname)
    nfiles = files
    chunk = 1000
    fsblksize = 512
    newname = repeat('x', len(newname))
    call fsion_paropen_ompi(name//'   ', 'bw', nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, fsblksize, task, &
                            newname, sid)
    call check(sid >= 0 .and. nfiles == files, 'opened to write')
    call check(task == rank*threads + omp_get_thread_num(), 'number of the task')
    call check(newname(:len(name)) == name, 'name of the physical file')
    if (files == 1) call check(newname == name, 'the rest of the name is blank')
    call write_content(sid, task)
    call fsion_parclose_ompi(sid, ierr)
    call check(ierr == sion_success, 'closed')
    !$omp end parallel
  end subroutine

  subroutine read_by_threads(files)
    integer, intent(in) :: files
    integer :: nfiles, fsblksize, task, sid, ierr
    integer(i8) :: chunk
    character(len=1) :: newname
    !$omp parallel num_threads(threads) private(nfiles, fsblksize, task, sid, ierr, chunk, newname)
    call fsion_paropen_ompi(name, 'rb', nfiles, MPI_COMM_WORLD, MPI_COMM_NULL, chunk, fsblksize, task, newname, sid)
    call check(sid >= 0 .and. nfiles == files .and. chunk >= 1000 .and. fsblksize == 512, 'opened to read')
    call check(newname == name(1:1), 'the name is cut to the length of the variable')
    call check_content(sid, rank*threads + omp_get_thread_num())
    call fsion_parclose_ompi(sid, ierr)
    call check(ierr == sion_success, 'closed')
    !$omp end parallel
  end subroutine

  subroutine refuse_what_is_wrong
    integer :: nfiles, fsblksize, task, sid, ierr
    integer(i8) :: chunk
    character(len=9) :: newname
    !$omp parallel num_threads(threads) private(nfiles, fsblksize, task, sid, ierr, chunk, newname)
    nfiles = 1
    fsblksize = -1
    newname = 'untouched'
    chunk = 100
    if (omp_get_thread_num() == 1 .and. rank == 0) chunk = -1
    call fsion_paropen_ompi(name, 'bw', nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, fsblksize, task, newname, sid)
    call check(sid == -1, 'a negative chunk size of one thread is refused on all tasks')
    call check(newname == 'untouched', 'the name is not touched by a failure')
    call fsion_paropen_ompi(name, 'bw', nfiles, MPI_COMM_NULL, MPI_COMM_NULL, chunk, fsblksize, task, newname, sid)
    call check(sid == -1, 'no communicator')
    call fsion_parclose_ompi(4711, ierr)
    call check(ierr == -1, 'close of an invalid handle')
    !$omp end parallel
  end subroutine
end program hybrid_test
