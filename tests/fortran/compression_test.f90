! Tests compression by open-mode options. The file must be small, and the program must read back its data.
program compression_test
  use, intrinsic :: iso_c_binding
  use sion_f90
  use checks
  implicit none
  integer, parameter :: i8 = c_int64_t, elements = 20000
  character(len=64) :: name = 'fortran_compression.sion'

  call write_and_read('bw,compress=zstd')
  call write_and_read('bw,compress=zstd:3,shuffle=8,frame=4k')
  call write_and_read('bw,compress=lz4,frame=1k,compress_threads=0')
  call write_and_read('bw,compress=gzip:2,shuffle=8')
  call finish
contains

  subroutine write_and_read(mode)
    character(len=*), intent(in) :: mode
    integer :: ntasks, nfiles, fsblksize, sid, ierr, task, bytes
    integer(i8) :: sizes(2), rc
    integer :: ranks(2)
    double precision, allocatable :: values(:), found(:)
    allocate(values(elements), found(elements))
    ntasks = 2
    nfiles = 1
    sizes = 50000
    ranks = [0, 1]
    fsblksize = 512
    call fsion_open(name, mode, ntasks, nfiles, sizes, fsblksize, ranks, sid)
    call check(sid >= 0, 'opened to write: ' // mode)
    do task = 0, 1
      values = 0.5d0 * (task + 1)
      call fsion_seek(sid, task, sion_current_blk, sion_current_pos, ierr)
      call fsion_write(values, 8_i8, int(elements, i8), sid, rc)
      call check(rc == elements, 'written: ' // mode)
    end do
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'closed: ' // mode)
    inquire(file=name, size=bytes)
    call check(bytes > 0 .and. bytes < 150000, 'the file is small: ' // mode)
    call fsion_open(name, 'br', ntasks, nfiles, sizes, fsblksize, ranks, sid)
    call check(sid >= 0 .and. ntasks == 2, 'opened to read: ' // mode)
    do task = 0, 1
      call fsion_seek(sid, task, 0, 0_i8, ierr)
      call fsion_read(found, 8_i8, int(elements, i8), sid, rc)
      call check(rc == elements .and. all(abs(found - 0.5d0 * (task + 1)) <= 0), 'read: ' // mode)
    end do
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'closed after reading: ' // mode)
  end subroutine
end program
