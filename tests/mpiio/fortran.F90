! fortran FILE: views, collective and nonblocking access, info, handles and an error handler, through the
! binding that BINDING names: 1 mpif.h, 2 use mpi, 3 use mpi_f08. Rank 0 prints "all right".
module handled
  implicit none
  integer :: calls = 0, last = 0
contains
  subroutine handler(file, code)
#if BINDING == 3
    use mpi_f08
    type(MPI_File) :: file
#else
    integer :: file
#endif
    integer :: code
    calls = calls + 1
    last = code
    if (.false.) print *, file
  end subroutine
end module

program fortran_mpiio
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  use handled
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_File) :: file
  type(MPI_Datatype) :: view
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Errhandler) :: made
  type(MPI_Info) :: info
#else
  integer :: file, view, request, made, info, status(MPI_STATUS_SIZE)
#endif
  integer :: ierr, rank, tasks, i, n, wrong, other, values(100), back(100)
  integer(kind=MPI_OFFSET_KIND) :: offset, size
  character(len=256) :: path

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, tasks, ierr)
  call get_command_argument(1, path)
  wrong = 0
  values = [(1000 * rank + i, i = 1, 100)]
  call MPI_File_open(MPI_COMM_WORLD, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                     MPI_INFO_NULL, file, ierr)
  call check(ierr == MPI_SUCCESS, 1)
  call MPI_Type_vector(50, 1, tasks, MPI_INTEGER, view, ierr)
  call MPI_Type_commit(view, ierr)
  offset = 4 * rank
  call MPI_File_set_view(file, offset, MPI_INTEGER, view, 'native', MPI_INFO_NULL, ierr)
  call check(ierr == MPI_SUCCESS, 2)
  call MPI_File_write_all(file, values, 50, MPI_INTEGER, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  call check(n == 50, 3)
  offset = 0
  call MPI_File_iread_at(file, offset, back, 50, MPI_INTEGER, request, ierr)
  call MPI_Wait(request, status, ierr)
  call check(all(back(1:50) == values(1:50)), 4)
  call MPI_File_get_size(file, size, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_File_get_info(file, info, ierr)
  call MPI_Info_free(info, ierr)
  call MPI_File_get_amode(file, other, ierr)
  call check(other == MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, 5)
  call MPI_File_create_errhandler(handler, made, ierr)
  call MPI_File_set_errhandler(file, made, ierr)
  call check(ierr == MPI_SUCCESS, 6)
  offset = -1
  call MPI_File_write_at(file, offset, values, 1, MPI_INTEGER, status, ierr)
  call check(ierr /= MPI_SUCCESS .and. calls == 1 .and. last == ierr, 7)
  call MPI_Errhandler_free(made, ierr)
  call MPI_File_close(file, ierr)
  call check(ierr == MPI_SUCCESS .and. file == MPI_FILE_NULL, 8)
  call MPI_Type_free(view, ierr)
  call MPI_Reduce(wrong, other, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. other == 0) print '(a)', 'all right'
  call MPI_Finalize(ierr)
contains
  subroutine check(right, where)
    logical, intent(in) :: right
    integer, intent(in) :: where
    if (right) return
    print '(a,i0,a,i0)', 'rank ', rank, ': wrong at ', where
    wrong = wrong + 1
  end subroutine
end program
