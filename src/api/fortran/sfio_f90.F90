!> Striped files over I/O listeners (sfio.h, docs/api-sfio.md) for Fortran. Handles are type(c_ptr). Offsets
!> and sizes are 64-bit, in bytes; data may have any contiguous type. Every routine sets ierr to 0, or to -1
!> on error and prints a message. Communicators are the integers of mpif.h and of the module mpi (comm%mpi_val
!> of mpi_f08).
module sfio_f90
  use, intrinsic :: iso_c_binding, only: c_ptr, c_null_ptr, c_null_char, c_char, c_int, c_int32_t, c_int64_t, c_long, c_size_t, &
    c_associated, c_loc
  implicit none
  private
  public :: sfio_start, sfio_stop, sfio_comm, mopen, mclose, mchsize, mdelete, mcreate
  public :: mwrite, mread, mwritec, mreadc, mwritec_all, mreadc_all, sfio_iwritec, sfio_ireadc, sfio_test, &
    sfio_wait
  public :: mstat, merror, merrora, prioerrora, sfio_stat_t, sfio_malloc, sfio_free

  !> The type sfio_stat_t of sfio.h.
  type, bind(c) :: sfio_stat_t
    integer(c_int64_t) :: size, stripe_unit, allocated
    integer(c_int32_t) :: subfiles, listeners
  end type

  interface
    integer(c_int) function c_start(all, how, compute) bind(c, name='sheaf_private_sfio_start')
      import :: c_int, c_char
      integer(c_int), value :: all
      character(kind=c_char), intent(in) :: how(*)
      integer(c_int), intent(out) :: compute
    end function
    integer(c_int) function c_comm() bind(c, name='sheaf_private_sfio_comm')
      import :: c_int
    end function
    integer(c_int) function c_stop() bind(c, name='sfio_stop')
      import :: c_int
    end function
    type(c_ptr) function c_open(name, unit) bind(c, name='sfio_mopen')
      import :: c_ptr, c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: unit
    end function
    integer(c_int) function c_close(f) bind(c, name='sfio_mclose')
      import :: c_int, c_ptr
      type(c_ptr), value :: f
    end function
    integer(c_int) function c_chsize(f, size) bind(c, name='sfio_mchsize')
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: f
      integer(c_int64_t), value :: size
    end function
    integer(c_int) function c_delete(name) bind(c, name='sfio_mdelete')
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_create(name) bind(c, name='sfio_mcreate')
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*)
    end function
    integer(c_int) function c_stat(f, stat) bind(c, name='sfio_mstat')
      import :: c_int, c_ptr, sfio_stat_t
      type(c_ptr), value :: f
      type(sfio_stat_t), intent(out) :: stat
    end function
    integer(c_int) function c_error(ioerr) bind(c, name='sfio_merror')
      import :: c_int, c_long
      integer(c_long), intent(out) :: ioerr(8)
    end function
    integer(c_int) function c_errora(ioerr) bind(c, name='sfio_merrora')
      import :: c_int, c_long
      integer(c_long), intent(out) :: ioerr(8)
    end function
    integer(c_int) function c_prioerrora() bind(c, name='sfio_prioerrora')
      import :: c_int
    end function
    integer(c_int64_t) function c_write(f, offset, buffer, size) bind(c, name='sfio_mwrite')
      import :: c_ptr, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
    end function
    integer(c_int64_t) function c_read(f, offset, buffer, size) bind(c, name='sfio_mread')
      import :: c_ptr, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
    end function
    integer(c_int64_t) function c_writec(f, offset, buffer, size) bind(c, name='sfio_mwritec')
      import :: c_ptr, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
    end function
    integer(c_int64_t) function c_readc(f, offset, buffer, size) bind(c, name='sfio_mreadc')
      import :: c_ptr, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
    end function
    integer(c_int64_t) function c_writec_all(f, offset, buffer, size) bind(c, name='sfio_mwritec_all')
      import :: c_ptr, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
    end function
    integer(c_int64_t) function c_readc_all(f, offset, buffer, size) bind(c, name='sfio_mreadc_all')
      import :: c_ptr, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
    end function
    integer(c_int) function c_iwritec(f, offset, buffer, size, request) bind(c, name='sfio_iwritec')
      import :: c_ptr, c_int, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
      type(c_ptr), intent(out) :: request
    end function
    integer(c_int) function c_ireadc(f, offset, buffer, size, request) bind(c, name='sfio_ireadc')
      import :: c_ptr, c_int, c_int64_t, c_size_t
      type(c_ptr), value :: f, buffer
      integer(c_int64_t), value :: offset
      integer(c_size_t), value :: size
      type(c_ptr), intent(out) :: request
    end function
    integer(c_int) function c_test(request, done) bind(c, name='sfio_test')
      import :: c_ptr, c_int
      type(c_ptr), value :: request
      integer(c_int), intent(out) :: done
    end function
    !> Allocates memory that listeners on the same host access directly. The program associates a pointer with
    !> it by c_f_pointer. Returns c_null_ptr if memory is exhausted.
    type(c_ptr) function sfio_malloc(bytes) bind(c, name='sfio_malloc')
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function c_free(memory) bind(c, name='sfio_free')
      import :: c_int, c_ptr
      type(c_ptr), value :: memory
    end function
    integer(c_int64_t) function c_wait(request) bind(c, name='sfio_wait')
      import :: c_ptr, c_int64_t
      type(c_ptr), intent(inout) :: request
    end function
  end interface

contains

  !> Starts a session. Collective over `all`. Sets compute to the communicator of the compute tasks. On a
  !> listener, returns when the session has ended, with compute = MPI_COMM_NULL.
  subroutine sfio_start(all, how, compute, ierr)
    integer, intent(in) :: all
    character(*), intent(in) :: how
    integer, intent(out) :: compute, ierr
    ierr = c_start(all, trim(how)//c_null_char, compute)
  end subroutine

  subroutine sfio_stop(ierr)
    integer, intent(out) :: ierr
    ierr = c_stop()
  end subroutine

  integer function sfio_comm()
    sfio_comm = c_comm()
  end function

  !> Opens a striped file. Collective over the compute tasks. stripe_unit is in bytes; 0 selects that of the
  !> file.
  subroutine mopen(name, stripe_unit, f, ierr)
    character(*), intent(in) :: name
    integer, intent(in) :: stripe_unit
    type(c_ptr), intent(out) :: f
    integer, intent(out) :: ierr
    f = c_open(trim(name)//c_null_char, stripe_unit)
    ierr = merge(0, -1, c_associated(f))
  end subroutine

  subroutine mclose(f, ierr)
    type(c_ptr), intent(inout) :: f
    integer, intent(out) :: ierr
    ierr = c_close(f)
    f = c_null_ptr
  end subroutine

  subroutine mchsize(f, size, ierr)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: size
    integer, intent(out) :: ierr
    ierr = c_chsize(f, size)
  end subroutine

  subroutine mdelete(name, ierr)
    character(*), intent(in) :: name
    integer, intent(out) :: ierr
    ierr = c_delete(trim(name)//c_null_char)
  end subroutine

  subroutine mcreate(name, ierr)
    character(*), intent(in) :: name
    integer, intent(out) :: ierr
    ierr = c_create(trim(name)//c_null_char)
  end subroutine

  !> Writes `size` bytes of `data`. Sets moved to the number of bytes written, or to -1.
  subroutine mwrite(f, offset, data, size, moved)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), intent(in), contiguous, target :: data(..)
    integer(c_int64_t), intent(out) :: moved
    moved = c_write(f, offset, c_loc(data), int(size, c_size_t))
  end subroutine

  subroutine mread(f, offset, data, size, moved)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), contiguous, target :: data(..)
    integer(c_int64_t), intent(out) :: moved
    moved = c_read(f, offset, c_loc(data), int(size, c_size_t))
  end subroutine

  subroutine mwritec(f, offset, data, size, moved)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), intent(in), contiguous, target :: data(..)
    integer(c_int64_t), intent(out) :: moved
    moved = c_writec(f, offset, c_loc(data), int(size, c_size_t))
  end subroutine

  subroutine mreadc(f, offset, data, size, moved)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), contiguous, target :: data(..)
    integer(c_int64_t), intent(out) :: moved
    moved = c_readc(f, offset, c_loc(data), int(size, c_size_t))
  end subroutine

  !> Writes as mwritec does, collectively over the compute tasks. If the call fails on one task, sets moved to
  !> -1 on all tasks.
  subroutine mwritec_all(f, offset, data, size, moved)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), intent(in), contiguous, target :: data(..)
    integer(c_int64_t), intent(out) :: moved
    moved = c_writec_all(f, offset, c_loc(data), int(size, c_size_t))
  end subroutine

  subroutine mreadc_all(f, offset, data, size, moved)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), contiguous, target :: data(..)
    integer(c_int64_t), intent(out) :: moved
    moved = c_readc_all(f, offset, c_loc(data), int(size, c_size_t))
  end subroutine

  !> Starts a write. The library uses `data` until sfio_wait, so the program must declare it asynchronous.
  subroutine sfio_iwritec(f, offset, data, size, request, ierr)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), intent(in), contiguous, target, asynchronous :: data(..)
    type(c_ptr), intent(out) :: request
    integer, intent(out) :: ierr
    ierr = c_iwritec(f, offset, c_loc(data), int(size, c_size_t), request)
  end subroutine

  subroutine sfio_ireadc(f, offset, data, size, request, ierr)
    type(c_ptr), intent(in) :: f
    integer(c_int64_t), intent(in) :: offset, size
    type(*), contiguous, target, asynchronous :: data(..)
    type(c_ptr), intent(out) :: request
    integer, intent(out) :: ierr
    ierr = c_ireadc(f, offset, c_loc(data), int(size, c_size_t), request)
  end subroutine

  subroutine sfio_test(request, done, ierr)
    type(c_ptr), intent(in) :: request
    logical, intent(out) :: done
    integer, intent(out) :: ierr
    integer(c_int) :: flag
    flag = 0
    ierr = c_test(request, flag)
    done = flag /= 0
  end subroutine

  subroutine sfio_free(memory, ierr)
    type(c_ptr), intent(in) :: memory
    integer, intent(out) :: ierr
    ierr = c_free(memory)
  end subroutine

  subroutine sfio_wait(request, moved)
    type(c_ptr), intent(inout) :: request
    integer(c_int64_t), intent(out) :: moved
    moved = c_wait(request)
  end subroutine

  subroutine mstat(f, stat, ierr)
    type(c_ptr), intent(in) :: f
    type(sfio_stat_t), intent(out) :: stat
    integer, intent(out) :: ierr
    ierr = c_stat(f, stat)
  end subroutine

  !> Stores, in this order, the numbers of failed open, close, creat, unlink, ftruncate, lseek, write and read
  !> calls on all listeners since the last query. The numbers include rejected calls (sfio.h).
  subroutine merror(ioerr, ierr)
    integer(c_long), intent(out) :: ioerr(8)
    integer, intent(out) :: ierr
    ierr = c_error(ioerr)
  end subroutine

  subroutine merrora(ioerr, ierr)
    integer(c_long), intent(out) :: ioerr(8)
    integer, intent(out) :: ierr
    ierr = c_errora(ioerr)
  end subroutine

  subroutine prioerrora(ierr)
    integer, intent(out) :: ierr
    ierr = c_prioerrora()
  end subroutine
end module
