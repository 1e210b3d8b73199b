! Listing 3 of the SC09 paper: serial write.
!
!   fortran_listing3_serial_write FILE TASKS
!
! One process writes the logical files of all tasks, like a converter or a generator of input data. It passes an array
! of chunk sizes instead of a single one, and fsion_seek selects the task to write to. The program writes the pieces
! of the tasks in turn, to show that each stream continues at its last position.
program listing3_serial_write
  use sion_f90
  use listing_data
  implicit none
  character(len=1024) :: name
  integer :: tasks, files, block, sid, ierr, task
  integer, allocatable :: global_ranks(:)
  integer(i8), allocatable :: chunk_sizes(:)
  logical :: ok

  call get_command_argument(1, name)
  tasks = number_argument(2)
  if (command_argument_count() /= 2 .or. tasks < 1) then
    call give_usage('FILE TASKS')
    error stop 1
  end if
  allocate(chunk_sizes(tasks), global_ranks(tasks))
  chunk_sizes = chunk_size
  global_ranks = [(task, task = 0, tasks - 1)]
  files = 1
  block = block_size
  call fsion_open(name, 'bw', tasks, files, chunk_sizes, block, global_ranks, sid)
  ok = sid >= 0
  if (ok) then
    ok = write_all()
    call fsion_close(sid, ierr)
    ok = ok .and. ierr == sion_success
  end if
  call say(name, ok, 'written for all tasks')
  if (.not. ok) error stop 1
contains

  logical function write_all()
    integer(i8) :: at, bytes, written
    write_all = .true.
    do at = 0, stream_bytes(tasks - 1) - 1, piece_size
      do task = 0, tasks - 1
        bytes = piece_bytes(task, at)
        if (bytes <= 0) cycle
        call fsion_seek(sid, task, sion_current_blk, sion_current_pos, ierr)
        call fsion_write(content(task, at, bytes), 1_i8, bytes, sid, written)
        write_all = write_all .and. ierr == sion_success .and. written == bytes
      end do
    end do
  end function
end program listing3_serial_write
