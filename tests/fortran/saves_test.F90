! Tests saves in the background: serial ones or, with COMMUNICATORS, those of all processes. Uses the module
! or, with F77, the entry points of FORTRAN 77.
program saves_test
#ifdef COMMUNICATORS
  use COMMUNICATORS
#ifndef F77
  use sion_f90_mpi
#endif
#else
#ifndef F77
  use sion_f90
#endif
#endif
  use checks
  implicit none
  integer, parameter :: i8 = selected_int_kind(18)
#ifdef F77
  include 'sion_f77.h'
#endif
  character(len=*), parameter :: name = 'fortran_saves.0007.sion'
  integer, parameter :: n = 1000
  integer :: rank, processes, ierr, numbers(n), i

  rank = 0
  processes = 1
#ifdef COMMUNICATORS
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, ierr)
#endif
  numbers = [(7*i + rank, i=1, n)]
  call save_and_wait
  call look_at_names
  call refuse_what_is_wrong
#ifdef COMMUNICATORS
  if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
#endif
  call finish
contains

  subroutine open(mode, sid)
    character(len=*), intent(in) :: mode
    integer, intent(out) :: sid
    integer :: nfiles, block
    integer(i8) :: chunks(1)
#ifdef COMMUNICATORS
    character(len=100) :: physical
#else
    integer :: ntasks, ranks(1)
#endif
    nfiles = 1
    chunks = 4*n
    block = 512
#ifdef COMMUNICATORS
    call fsion_paropen_mpi(name, mode, nfiles, MPI_COMM_WORLD, MPI_COMM_WORLD, chunks(1), block, rank, physical, sid)
#else
    ntasks = 1
    ranks = 0
    call fsion_open(name, mode, ntasks, nfiles, chunks, block, ranks, sid)
#endif
    call check(sid >= 0, 'opened '//mode)
  end subroutine

  subroutine close(sid)
    integer, intent(in) :: sid
#ifdef COMMUNICATORS
    call fsion_parclose_mpi(sid, ierr)
#else
    call fsion_close(sid, ierr)
#endif
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine wait(save, reached)
    integer(i8), intent(in) :: save
    integer, intent(out) :: reached
#ifdef COMMUNICATORS
    call fsheaf_save_wait_mpi(save, sheaf_save_durable, MPI_COMM_WORLD, reached)
#else
    reached = -5
    call fsheaf_save_wait(save, sheaf_save_durable, reached)
#endif
  end subroutine

  subroutine save_and_wait
    integer :: sid, state, reached, found(n)
    integer(i8) :: save, rc, bytes, written
    character(len=40) :: message
    call open('bw,async', sid)
    call fsion_write(numbers, 4_i8, int(n, i8), sid, rc)
    call check(rc == n, 'written')
    call fsheaf_parclose_async(sid, save)
    call check(save /= 0, 'a save')
    call fsheaf_save_test(save, state)
    call check(state >= sheaf_save_captured, 'captured')
    call fsheaf_save_wait(save, sheaf_save_local, reached)
    call check(reached == 1, 'local or durable')
    call wait(save, reached)
    call check(reached == 1, 'durable')
    call fsheaf_save_progress(save, bytes, written, state)
    call check(state == sheaf_save_durable .and. bytes >= 4*n .and. written == bytes, 'progress')
    message = 'something'
    call fsheaf_save_error(save, message)
    call check(message == '', 'no error')
    call fsheaf_save_free(save)
    call check(save == 0, 'released')
    call open('br', sid)
    call fsion_read(found, 4_i8, int(n, i8), sid, rc)
    call check(rc == n .and. all(found == numbers), 'read')
    call close(sid)
  end subroutine

  subroutine look_at_names
    character(len=60) :: found
    character(len=5) :: short
    integer(i8) :: length, save
    integer :: state
    call fsheaf_latest('fortran_saves.*.sion  ', found, length)
    call check(length == len(name) .and. found == name, 'the latest')
    call fsheaf_latest('fortran_none.*.sion', found, length)
    call check(length == 0 .and. found == '', 'none')
    call fsheaf_latest('fortran_saves.*.sion', short, length)
    call check(length == -1, 'too short a variable')
    call fsheaf_save_of(name//'  ', save)
    call fsheaf_save_test(save, state)
    call check(save /= 0 .and. state == sheaf_save_durable, 'the save of a name')
    call fsheaf_save_free(save)
  end subroutine

  subroutine refuse_what_is_wrong
    integer :: sid, state, reached
    integer(i8) :: save, rc
    call fsheaf_save_of('fortran_none.0001.sion', save)
    call check(save == 0, 'no save of a name')
    call fsheaf_save_test(save, state)
    call check(state == sheaf_save_failed, 'state of no save')
    call wait(save, reached)
    call check(reached == 0, 'a wait for no save')
    call open('bw', sid)
    call fsheaf_parclose_async(sid, save)
    call check(save == 0, 'no save of a synchronous multifile')
    call fsion_write(numbers, 4_i8, int(n, i8), sid, rc)
    call check(rc == n, 'it stays open')
    call close(sid)
  end subroutine
end program
