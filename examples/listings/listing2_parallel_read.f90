! Listing 2 of the SC09 paper: parallel read.
!
!   mpirun -n 4 fortran_listing2_parallel_read FILE      (with as many tasks as have written FILE)
!
! Every task reads its own logical file to the end and compares it with the data written by listing 1 or 3.
program listing2_parallel_read
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
  if (ok) ok = read_stream()
  if (command_argument_count() /= 1 .and. task == 0) call give_usage('FILE')
  call MPI_Allreduce(ok, all_ok, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  if (task == 0) call say(name, all_ok, 'read and verified by all tasks')
  call MPI_Finalize(ierr)
  if (.not. all_ok) error stop 1
contains

  ! Reads pieces of at most the rest of the current chunk; fsion_feof continues in the next chunk.
  logical function read_stream()
    integer :: files, block, global_rank, sid, eof
    integer(i8) :: chunk, at, bytes, got
    character(len=1024) :: physical
    character(len=piece_size) :: data
    call fsion_paropen_mpi(name, 'br', files, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, block, global_rank, &
                           physical, sid)
    read_stream = sid >= 0
    if (.not. read_stream) return
    at = 0
    do
      call fsion_feof(sid, eof)
      if (eof /= 0 .or. .not. read_stream) exit
      bytes = min(fsion_bytes_avail_in_chunk(sid), int(piece_size, i8))
      call fsion_read(data, 1_i8, bytes, sid, got)
      read_stream = got > 0 .and. got == bytes
      if (read_stream) read_stream = is_content(task, at, data(:got))
      at = at + got
    end do
    call fsion_parclose_mpi(sid, ierr)
    read_stream = read_stream .and. at == stream_bytes(task) .and. ierr == sion_success
  end function
end program listing2_parallel_read
