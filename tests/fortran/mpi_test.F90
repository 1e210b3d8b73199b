! Tests the MPI calls of the module under a real MPI. COMMUNICATORS is the module of MPI, which determines the
! type of communicators: mpi (integer) or mpi_f08 (type(MPI_Comm)).
program tasks_test
  use COMMUNICATORS
  use sion_f90_mpi
  use checks
  use peer
  implicit none
  integer :: rank, tasks, ierr, files
  character(len=*), parameter :: name = 'fortran_mpi.sion'

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, tasks, ierr)
  do files = 1, min(tasks, 2)
    call write_in_parallel(files)
    call read_in_parallel(files)
    if (rank == 0) call check(read_by_c(name, tasks), 'C reads what Fortran tasks wrote')
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  call refuse_what_is_wrong
  if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
contains

  subroutine write_in_parallel(files)
    integer, intent(in) :: files
    integer :: nfiles, fsblksize, globalrank, sid
    integer(i8) :: chunksize
    character(len=40) :: newname
    nfiles = files
    chunksize = 1000
    fsblksize = 512
    newname = repeat('x', len(newname))
    call fsion_paropen_mpi(name//'   ', 'bw', nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunksize, fsblksize, &
                           globalrank, newname, sid)
    call check(sid >= 0 .and. globalrank == rank .and. nfiles == files, 'opened to write')
    call check(newname(:len(name)) == name, 'name of the physical file')
    if (files == 1) call check(newname == name, 'the rest of the name is blank')
    call write_content(sid, rank)
    call fsion_parclose_mpi(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine read_in_parallel(files)
    integer, intent(in) :: files
    integer :: nfiles, fsblksize, globalrank, sid, found(10), expected(10)
    double precision :: halves(10)
    integer(i8) :: chunksize, rc
    character(len=1) :: newname
    call fsion_paropen_mpi(name, 'rb', nfiles, MPI_COMM_WORLD, MPI_COMM_NULL, chunksize, fsblksize, globalrank, &
                           newname, sid)
    call check(sid >= 0 .and. nfiles == files .and. chunksize >= 1000 .and. fsblksize == 512, 'opened to read')
    call check(newname == name(1:1), 'the name is cut to the length of the variable')
    call check_content(sid, rank)
    call fsion_seek(sid, sion_current_rank, 0, 0_i8, ierr)
    call fsion_coll_fread_mpi(found, 4_i8, 10_i8, sid, rc)
    call content(rank, expected, halves)
    call check(rc == 10 .and. all(found == expected), 'collective read')
    call fsion_parclose_mpi(sid, ierr)
    call check(ierr == sion_success, 'closed')
    call write_collectively
  end subroutine

  subroutine write_collectively
    integer :: nfiles, fsblksize, globalrank, sid, data(rank + 1)
    integer(i8) :: chunksize, rc
    character(len=40) :: newname
    nfiles = 1
    chunksize = 100
    fsblksize = -1
    data = rank
    call fsion_paropen_mpi('fortran_mpi_coll.sion', 'bw', nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunksize, &
                           fsblksize, globalrank, newname, sid)
    call fsion_coll_fwrite_mpi(data, 4_i8, size(data, kind=i8), sid, rc)
    call check(rc == rank + 1, 'collective write')
    call fsion_coll_fwrite_mpi_integer(data(1), 4_i8, 1_i8, sid, rc)
    call check(rc == 1, 'collective write by the name of the type')
    call fsion_parclose_mpi(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine refuse_what_is_wrong
    integer :: nfiles, fsblksize, globalrank, sid
    integer(i8) :: chunksize
    character(len=40) :: newname
    nfiles = 1
    chunksize = merge(-1, 100, rank == 0)
    fsblksize = -1
    newname = 'untouched'
    call fsion_paropen_mpi(name, 'bw', nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunksize, fsblksize, globalrank, &
                           newname, sid)
    call check(sid == -1, 'a negative chunk size of one task is refused on all')
    call check(newname == 'untouched', 'the name is not touched by a failure')
    call fsion_paropen_mpi(name, 'bw', nfiles, MPI_COMM_NULL, MPI_COMM_NULL, chunksize, fsblksize, globalrank, &
                           newname, sid)
    call check(sid == -1, 'no communicator')
    call fsion_parclose_mpi(4711, ierr)
    call check(ierr == -1, 'close of an invalid handle')
  end subroutine
end program tasks_test
