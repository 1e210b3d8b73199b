! Tests the serial calls of the module with files that C programs write and with its own files.
program serial_test
  use, intrinsic :: iso_c_binding
  use sion_f90
  use checks
  use peer
  implicit none
  character(len=64) :: name = 'fortran_serial.sion'

  call check(written_by_c(name), 'C writes')
  call read_with_fortran
  call write_with_fortran
  call check(read_by_c(name, 2), 'C reads what Fortran wrote')
  call write_two_files
  call read_one_rank
  call refuse_what_is_wrong
  call byte_order
  call look_at_locations
  call finish
contains

  subroutine read_with_fortran
    integer :: ntasks, nfiles, fsblksize, sid, ierr, task
    integer(i8) :: unused_sizes(1)
    integer :: unused_ranks(1)
    character(len=10) :: mode = 'rb'
    unused_sizes = -5
    unused_ranks = -6
    call fsion_open(name, mode, ntasks, nfiles, unused_sizes(1), fsblksize, unused_ranks(1), sid)
    call check(sid >= 0 .and. ntasks == 2 .and. nfiles == 1 .and. fsblksize == 512, 'opened to read')
    call check(unused_sizes(1) == -5 .and. unused_ranks(1) == -6, 'the arrays are left alone')
    do task = 0, 1
      call fsion_seek(sid, task, 0, 0_i8, ierr)
      call check(ierr == sion_success, 'seek to a task')
      call check_content(sid, task)
    end do
    call fsion_seek(sid, sion_current_rank, sion_absolute_pos, 40_i8, ierr)
    call check(ierr == sion_success, 'absolute position')
    call check(fsion_bytes_avail_in_block(sid) == 80 + len(text), 'bytes left behind an absolute position')
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine write_with_fortran
    integer :: ntasks, nfiles, fsblksize, sid, ierr, task
    integer(i8) :: sizes(2), before
    integer :: ranks(2)
    ntasks = 2
    nfiles = 1
    sizes = 1000
    ranks = [17, 18]
    fsblksize = 512
    call fsion_open(name, 'bw,posix', ntasks, nfiles, sizes, fsblksize, ranks, sid)
    call check(sid >= 0, 'opened to write')
    do task = 0, 1
      call fsion_seek(sid, task, sion_current_blk, sion_current_pos, ierr)
      call check(ierr == sion_success, 'task selected')
      before = fsion_get_position(sid)
      call fsion_ensure_free_space(sid, 500_i8, ierr)
      call check(ierr == sion_success, 'space')
      call write_content(sid, task)
      call check(fsion_get_position(sid) == before + 120 + len(text), 'position moved')
    end do
    call fsion_flush(sid, ierr)
    call check(ierr == sion_success, 'flushed')
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine write_two_files
    integer :: fsblksize, sid, ierr, task, mapping_size, nfiles
    integer(i8) :: sizes(2)
    integer :: ranks(2)
    sizes = 1000
    ranks = [17, 18]
    fsblksize = 512
    call fsion_open('fortran_set.sion', 'bw,posix', 2, 2, sizes(1), fsblksize, ranks(1), sid)
    call check(sid >= 0, 'two files opened to write')
    do task = 1, 0, -1
      call fsion_seek(sid, task, sion_current_blk, sion_current_pos, ierr)
      call write_content(sid, task)
    end do
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'two files closed')
    call check(read_by_c('fortran_set.sion', 2), 'C reads two files that Fortran wrote')
    call fsion_open('fortran_set.sion', 'rb', 2, 1, sizes(1), fsblksize, ranks(1), sid)
    call fsion_get_mapping_spec(sid, mapping_size, nfiles, ierr)
    call check(nfiles == 2 .and. mapping_size == 2, 'the mapping of two files')
    call fsion_close(sid, ierr)
  end subroutine

  subroutine read_one_rank
    integer :: fsblksize, rank, sid, ierr
    integer(i8) :: chunksize
    rank = 1
    call fsion_open_rank(trim(name), 'rb', chunksize, fsblksize, rank, sid)
    call check(sid >= 0 .and. chunksize >= 1000 .and. fsblksize == 512, 'one rank opened')
    call check_content(sid, 1)
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine refuse_what_is_wrong
    integer :: ntasks, nfiles, fsblksize, sid, ierr, number, rank
    integer(i8) :: sizes(2), rc, data(2)
    integer :: ranks(2)
    rank = 2
    call fsion_open_rank(name, 'rb', sizes(1), fsblksize, rank, sid)
    call check(sid == -1, 'a rank that is not there')
    call fsion_open('/nonexistent/directory/file', 'rb', ntasks, nfiles, sizes(1), fsblksize, ranks(1), sid)
    call check(sid == -1, 'a file that is not there')
    call fsion_close(4711, ierr)
    call check(ierr == 0, 'close of an invalid handle')
    call fsion_write(data, 8_i8, 2_i8, 4711, rc)
    call check(rc == 0, 'write to an invalid handle')
    call fsion_read(data, 8_i8, 2_i8, 4711, rc)
    call check(rc == 0, 'read from an invalid handle')
    call fsion_write(data, -8_i8, 2_i8, 4711, rc)
    call check(rc == 0, 'a negative size')
    call fsion_feof(4711, number)
    call check(number == -1, 'end of an invalid handle')
    call check(fsion_get_position(4711) == -1, 'position of an invalid handle')
    call fsion_get_fileno(4711, number)
    call check(number == -1, 'descriptor of an invalid handle')
    ierr = 0
    call fsion_get_chunksizes(4711, sizes, ierr)
    call check(ierr == -1, 'chunk sizes of an invalid handle')
    ierr = 0
    call fsion_get_mapping_spec(4711, number, nfiles, ierr)
    call check(ierr == -1, 'mapping of an invalid handle')
  end subroutine

  subroutine byte_order
    integer :: order, rc
    integer(2) :: pair(2) = [int(z'0102', 2), int(z'0304', 2)], swapped(2)
    call fsion_get_endianness(order)
    call check(order == 0 .or. order == 1, 'byte order of the machine')
    call fsion_swap(swapped(1), pair(1), 2, 2, 1, rc)
    call check(swapped(1) == int(z'0201', 2) .and. swapped(2) == int(z'0403', 2), 'swapped')
    call fsion_swap(swapped, pair, 2, 2, 0, rc)
    call check(all(swapped == pair), 'copied')
  end subroutine

  subroutine look_at_locations
    integer :: ntasks, nfiles, fsblksize, sid, ierr, maxblocks, mapping_size, mapping(2), needed, fd, ours, theirs
    integer(i8) :: sizes(2), skip, start, at_sizes, at_ranks, at_counts, at_blocks, at_positions
    integer :: ranks(2)
    integer(c_int64_t), pointer :: global_ranks(:)
    call fsion_open(name, 'rb', ntasks, nfiles, sizes(1), fsblksize, ranks(1), sid)
    ierr = 0
    call fsion_get_chunksizes(sid, sizes, ierr)
    call check(ierr == 0 .and. all(sizes >= 1000), 'chunk sizes')
    call fsion_get_globalranks(sid, ranks(1), ierr)
    call check(ierr == 0 .and. all(ranks == [17, 18]), 'global ranks')
    call fsion_get_mapping_spec(sid, mapping_size, nfiles, ierr)
    call check(ierr == 0 .and. mapping_size == -1 .and. nfiles == 1, 'one file has no mapping')
    call fsion_get_mapping(sid, mapping, ierr)
    call check(ierr == -1, 'mapping of one file is refused')
    call fsion_get_locations(sid, ntasks, maxblocks, skip, start, at_sizes, at_ranks, at_counts, at_blocks, ierr)
    call check(ierr == sion_success .and. ntasks == 2 .and. maxblocks == 1, 'locations')
    call c_f_pointer(transfer(at_ranks, c_null_ptr), global_ranks, [ntasks])
    call check(all(global_ranks == [17, 18]), 'the address of the global ranks')
    call fsion_get_current_locations(sid, ntasks, at_positions, at_blocks, ierr)
    call check(ierr == sion_success .and. at_positions /= 0, 'current locations')
    call fsion_endianness_swap_needed(sid, needed)
    call check(needed == 0, 'byte order of the file is ours')
    call fsion_get_endianess(ours)
    call fsion_get_file_endianness(sid, theirs)
    call check(ours == theirs, 'byte orders')
    theirs = -1
    call fsion_get_file_endianess(sid, theirs)
    call check(ours == theirs, 'byte orders, spelled otherwise')
    call fsion_get_fileno(sid, fd)
    call check(fd > 2, 'descriptor')
    call fsion_close(sid, ierr)
  end subroutine
end program serial_test
