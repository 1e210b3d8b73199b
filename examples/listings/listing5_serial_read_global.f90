! Listing 5 of the SC09 paper: serial read with the global view.
!
!   fortran_listing5_serial_read_global FILE
!
! One process opens all logical files at once and gets the numbers of tasks and chunks and the bytes in each chunk. It
! can seek to any chunk; this program reads every chunk, the last one first.
program listing5_serial_read_global
  use sion_f90
  use listing_data
  implicit none
  character(len=1024) :: name
  integer :: tasks, files, block, sid, ierr, unused_ranks(1)
  integer(i8) :: unused_sizes(1)
  logical :: ok

  call get_command_argument(1, name)
  if (command_argument_count() /= 1) then
    call give_usage('FILE')
    error stop 1
  end if
  call fsion_open(name, 'br', tasks, files, unused_sizes, block, unused_ranks, sid)
  ok = sid >= 0
  if (ok) then
    ok = read_all()
    call fsion_close(sid, ierr)
    ok = ok .and. ierr == sion_success
  end if
  call say(name, ok, 'all chunks of all tasks read and verified')
  if (.not. ok) error stop 1
contains

  logical function read_all()
    integer :: rounds, task, round
    integer(i8) :: round_bytes, end_of_data, all_bytes
    integer(i8), allocatable :: chunk_sizes(:), global_ranks(:), chunk_counts(:), sizes(:, :)
    call fsion_get_locations(sid, tasks, rounds, round_bytes, end_of_data, chunk_sizes, global_ranks, &
                             chunk_counts, sizes, ierr)
    read_all = ierr == sion_success
    if (.not. read_all) return
    do task = tasks - 1, 0, -1
      all_bytes = sum(sizes(task + 1, :chunk_counts(task + 1)))
      print '(a, i3, 3(a, i0), a)', 'task ', task, ': ', chunk_counts(task + 1), ' chunks of ', &
        chunk_sizes(task + 1), ' bytes hold ', all_bytes, ' bytes'
      read_all = read_all .and. all_bytes == stream_bytes(task)
      do round = int(chunk_counts(task + 1)), 1, -1
        if (read_all) read_all = read_chunk(task, round - 1, sizes(task + 1, round), &
                                            sum(sizes(task + 1, :round - 1)))
      end do
    end do
  end function

  ! Checks a chunk of `bytes` bytes that starts at byte `at` of the stream.
  logical function read_chunk(task, chunk, bytes, at)
    integer, intent(in) :: task, chunk
    integer(i8), intent(in) :: bytes, at
    character(len=bytes) :: data
    integer(i8) :: got
    call fsion_seek(sid, task, chunk, 0_i8, ierr)
    call fsion_read(data, 1_i8, bytes, sid, got)
    read_chunk = ierr == sion_success .and. got == bytes
    if (read_chunk) read_chunk = is_content(task, at, data)
  end function
end program listing5_serial_read_global
