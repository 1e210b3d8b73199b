! Tests calls that SIONlib has in C only: key-value records, numbers and tables of an open multifile. Uses the
! module or, with F77, the entry points of FORTRAN 77.
program more_test
#ifndef F77
  use sion_f90
#endif
  use checks
  implicit none
  integer, parameter :: i8 = selected_int_kind(18)
#ifdef F77
  include 'sion_f77.h'
  integer(i8), external :: fsion_bytes_avail_in_chunk, fsion_get_bytes_written, fsion_get_bytes_read
#endif
  integer(i8), parameter :: large_key = -2 ! 2**64 - 2 in C
  character(len=*), parameter :: name = 'fortran_more.sion'
  integer :: sid, ierr, numbers(100), i

  numbers = [(7*i, i=1, 100)]
  call write_records
  call read_records
  call write_blocks
  call read_blocks
  call look_at_tables
  call refuse_what_is_wrong
  call finish
contains

  subroutine open(mode)
    character(len=*), intent(in) :: mode
    integer :: ntasks, nfiles, fsblksize, ranks(2)
    integer(i8) :: chunks(2)
    ntasks = 2
    nfiles = 1
    fsblksize = 512
    chunks = 512
    ranks = [17, 18]
    call fsion_open(name, mode, ntasks, nfiles, chunks, fsblksize, ranks, sid)
    call check(sid >= 0 .and. ntasks == 2, 'opened '//mode)
  end subroutine

  subroutine close
    call fsion_close(sid, ierr)
    call check(ierr == sion_success, 'closed')
  end subroutine

  subroutine write_records
    integer :: mode
    integer(i8) :: rc
    double precision :: halves(2) = [0.5d0, 1.5d0]
    call open('bw,keyval')
    call fsion_get_keyval_mode(sid, mode)
    call check(mode == sion_keyval_inline, 'records')
    call fsion_fwrite_key(numbers, 7_i8, 4_i8, 3_i8, sid, rc)
    call check(rc == 3, 'a record')
    call fsion_fwrite_key(halves, large_key, 8_i8, 2_i8, sid, rc)
    call check(rc == 2, 'a record of a large key')
    call fsion_fwrite_key(numbers(4), 7_i8, 4_i8, 1_i8, sid, rc)
    call check(rc == 1, 'a second record of a key')
    call fsion_fwrite_key(numbers, 9_i8, 4_i8, 0_i8, sid, rc)
    call check(rc == 0, 'an empty record')
    call fsion_fwrite_key(numbers, 9_i8, 4_i8, -1_i8, sid, rc)
    call check(rc == 0, 'a negative count')
    call close
  end subroutine

  subroutine next_record(expected, bytes)
    integer(i8), intent(in) :: expected, bytes
    integer(i8) :: key, length
    call fsion_fread_key_iterator_next(sid, key, length, ierr)
    call check(ierr == sion_success .and. key == expected .and. length == bytes, 'the next record')
  end subroutine

  subroutine next_key(expected)
    integer(i8), intent(in) :: expected
    integer(i8) :: key
    call fsion_key_list_iterator_next(sid, key, ierr)
    call check(ierr == sion_success .and. key == expected, 'the next key')
  end subroutine

  subroutine read_records
    integer(i8) :: rc, key, length, records, bytes
    integer :: found(3)
    double precision :: halves(2)
    call open('br')
    call fsion_fread_key_iterator_reset(sid, ierr)
    call check(ierr == sion_success, 'records from the first on')
    call next_record(7_i8, 12_i8)
    call fsion_fread_key(found, 7_i8, 4_i8, 3_i8, sid, rc)
    call check(rc == 3 .and. all(found == numbers(:3)), 'what the first record holds')
    call next_record(large_key, 16_i8)
    call fsion_fread_key(halves, large_key, 8_i8, 2_i8, sid, rc)
    call check(rc == 2 .and. nint(2*sum(halves)) == 4, 'what the record of a large key holds')
    call next_record(7_i8, 4_i8)
    call next_record(9_i8, 0_i8)
    key = 4711
    length = 4712
    call fsion_fread_key_iterator_next(sid, key, length, ierr)
    call check(ierr == 0 .and. key == 4711 .and. length == 4712, 'no further record')
    call fsion_key_full_scan(sid, ierr)
    call check(ierr == sion_success, 'all heads read')
    call fsion_key_list_iterator_reset(sid, ierr)
    call check(ierr == sion_success, 'keys from the first on')
    call next_key(7_i8)
    call next_key(large_key)
    call next_key(9_i8)
    call fsion_key_list_iterator_next(sid, key, ierr)
    call check(ierr == 0 .and. key == 0, 'no further key')
    call fsion_key_get_stat(sid, 7_i8, records, bytes, ierr)
    call check(ierr == sion_success .and. records == 2 .and. bytes == 16, 'records and bytes of a key')
    call fsion_key_get_stat(sid, 8_i8, records, bytes, ierr)
    call check(ierr == 0 .and. records == 0 .and. bytes == 0, 'a key that is not there')
    call fsion_seek_key(sid, 7_i8, 0, 4_i8, ierr)
    call check(ierr == sion_success, 'a place in a record')
    call fsion_fread_key(found, 7_i8, 4_i8, 3_i8, sid, rc)
    call check(rc == 2 .and. all(found(:2) == numbers(2:3)), 'the rest of a record')
    call fsion_seek_key(sid, 7_i8, sion_absolute_pos, 12_i8, ierr)
    call fsion_fread_key(found, 7_i8, 4_i8, 3_i8, sid, rc)
    call check(ierr == sion_success .and. rc == 1 .and. found(1) == numbers(4), &
               'a place in the joined records')
    call fsion_seek_key(sid, 7_i8, 0, 12_i8, ierr)
    call check(ierr == 0, 'a place behind a record')
    call close
  end subroutine

  ! Three blocks of 400 bytes of the second task.
  subroutine write_blocks
    integer :: block, files
    integer(i8) :: rc
    call open('bw')
    call fsion_get_number_of_files(sid, files)
    call check(files == 1, 'one file')
    call fsion_seek(sid, 1, sion_current_blk, -103_i8, ierr)
    do block = 1, 3
      call fsion_write(numbers, 4_i8, 100_i8, sid, rc)
    end do
    call check(fsion_get_bytes_written(sid) == 1200, 'bytes written')
    call check(fsion_get_bytes_read(sid) == -1, 'bytes read of a writer')
    call close
  end subroutine

  subroutine read_blocks
    integer :: files, found(100)
    integer(i8) :: rc
    call open('br')
    call fsion_get_number_of_files(sid, files)
    call check(files == 1, 'one file to read')
    call fsion_seek(sid, 1, 0, 0_i8, ierr)
    call check(fsion_bytes_avail_in_chunk(sid) == 400, 'bytes in the chunk')
    call fsion_read(found, 4_i8, 60_i8, sid, rc)
    call check(fsion_bytes_avail_in_chunk(sid) == 160, 'bytes left')
    call check(fsion_get_bytes_read(sid) == 240, 'bytes read')
    call check(fsion_get_bytes_written(sid) == -1, 'bytes written of a reader')
    call close
  end subroutine

  subroutine look_at_tables
    integer :: ntasks, maxblocks
    integer(i8) :: skip, last, at(4), sizes(2), ranks(2), counts(2), blocks(2, 3)
#ifndef F77
    integer(i8), allocatable :: all_sizes(:), all_ranks(:), all_counts(:), all_blocks(:, :), positions(:), &
      numbers_of(:)
#endif
    call open('br')
    call fsion_get_locations(sid, ntasks, maxblocks, skip, last, at(1), at(2), at(3), at(4), ierr)
    call check(ierr == sion_success .and. ntasks == 2 .and. maxblocks == 3 .and. all(at /= 0), &
               'numbers and addresses')
    call fsion_get_location_arrays(sid, sizes, ranks, counts, blocks, ierr)
    call check(ierr == sion_success .and. all(sizes == 512) .and. all(ranks == [17, 18]), 'sizes and ranks')
    call check(counts(2) == 3 .and. all(blocks(2, :) == 400) .and. blocks(1, 1) == 0, 'blocks')
#ifndef F77
    allocate(all_sizes(77))
    call fsion_get_locations(sid, ntasks, maxblocks, skip, last, all_sizes, all_ranks, all_counts, &
                             all_blocks, ierr)
    call check(ierr == sion_success .and. ntasks == 2 .and. maxblocks == 3, 'numbers beside arrays')
    call check(size(all_sizes) == 2 .and. all(all_sizes == sizes) .and. all(all_ranks == ranks), &
               'arrays of tasks')
    call check(all(all_counts == counts) .and. all(shape(all_blocks) == [2, 3]) &
               .and. all(all_blocks == blocks), 'array of blocks')
    call fsion_seek(sid, 1, 2, 100_i8, ierr)
    call fsion_get_current_locations(sid, ntasks, positions, numbers_of, ierr)
    call check(ierr == sion_success .and. size(positions) == 2 .and. all(numbers_of == [0, 2]), &
               'where the tasks stand')
    call check(positions(2) == fsion_get_position(sid), 'at which offset')
#endif
    call close
    call open('bw')
#ifndef F77
    call fsion_get_locations(sid, ntasks, maxblocks, skip, last, all_sizes, all_ranks, all_counts, &
                             all_blocks, ierr)
    call check(ierr == sion_success .and. maxblocks == -1 .and. all(shape(all_blocks) == [2, 0]), &
               'no blocks of a writer')
#endif
    call fsion_get_location_arrays(sid, sizes, ranks, counts, blocks, ierr)
    call check(ierr == sion_success .and. all(ranks == [17, 18]), 'ranks of a writer')
    call close
  end subroutine

  subroutine refuse_what_is_wrong
    integer :: number
    integer(i8) :: rc, length, blocks(2)
    call check(fsion_bytes_avail_in_chunk(4711) == -1, 'chunk of an invalid handle')
    call check(fsion_get_bytes_written(4711) == -1, 'bytes written of an invalid handle')
    call check(fsion_get_bytes_read(4711) == -1, 'bytes read of an invalid handle')
    call fsion_get_number_of_files(4711, number)
    call check(number == -1, 'files of an invalid handle')
    call fsion_get_keyval_mode(4711, number)
    call check(number == sion_keyval_unknown, 'mode of an invalid handle')
    call fsion_fwrite_key(numbers, 1_i8, 4_i8, 1_i8, 4711, rc)
    call check(rc == 0, 'a record to an invalid handle')
    call fsion_fread_key(numbers, 1_i8, 4_i8, 1_i8, 4711, rc)
    call check(rc == 0, 'a record from an invalid handle')
    call fsion_fread_key_iterator_reset(4711, ierr)
    call check(ierr == 0, 'records of an invalid handle')
    call fsion_key_get_stat(4711, 1_i8, rc, length, ierr)
    call check(ierr == 0, 'a key of an invalid handle')
    call fsion_get_location_arrays(4711, blocks, blocks, blocks, blocks, ierr)
    call check(ierr == 0, 'tables of an invalid handle')
    call fsion_dup(4711, sion_dup_all, 0, 0_i8, number)
    call check(number == -1, 'a duplicate of an invalid handle')
    call fsion_dedup(4711, ierr)
    call check(ierr == -1, 'an invalid duplicate')
    call open('br')
    call fsion_fwrite_key(numbers, 1_i8, 4_i8, 1_i8, sid, rc)
    call check(rc == -1, 'a record to a file without records')
    call fsion_dup(sid, sion_dup_all, 0, 0_i8, number)
    call check(number == -1, 'a duplicate of a serial handle')
    call close
  end subroutine
end program more_test
