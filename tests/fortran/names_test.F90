! Calls the data routines by each of their names with data of the right type. Uses the module or, with F77,
! the entry points of FORTRAN 77, which have no interface. WITH_MPI adds the collective routines. All names of
! one routine must read and write the same bytes.
#define MOVE(NAME, DATA, BYTES) call NAME(DATA, BYTES, 3_i8, sid, rc); call moved('NAME')

program names_test
#ifdef WITH_MPI
  use mpi
#endif
#ifndef F77
#ifdef WITH_MPI
  use sion_f90_mpi
#else
  use sion_f90
#endif
#endif
  use checks
  use samples
  implicit none
#ifdef F77
  include 'sion_f77.h'
  logical, parameter :: integer8 = .false.
#else
  logical, parameter :: integer8 = .true.
#endif
  integer :: sid, ierr
  integer(i8) :: rc

#ifdef WITH_MPI
  call MPI_Init(ierr)
#endif
  call open('bw')
  call fill
#ifdef WITH_MPI
  call put_collectively
#else
  call put
  call put_as_in_c
#endif
  call close
  call open('br')
  call clear
#ifdef WITH_MPI
  call get_collectively
#else
  call get
  call check(filled(integer8), 'what fsion_read read')
  call clear
  call get_as_in_c
#endif
  call check(filled(integer8), 'what was read')
  call close
#ifdef WITH_MPI
  if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
#else
  call swap
#endif
  call finish
contains

  subroutine moved(name)
    character(len=*), intent(in) :: name
    call check(rc == 3, name)
  end subroutine

#ifdef WITH_MPI
  subroutine open(mode)
    character(len=*), intent(in) :: mode
    integer :: nfiles, fsblksize, rank
    integer(i8) :: chunk
    character(len=1) :: newname
    nfiles = 1
    fsblksize = -1
    chunk = 10000
    newname = ' '
    call fsion_paropen_mpi('fortran_names.sion  ', mode, nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, fsblksize, &
                           rank, newname, sid)
    call check(sid >= 0, 'opened '//mode)
  end subroutine

  subroutine close
    call fsion_parclose_mpi(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine put_collectively
    MOVE(fsion_coll_fwrite_mpi, s, 2_i8)
    MOVE(fsion_coll_fwrite_mpi_integer, i, 4_i8)
    MOVE(fsion_coll_fwrite_mpi_real, r, 4_i8)
    MOVE(fsion_coll_fwrite_mpi_complex, c, 8_i8)
    MOVE(fsion_coll_fwrite_mpi_logical, t, 4_i8)
    MOVE(fsion_coll_fwrite_mpi_character, w, 1_i8)
#ifdef F77
    MOVE(fsion_coll_fwrite_mpi_double, d, 8_i8)
#else
    MOVE(fsion_coll_fwrite_mpi_double_precision, d, 8_i8)
    MOVE(fsion_coll_fwrite_mpi_integer8, l, 8_i8)
#endif
  end subroutine

  subroutine get_collectively
    MOVE(fsion_coll_fread_mpi, s, 2_i8)
    MOVE(fsion_coll_fread_mpi_integer, i, 4_i8)
    MOVE(fsion_coll_fread_mpi_real, r, 4_i8)
    MOVE(fsion_coll_fread_mpi_complex, c, 8_i8)
    MOVE(fsion_coll_fread_mpi_logical, t, 4_i8)
    MOVE(fsion_coll_fread_mpi_character, w, 1_i8)
#ifdef F77
    MOVE(fsion_coll_fread_mpi_double, d, 8_i8)
#else
    MOVE(fsion_coll_fread_mpi_double_precision, d, 8_i8)
    MOVE(fsion_coll_fread_mpi_integer8, l, 8_i8)
#endif
  end subroutine
#else
  subroutine open(mode)
    character(len=*), intent(in) :: mode
    integer :: ntasks, nfiles, fsblksize, rank
    integer(i8) :: chunk
    ntasks = 1
    nfiles = 1
    fsblksize = -1
    chunk = 10000
    rank = 0
    call fsion_open('fortran_names.sion  ', mode, ntasks, nfiles, chunk, fsblksize, rank, sid)
    call check(sid >= 0, 'opened '//mode)
  end subroutine

  subroutine close
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine put
    MOVE(fsion_write, s, 2_i8)
    MOVE(fsion_write_integer, i, 4_i8)
    MOVE(fsion_write_real, r, 4_i8)
    MOVE(fsion_write_complex, c, 8_i8)
    MOVE(fsion_write_logical, t, 4_i8)
    MOVE(fsion_write_character, w, 1_i8)
#ifdef F77
    MOVE(fsion_write_double, d, 8_i8)
#else
    MOVE(fsion_write_double_precision, d, 8_i8)
    MOVE(fsion_write_integer8, l, 8_i8)
#endif
  end subroutine

  subroutine put_as_in_c
    MOVE(fsion_fwrite, s, 2_i8)
    MOVE(fsion_fwrite_integer, i, 4_i8)
    MOVE(fsion_fwrite_real, r, 4_i8)
    MOVE(fsion_fwrite_complex, c, 8_i8)
    MOVE(fsion_fwrite_logical, t, 4_i8)
    MOVE(fsion_fwrite_character, w, 1_i8)
#ifdef F77
    MOVE(fsion_fwrite_double, d, 8_i8)
#else
    MOVE(fsion_fwrite_double_precision, d, 8_i8)
    MOVE(fsion_fwrite_integer8, l, 8_i8)
#endif
  end subroutine

  subroutine get
    MOVE(fsion_read, s, 2_i8)
    MOVE(fsion_read_integer, i, 4_i8)
    MOVE(fsion_read_real, r, 4_i8)
    MOVE(fsion_read_complex, c, 8_i8)
    MOVE(fsion_read_logical, t, 4_i8)
    MOVE(fsion_read_character, w, 1_i8)
#ifdef F77
    MOVE(fsion_read_double, d, 8_i8)
#else
    MOVE(fsion_read_double_precision, d, 8_i8)
    MOVE(fsion_read_integer8, l, 8_i8)
#endif
  end subroutine

  subroutine get_as_in_c
    MOVE(fsion_fread, s, 2_i8)
    MOVE(fsion_fread_integer, i, 4_i8)
    MOVE(fsion_fread_real, r, 4_i8)
    MOVE(fsion_fread_complex, c, 8_i8)
    MOVE(fsion_fread_logical, t, 4_i8)
    MOVE(fsion_fread_character, w, 1_i8)
#ifdef F77
    MOVE(fsion_fread_double, d, 8_i8)
#else
    MOVE(fsion_fread_double_precision, d, 8_i8)
    MOVE(fsion_fread_integer8, l, 8_i8)
#endif
  end subroutine

  ! Two swaps must restore the data. FORTRAN 77 has only the untyped name, and never sets the last argument.
  subroutine swap
    integer :: again
    call fill
    do again = 1, 2
      call fsion_swap(s, s, 2, 3, 1, ierr)
      if (again == 1) call check(.not. filled(integer8), 'swapped')
#ifndef F77
      call fsion_swap_integer(i, i, 4, 3, 1, ierr)
      call fsion_swap_integer8(l, l, 8, 3, 1, ierr)
      call fsion_swap_real(r, r, 4, 3, 1, ierr)
      call fsion_swap_double_precision(d, d, 8, 3, 1, ierr)
      call fsion_swap_complex(c, c, 8, 3, 1, ierr)
      call fsion_swap_logical(t, t, 4, 3, 1, ierr)
      call fsion_swap_character(w, w, 3, 1, 1, ierr)
      if (again == 1) call check(w == 'cba', 'characters swapped')
#endif
    end do
    call check(filled(integer8), 'swapped back')
  end subroutine
#endif
end program names_test
