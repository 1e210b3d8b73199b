! The contents that the five listings write and expect, identical to those of listing_data.h.
!
! Task r has a stream of stream_bytes(r) bytes, written and read in pieces of at most piece_size bytes. chunk_size is
! so small that every task needs several chunks, as in real programs that do not know the amount of data at open.
module listing_data
  use, intrinsic :: iso_fortran_env, only: error_unit, i8 => int64
  implicit none
  integer, parameter :: piece_size = 1000, block_size = 4096
  integer(i8), parameter :: chunk_size = 4096
contains

  integer(i8) function stream_bytes(task)
    integer, intent(in) :: task
    stream_bytes = 10000 + 500*int(task, i8)
  end function

  ! Returns the bytes of the piece that starts at offset `at` in the stream of `task`.
  integer(i8) function piece_bytes(task, at)
    integer, intent(in) :: task
    integer(i8), intent(in) :: at
    piece_bytes = min(stream_bytes(task) - at, int(piece_size, i8))
  end function

  ! Returns `bytes` bytes of the stream of `task`, starting at byte `at`.
  function content(task, at, bytes) result(data)
    integer, intent(in) :: task
    integer(i8), intent(in) :: at, bytes
    character(len=bytes) :: data
    integer(i8) :: i
    do i = 1, bytes
      data(i:i) = achar(iand((at + i - 1)*7 + (at + i - 1)/251 + task*31, 127_i8))
    end do
  end function

  ! Returns whether `data` equals the stream of `task` from byte `at` on.
  logical function is_content(task, at, data)
    integer, intent(in) :: task
    integer(i8), intent(in) :: at
    character(len=*), intent(in) :: data
    is_content = at + len(data) <= stream_bytes(task)
    if (is_content) is_content = data == content(task, at, len(data, i8))
    if (.not. is_content) write(error_unit, '(a, i0, a, i0)') 'task ', task, ': wrong bytes from byte ', at
  end function

  subroutine say(name, ok, success)
    character(len=*), intent(in) :: name, success
    logical, intent(in) :: ok
    if (ok) print '(3a)', trim(name), ': ', success
    if (.not. ok) print '(2a)', trim(name), ': FAILED'
  end subroutine

  subroutine give_usage(arguments)
    character(len=*), intent(in) :: arguments
    character(len=1024) :: program_name
    call get_command_argument(0, program_name)
    write(error_unit, '(4a)') 'usage: ', trim(program_name), ' ', arguments
  end subroutine

  ! Returns the number given as argument `n` of the program; -1 if it is not a number.
  integer function number_argument(n)
    integer, intent(in) :: n
    character(len=32) :: word
    integer :: status
    call get_command_argument(n, word)
    read(word, *, iostat=status) number_argument
    if (status /= 0) number_argument = -1
  end function
end module listing_data
