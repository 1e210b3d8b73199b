! Listing 1 of the SC09 paper: parallel write.
!
!   mpirun -n 4 fortran_listing1_parallel_write FILE
!
! Open and close are collective. In between, every task writes to its own logical file at any time and as often as
! needed.
program listing1_parallel_write
  use mpi
  use sion_f90_mpi
  use listing_data
  implicit none
  character(len=1024) :: name
  integer :: task, ierr
  logical :: ok, all_ok

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, task, ierr)
  call get_command_argument(1, name)
  ok = command_argument_count() == 1
  if (ok) ok = write_stream()
  if (command_argument_count() /= 1 .and. task == 0) call give_usage('FILE')
  call MPI_Allreduce(ok, all_ok, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  if (task == 0) call say(name, all_ok, 'written by all tasks')
  call MPI_Finalize(ierr)
  if (.not. all_ok) error stop 1
contains

  logical function write_stream()
    integer :: files, block, global_rank, sid
    integer(i8) :: chunk, at, bytes, written
    character(len=1024) :: physical
    files = 1
    block = block_size
    chunk = chunk_size
    call fsion_paropen_mpi(name, 'bw', files, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, global_rank, &
                           physical, sid)
    write_stream = sid >= 0
    if (.not. write_stream) return
    do at = 0, stream_bytes(task) - 1, piece_size
      bytes = piece_bytes(task, at)
      call fsion_write(content(task, at, bytes), 1_i8, bytes, sid, written)
      write_stream = write_stream .and. written == bytes
    end do
    call fsion_parclose_mpi(sid, ierr)
    write_stream = write_stream .and. ierr == sion_success
  end function
end program listing1_parallel_write
