! Tests mapped access, duplicates and a changed chunk size under a real MPI. Uses the module with the
! communicators of COMMUNICATORS or, with F77, the entry points of FORTRAN 77.
program mapped_test
  use COMMUNICATORS
#ifndef F77
  use sion_f90_mpi
#endif
  use checks
  implicit none
  integer, parameter :: i8 = selected_int_kind(18)
#ifdef F77
  include 'sion_f77.h'
  integer(i8), external :: fsion_bytes_avail_in_chunk, fsion_get_bytes_read
#endif
  character(len=*), parameter :: name = 'fortran_mapped.sion'
  integer :: rank, processes, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, ierr)
  call write_mapped
  call read_mapped
  call read_blockwise
  call refuse_what_is_wrong
  call another_chunk_size
  if (failures > 0) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  call MPI_Finalize(ierr)
contains

  integer function value_of(task)
    integer, intent(in) :: task
    value_of = 1000 + 7*task
  end function

  ! Every process has two tasks, r and r + processes, in two files.
  subroutine write_mapped
    integer :: files, tasks, ranks(2), filenrs(2), lranks(2), block, sid, i
    integer(i8) :: chunks(2), rc
    files = 2
    tasks = 2
    ranks = [rank, rank + processes]
    filenrs = [0, 1]
    lranks = processes - 1 - rank
    chunks = 100
    block = 512
    call fsion_paropen_mapped_mpi(name, 'bw', files, MPI_COMM_WORLD, tasks, ranks, chunks, filenrs, &
                                  lranks, block, sid)
    call check(sid >= 0, 'opened to write')
    do i = 1, 2
      call fsion_seek(sid, ranks(i), sion_current_blk, -103_i8, ierr)
      call fsion_write(value_of(ranks(i)), 4_i8, 1_i8, sid, rc)
      call check(ierr == sion_success .and. rc == 1, 'written')
    end do
    call fsion_parclose_mapped_mpi(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  ! Reads through the handle and two duplicates of one task. Each must have its own position.
  subroutine read_mapped
    integer :: files, tasks, ranks(2), filenrs(2), lranks(2), block, sid, i, found, copy(2), again(2)
    integer(i8) :: chunks(2), rc
    tasks = 2
    ranks = [mod(rank + 1, processes) + processes, rank]
    call fsion_paropen_mapped_mpi(name, 'br', files, MPI_COMM_WORLD, tasks, ranks, chunks, filenrs, &
                                  lranks, block, sid)
    call check(sid >= 0 .and. files == 2 .and. tasks == 2 .and. block == 512, 'opened to read')
    call check(all(filenrs == [1, 0]) .and. lranks(2) == processes - 1 - rank .and. all(chunks == 512), &
               'places of the tasks')
    call fsion_dup(sid, sion_dup_all, -1, 0_i8, copy(1))
    call fsion_dup(sid, sion_dup_rank, ranks(2), 0_i8, copy(2))
    call check(all(copy >= 0), 'duplicates')
    do i = 1, 2
      call fsion_seek(sid, ranks(i), 0, 0_i8, ierr)
      call check(fsion_bytes_avail_in_chunk(sid) == 4, 'bytes of a task')
      call fsion_read(found, 4_i8, 1_i8, sid, rc)
      call check(rc == 1 .and. found == value_of(ranks(i)), 'read')
      call fsion_read(again(i), 4_i8, 1_i8, copy(i), rc)
      call check(rc == 1 .and. again(i) == value_of(ranks(i)), 'read from a duplicate')
      call fsion_dedup(copy(i), ierr)
      call check(ierr == sion_success, 'released')
    end do
    call check(fsion_get_bytes_read(sid) == 4, 'bytes read')
    call fsion_dedup(sid, ierr)
    call check(ierr == 0, 'no duplicate')
    call fsion_parclose_mapped_mpi(sid, ierr)
    call check(ierr == sion_success, 'closed after reading')
  end subroutine

  subroutine read_blockwise
    integer :: files, tasks, ranks(2), filenrs(2), lranks(2), block, sid
    integer(i8) :: chunks(2)
    tasks = -1
    call fsion_paropen_mapped_mpi(name//'  ', 'br ', files, MPI_COMM_WORLD, tasks, ranks, chunks, filenrs, &
                                  lranks, block, sid)
    call check(sid >= 0 .and. tasks == 2 .and. all(ranks == [2*rank, 2*rank + 1]), 'tasks dealt out')
    call fsion_parclose_mapped_mpi(sid, ierr)
  end subroutine

  subroutine refuse_what_is_wrong
    integer :: files, tasks, none(0), block, sid
    integer(i8) :: nothing(0)
    files = 1
    tasks = 0
    block = -1
    call fsion_paropen_mapped_mpi('no_task.sion', 'bw', files, MPI_COMM_WORLD, tasks, none, nothing, none, &
                                  none, block, sid)
    call check(sid == -1, 'a file without tasks')
    call fsion_parclose_mapped_mpi(4711, ierr)
    call check(ierr == -1, 'an invalid handle')
    call fsion_parreinit_mpi(4711, 8_i8, ierr)
    call check(ierr == -1, 'a chunk size of an invalid handle')
  end subroutine

  subroutine another_chunk_size
    integer :: files, block, globalrank, sid, numbers(200)
    integer(i8) :: chunk, rc
    character(len=40) :: physical
    physical = ' '
    files = 1
    chunk = 10
    block = 512
    call fsion_paropen_mpi('fortran_reinit.sion', 'bw', files, MPI_COMM_WORLD, MPI_COMM_WORLD, chunk, &
                           block, globalrank, physical, sid)
    call fsion_parreinit_mpi(sid, 800_i8, ierr)
    call check(ierr == sion_success, 'another chunk size')
    numbers = rank
    call fsion_ensure_free_space(sid, 800_i8, ierr)
    call check(ierr == sion_success, 'all in one chunk')
    call fsion_write(numbers, 4_i8, 200_i8, sid, rc)
    call check(rc == 200, 'written in one chunk')
    call fsion_parclose_mpi(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine
end program mapped_test
