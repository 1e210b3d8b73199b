! Listing 4 of the SC09 paper: serial read with the view of one task.
!
!   fortran_listing4_serial_read_local FILE TASK
!
! One process opens the logical file of a single task and reads it as in the parallel case (listing 2).
program listing4_serial_read_local
  use sion_f90
  use listing_data
  implicit none
  character(len=1024) :: name
  character(len=32) :: which
  integer :: task, block, sid, ierr
  integer(i8) :: chunk
  logical :: ok

  call get_command_argument(1, name)
  call get_command_argument(2, which)
  task = number_argument(2)
  if (command_argument_count() /= 2 .or. task < 0) then
    call give_usage('FILE TASK')
    error stop 1
  end if
  call fsion_open_rank(name, 'br', chunk, block, task, sid)
  ok = sid >= 0
  if (ok) then
    ok = read_stream()
    call fsion_close(sid, ierr)
    ok = ok .and. ierr == sion_success
  end if
  call say(trim(name)//': task '//which, ok, 'read and verified')
  if (.not. ok) error stop 1
contains

  logical function read_stream()
    integer :: eof
    integer(i8) :: at, bytes, got
    character(len=piece_size) :: data
    read_stream = .true.
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
    read_stream = read_stream .and. at == stream_bytes(task)
  end function
end program listing4_serial_read_local
