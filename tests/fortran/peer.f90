! Declares the C side of the exchange tests (peer.c), and writes and checks the same content in Fortran.
module peer
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use sion_f90
  use checks
  implicit none
  character(len=*), parameter :: text = 'Sheaf in Fortran'
  integer, parameter :: i8 = selected_int_kind(18)
  interface
    function peer_write_c(name) bind(C, name='peer_write') result(good)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int) :: good
    end function
    function peer_check_c(name, tasks) bind(C, name='peer_check') result(good)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: tasks
      integer(c_int) :: good
    end function
  end interface
contains
  logical function written_by_c(name)
    character(len=*), intent(in) :: name
    written_by_c = peer_write_c(trim(name)//c_null_char) == 1
  end function

  logical function read_by_c(name, tasks)
    character(len=*), intent(in) :: name
    integer, intent(in) :: tasks
    read_by_c = peer_check_c(trim(name)//c_null_char, tasks) == 1
  end function

  subroutine content(task, integers, doubles)
    integer, intent(in) :: task
    integer, intent(out) :: integers(10)
    double precision, intent(out) :: doubles(10)
    integer :: i
    integers = [(100*task + i, i=1, 10)]
    doubles = integers/2d0
  end subroutine

  subroutine write_content(sid, task)
    integer, intent(in) :: sid, task
    integer :: integers(10)
    double precision :: doubles(10)
    integer(i8) :: rc
    call content(task, integers, doubles)
    call fsion_write(integers, 4_i8, 10_i8, sid, rc)
    call check(rc == 10, 'integers written')
    call fsion_fwrite(doubles(1), 8_i8, 10_i8, sid, rc)
    call check(rc == 10, 'doubles written from the first element')
    call fsion_write(text, 1_i8, len(text, kind=i8), sid, rc)
    call check(rc == len(text), 'text written')
  end subroutine

  subroutine check_content(sid, task)
    integer, intent(in) :: sid, task
    integer :: integers(10), expected(10), eof
    double precision :: doubles(10), halves(10)
    character(len=len(text)) :: found
    integer(i8) :: rc
    call content(task, expected, halves)
    call check(fsion_bytes_avail_in_block(sid) == 40 + 80 + len(text), 'bytes in the block')
    call fsion_feof(sid, eof)
    call check(eof == 0, 'not at the end before reading')
    call fsion_read(integers(1), 4_i8, 10_i8, sid, rc)
    call check(rc == 10 .and. all(integers == expected), 'integers read into the first element')
    call fsion_fread(doubles, 8_i8, 10_i8, sid, rc)
    call check(rc == 10 .and. all(abs(doubles - halves) <= 0), 'doubles read')
    call fsion_read(found, 1_i8, len(text, kind=i8), sid, rc)
    call check(rc == len(text) .and. found == text, 'text read')
    call fsion_feof(sid, eof)
    call check(eof == 1, 'at the end after reading')
  end subroutine
end module peer
