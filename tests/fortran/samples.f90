! Sample data of each type for which the data routines have a name.
module samples
  use, intrinsic :: iso_fortran_env, only: int16, int64
  implicit none
  integer, parameter :: i8 = int64
  integer(int16) :: s(3)
  integer :: i(3)
  integer(int64) :: l(3)
  real :: r(3)
  double precision :: d(3)
  complex :: c(3)
  logical :: t(3)
  character(len=3) :: w
contains
  subroutine fill
    s = [1_int16, 2_int16, -3_int16]
    i = [1, -70000, 3]
    l = [1_int64, -2_int64**40, 3_int64]
    r = [1.5, -2.5, 3.5]
    d = [1.5d0, -2.5d0, 1d200]
    c = [(1., -1.), (2., 3.), (4., 5.)]
    t = [.true., .false., .true.]
    w = 'abc'
  end subroutine

  subroutine clear
    s = 0; i = 0; l = 0; r = 0; d = 0; c = 0; t = .false.; w = ' '
  end subroutine

  ! FORTRAN 77 has no name for integers of 8 bytes.
  logical function filled(with_integer8)
    logical, intent(in) :: with_integer8
    filled = all(s == [1_int16, 2_int16, -3_int16]) .and. all(i == [1, -70000, 3]) .and. nint(2*sum(r)) == 5 &
      .and. d(3) > 0.5d200 .and. nint(aimag(sum(c))) == 7 .and. all(t .eqv. [.true., .false., .true.]) .and. w == 'abc'
    if (with_integer8) filled = filled .and. all(l == [1_int64, -2_int64**40, 3_int64])
  end function
end module samples
