! A checkpoint of all tasks in one multifile, written and read back.
!
!   mpirun -n 4 checkpoint FILE
!
! Compile with the MPI's wrapper and what sionconfig prints:
!   mpif90 $(sionconfig --cflags --mpi --f90) checkpoint.f90 -o checkpoint $(sionconfig --libs --mpi --f90)
program checkpoint
  use mpi_f08
  use sion_f90_mpi
  implicit none
  integer, parameter :: i8 = selected_int_kind(18)
  double precision :: field(100, 50), again(100, 50)
  character(len=1024) :: file
  integer :: step = 7, found_step, task

  call MPI_Init()
  call get_command_argument(1, file)
  call MPI_Comm_rank(MPI_COMM_WORLD, task)
  call random_number(field)
  if (.not. save(field)) call give_up('cannot write')
  if (.not. restore(again)) call give_up('cannot read')
  if (found_step /= step .or. any(abs(field - again) > 0)) call give_up('other data in')
  if (task == 0) print '(2a)', trim(file), ': written and read back by all tasks'
  call MPI_Finalize()
contains

  ! Open and close are collective. In between, every task writes at any time; data may have any type and rank.
  logical function save(data)
    double precision, intent(in) :: data(:, :)
    integer :: files = 1, block = -1, rank, sid, ierr
    integer(i8) :: chunk, items, written
    character(len=1024) :: physical
    items = size(data, kind=i8)
    chunk = 4 + 8*items
    call fsion_paropen_mpi(file, 'bw', files, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, rank, physical, sid)
    save = sid >= 0
    if (.not. save) return
    call fsion_write(step, 4_i8, 1_i8, sid, written)
    call fsion_write(data, 8_i8, items, sid, written)
    call fsion_parclose_mpi(sid, ierr)
    save = written == items .and. ierr == sion_success
  end function

  logical function restore(data)
    double precision, intent(out) :: data(:, :)
    integer :: files, block, rank, sid, ierr
    integer(i8) :: chunk, found
    character(len=1024) :: physical
    call fsion_paropen_mpi(file, 'br', files, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, rank, physical, sid)
    restore = sid >= 0
    if (.not. restore) return
    call fsion_read(found_step, 4_i8, 1_i8, sid, found)
    call fsion_read(data, 8_i8, size(data, kind=i8), sid, found)
    call fsion_parclose_mpi(sid, ierr)
    restore = found == size(data) .and. ierr == sion_success
  end function

  subroutine give_up(what)
    character(len=*), intent(in) :: what
    print '(a, i0, 4a)', 'task ', task, ': ', what, ' ', trim(file)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program checkpoint
