! Tests that the same two calls accept data of every intrinsic type, kind and rank, whole arrays and sections.
program types_test
  use, intrinsic :: iso_fortran_env
  use sion_f90
  use checks
  implicit none
  integer, parameter :: i8 = int64
  character(len=*), parameter :: name = 'fortran_types.sion'
  integer :: sid, ierr
  integer(i8) :: rc
  integer(int8) :: b(3) = [1_int8, -2_int8, 3_int8]
  integer(int16) :: s(3) = [1_int16, -200_int16, 300_int16]
  integer(int32) :: i(3) = [1, -70000, 3]
  integer(int64) :: l(3) = [1_i8, -2_i8**40, 3_i8]
  real(real32) :: r(3) = [1.5, -2.5, 3.5]
  real(real64) :: d(3) = [1.5d0, -2.5d0, 3.5d0]
  real(real128) :: q(3) = [1.5_real128, -2.5_real128, 3.5_real128]
  complex(real32) :: c(2) = [(1., -1.), (2., 3.)]
  complex(real64) :: z(2) = [(1d0, -1d0), (2d0, 3d0)]
  logical(int8) :: t1(2) = [.true._int8, .false._int8]
  logical(int64) :: t8(2) = [.true._int64, .false._int64]
  logical :: t(2) = [.true., .false.]
  character(len=5) :: words(2) = ['hello', 'world']
  integer :: matrix(3, 4), cube(2, 2, 2), seven(1, 2, 1, 2, 1, 2, 1), scalar = 42
  integer, allocatable :: grown(:)
  integer, pointer :: pointed(:, :)
  integer, target :: pointee(4, 4)

  call fill
  call open('wb')
  call put
  call fsion_close(sid, ierr)
  call clear
  call open('rb')
  call get
  call fsion_close(sid, ierr)
  deallocate(grown)
  call finish
contains

  subroutine open(mode)
    character(len=*), intent(in) :: mode
    integer :: ntasks, nfiles, fsblksize, rank
    integer(i8) :: chunk
    ntasks = 1
    nfiles = 1
    fsblksize = -1
    chunk = 10000
    rank = 0
    call fsion_open(name, mode, ntasks, nfiles, chunk, fsblksize, rank, sid)
    call check(sid >= 0, 'opened '//mode)
  end subroutine

  subroutine fill
    integer :: k
    matrix = reshape([(k, k=1, 12)], [3, 4])
    cube = reshape([(k, k=1, 8)], [2, 2, 2])
    seven = reshape([(k, k=1, 8)], shape(seven))
    grown = [7, 8, 9]
    pointee = reshape([(k, k=1, 16)], [4, 4])
    pointed => pointee(1:4:2, 2:4:2)
  end subroutine

  subroutine clear
    b = 0; s = 0; i = 0; l = 0; r = 0; d = 0; q = 0; c = 0; z = 0
    t1 = .false.; t8 = .false.; t = .false.
    words = ' '; matrix = 0; cube = 0; seven = 0; scalar = 0; grown = 0; pointee = 0
  end subroutine

  subroutine put
    call fsion_write(b, 1_i8, 3_i8, sid, rc); call check(rc == 3, 'integer(1)')
    call fsion_write(s, 2_i8, 3_i8, sid, rc); call check(rc == 3, 'integer(2)')
    call fsion_write(i, 4_i8, 3_i8, sid, rc); call check(rc == 3, 'integer(4)')
    call fsion_write(l, 8_i8, 3_i8, sid, rc); call check(rc == 3, 'integer(8)')
    call fsion_write(r, 4_i8, 3_i8, sid, rc); call check(rc == 3, 'real(4)')
    call fsion_write(d, 8_i8, 3_i8, sid, rc); call check(rc == 3, 'real(8)')
    call fsion_write(q, 16_i8, 3_i8, sid, rc); call check(rc == 3, 'real(16)')
    call fsion_write(c, 8_i8, 2_i8, sid, rc); call check(rc == 2, 'complex(4)')
    call fsion_write(z, 16_i8, 2_i8, sid, rc); call check(rc == 2, 'complex(8)')
    call fsion_write(t1, 1_i8, 2_i8, sid, rc); call check(rc == 2, 'logical(1)')
    call fsion_write(t8, 8_i8, 2_i8, sid, rc); call check(rc == 2, 'logical(8)')
    call fsion_write(t, 4_i8, 2_i8, sid, rc); call check(rc == 2, 'logical')
    call fsion_write(words, 5_i8, 2_i8, sid, rc); call check(rc == 2, 'character')
    call fsion_write(words(1)(2:4), 1_i8, 3_i8, sid, rc); call check(rc == 3, 'substring')
    call fsion_write(matrix, 4_i8, 12_i8, sid, rc); call check(rc == 12, 'rank 2')
    call fsion_write(cube, 4_i8, 8_i8, sid, rc); call check(rc == 8, 'rank 3')
    call fsion_write(seven, 4_i8, 8_i8, sid, rc); call check(rc == 8, 'rank 7')
    call fsion_write(scalar, 4_i8, 1_i8, sid, rc); call check(rc == 1, 'scalar')
    call fsion_write(2.5d0, 8_i8, 1_i8, sid, rc); call check(rc == 1, 'constant')
    call fsion_write(grown, 4_i8, 3_i8, sid, rc); call check(rc == 3, 'allocatable')
    call fsion_write(pointed, 4_i8, 4_i8, sid, rc); call check(rc == 4, 'pointer to a section')
    call fsion_write(matrix(2, :), 4_i8, 4_i8, sid, rc); call check(rc == 4, 'row')
    call fsion_write_integer(i(1), 4_i8, 3_i8, sid, rc); call check(rc == 3, 'name of a type')
    call fsion_fwrite_double_precision(d(1), 8_i8, 3_i8, sid, rc); call check(rc == 3, 'name of another type')
  end subroutine

  subroutine get
    double precision :: constant
    character(len=3) :: middle
    call fsion_read(b, 1_i8, 3_i8, sid, rc); call check(all(b == [1_int8, -2_int8, 3_int8]), 'integer(1) read')
    call fsion_read(s, 2_i8, 3_i8, sid, rc); call check(all(s == [1_int16, -200_int16, 300_int16]), 'integer(2) read')
    call fsion_read(i, 4_i8, 3_i8, sid, rc); call check(all(i == [1, -70000, 3]), 'integer(4) read')
    call fsion_read(l, 8_i8, 3_i8, sid, rc); call check(all(l == [1_i8, -2_i8**40, 3_i8]), 'integer(8) read')
    call fsion_read(r, 4_i8, 3_i8, sid, rc); call check(nint(2*sum(r)) == 5, 'real(4) read')
    call fsion_read(d, 8_i8, 3_i8, sid, rc); call check(nint(2*sum(d)) == 5, 'real(8) read')
    call fsion_read(q, 16_i8, 3_i8, sid, rc); call check(nint(2*sum(q)) == 5, 'real(16) read')
    call fsion_read(c, 8_i8, 2_i8, sid, rc); call check(nint(aimag(sum(c))) == 2, 'complex(4) read')
    call fsion_read(z, 16_i8, 2_i8, sid, rc); call check(nint(real(sum(z))) == 3, 'complex(8) read')
    call fsion_read(t1, 1_i8, 2_i8, sid, rc); call check(logical(t1(1) .and. .not. t1(2)), 'logical(1) read')
    call fsion_read(t8, 8_i8, 2_i8, sid, rc); call check(logical(t8(1) .and. .not. t8(2)), 'logical(8) read')
    call fsion_read(t, 4_i8, 2_i8, sid, rc); call check(t(1) .and. .not. t(2), 'logical read')
    call fsion_read(words, 5_i8, 2_i8, sid, rc); call check(all(words == ['hello', 'world']), 'character read')
    call fsion_read(middle, 1_i8, 3_i8, sid, rc); call check(middle == 'ell', 'substring read')
    call fsion_read(matrix, 4_i8, 12_i8, sid, rc); call check(matrix(3, 4) == 12, 'rank 2 read')
    call fsion_read(cube, 4_i8, 8_i8, sid, rc); call check(cube(2, 2, 2) == 8, 'rank 3 read')
    call fsion_read(seven, 4_i8, 8_i8, sid, rc); call check(seven(1, 2, 1, 2, 1, 2, 1) == 8, 'rank 7 read')
    call fsion_read(scalar, 4_i8, 1_i8, sid, rc); call check(scalar == 42, 'scalar read')
    call fsion_read(constant, 8_i8, 1_i8, sid, rc); call check(nint(2*constant) == 5, 'constant read')
    call fsion_read(grown, 4_i8, 3_i8, sid, rc); call check(all(grown == [7, 8, 9]), 'allocatable read')
    call fsion_read(pointed, 4_i8, 4_i8, sid, rc)
    call check(pointee(3, 4) == 15 .and. sum(pointee) == 5 + 7 + 13 + 15, 'read into a section')
    matrix = 0
    call fsion_read(matrix(2, :), 4_i8, 4_i8, sid, rc)
    call check(all(matrix(2, :) == [2, 5, 8, 11]) .and. sum(matrix) == 26, 'read into a row')
    call fsion_read_integer(i(1), 4_i8, 3_i8, sid, rc); call check(rc == 3, 'name of a type, read')
    call fsion_fread_double_precision(d(1), 8_i8, 3_i8, sid, rc); call check(rc == 3, 'name of another type, read')
    call fsion_read(i, 4_i8, 3_i8, sid, rc); call check(rc == 0, 'nothing after the end')
  end subroutine
end program types_test
