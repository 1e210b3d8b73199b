! The Fortran module: figure 4 of the paper, nonblocking transfers, sizes, an error.
program module_test
  use, intrinsic :: iso_c_binding
  use mpi
  use sfio_f90
  implicit none
  character(13), target :: text = 'Hello*World!*'
  character(13), asynchronous, target :: back
  character(:), allocatable :: name
  type(c_ptr) :: f, request
  type(sfio_stat_t) :: stat
  integer :: ierr, level, compute, me
  integer(c_int64_t) :: moved
  integer(c_long) :: errors(8)
  logical :: done
  double precision, target :: numbers(10, 2)
  double precision, pointer :: lent(:)
  type(c_ptr) :: memory

  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level, ierr)
  call sfio_start(MPI_COMM_WORLD, ' ', compute, ierr)
  call require(ierr == 0, 'start')
  if (compute /= MPI_COMM_NULL) then
    call require(sfio_comm() == compute, 'comm')
    call MPI_Comm_rank(compute, me, ierr)
    name = '#0,/a.dat;#0,/b.dat;'
    call mopen(name, 5, f, ierr)
    call require(ierr == 0, 'mopen')
    call mwritec(f, 13_8 * me, text, 13_8, moved)
    call require(moved == 13, 'mwritec')
    call sfio_ireadc(f, 13_8 * me, back, 13_8, request, ierr)
    done = .false.
    do while (.not. done)
      call sfio_test(request, done, ierr)
    end do
    call sfio_wait(request, moved)
    call require(moved == 13 .and. back == text, 'ireadc')
    call MPI_Barrier(compute, ierr)
    call mchsize(f, 7_8, ierr)
    call mstat(f, stat, ierr)
    call require(stat%size == 7 .and. stat%stripe_unit == 5 .and. stat%subfiles == 2, 'mstat')
    call MPI_Barrier(compute, ierr)
    numbers = me
    call mwrite(f, 1000_8 + 160 * me, numbers, 160_8, moved)
    numbers = -1
    call mread(f, 1000_8 + 160 * me, numbers, 160_8, moved)
    call require(all(numbers == me), 'mread')
    memory = sfio_malloc(160_c_size_t)
    call require(c_associated(memory), 'sfio_malloc')
    call c_f_pointer(memory, lent, [20])
    call mreadc(f, 1000_8 + 160 * me, lent, 160_8, moved)
    call require(moved == 160 .and. all(lent == me), 'mreadc to lent memory')
    call sfio_free(memory, ierr)
    call require(ierr == 0, 'sfio_free')
    numbers = 10 + me
    call mwritec_all(f, 1000_8 + 160 * me, numbers, 160_8, moved)
    call require(moved == 160, 'mwritec_all')
    numbers = -1
    call mreadc_all(f, 1000_8, numbers, 160_8, moved) ! data written by task 0
    call require(moved == 160 .and. all(numbers == 10), 'mreadc_all')
    call mclose(f, ierr)
    call require(ierr == 0 .and. .not. c_associated(f), 'mclose')
    call mdelete(name, ierr)
    call require(ierr == 0, 'mdelete')
    call merrora(errors, ierr)
    call require(all(errors == 0), 'merrora')
    call sfio_stop(ierr)
    if (me == 0) print '(a)', 'works'
  end if
  call MPI_Finalize(ierr)

contains

  subroutine require(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    print '(2a)', 'module_test: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine
end program
