C     The entry points of FORTRAN 77: untyped and typed, strings with
C     blanks, arrays passed whole. Prints what does not hold.
      program f77
      implicit none
      include 'sion_f77.h'
      integer*8 fsion_bytes_avail_in_block, fsion_get_position
      integer ntasks, nfiles, fsblk, sid, ierr, i, eof
      integer ranks(2), numbers(5)
      integer*8 chunks(2), rc, start
      real singles(2)
      double precision doubles(3)
      complex pairs(2)
      logical switch(2)
      character*8 word
      character*20 name

      name = 'fortran_77.sion'
      ntasks = 2
      nfiles = 1
      fsblk = 512
      chunks(1) = 1000
      chunks(2) = 2000
      ranks(1) = 0
      ranks(2) = 1
      do i = 1, 5
        numbers(i) = i*i
      end do
      singles(1) = 1.5
      singles(2) = -1.5
      doubles(1) = 2.5d0
      doubles(2) = 3.5d0
      doubles(3) = 4.5d0
      pairs(1) = (1.0, 2.0)
      pairs(2) = (3.0, 4.0)
      switch(1) = .true.
      switch(2) = .false.

      call fsion_open(name, 'bw  ', ntasks, nfiles, chunks, fsblk,
     &                ranks, sid)
      if (sid .lt. 0) stop 1
      start = fsion_get_position(sid)
      call fsion_write(numbers, 4_8, 5_8, sid, rc)
      if (rc .ne. 5) stop 2
      call fsion_write(singles, 4_8, 2_8, sid, rc)
      if (rc .ne. 2) stop 3
      call fsion_fwrite(doubles, 8_8, 3_8, sid, rc)
      if (rc .ne. 3) stop 4
      if (fsion_get_position(sid) .ne. start + 52) stop 5
      call fsion_seek(sid, 1, sion_current_blk, -103_8, ierr)
      if (ierr .ne. sion_success) stop 6
      call fsion_write_integer(numbers, 4_8, 5_8, sid, rc)
      call fsion_write_real(singles, 4_8, 2_8, sid, rc)
      call fsion_write_double(doubles, 8_8, 3_8, sid, rc)
      call fsion_write_complex(pairs, 8_8, 2_8, sid, rc)
      call fsion_write_logical(switch, 4_8, 2_8, sid, rc)
      call fsion_write_character('abcdefgh', 1_8, 8_8, sid, rc)
      if (rc .ne. 8) stop 7
      call fsion_close(sid, ierr)
      if (ierr .ne. sion_success) stop 8

      do i = 1, 5
        numbers(i) = 0
      end do
      doubles(3) = 0d0
      switch(1) = .false.
      call fsion_open(name, 'br', ntasks, nfiles, chunks, fsblk, ranks,
     &                sid)
      if (sid .lt. 0 .or. ntasks .ne. 2) stop 9
      if (fsion_bytes_avail_in_block(sid) .ne. 52) stop 10
      call fsion_read(numbers, 4_8, 5_8, sid, rc)
      call fsion_read(singles, 4_8, 2_8, sid, rc)
      call fsion_fread(doubles, 8_8, 3_8, sid, rc)
      if (numbers(5) .ne. 25 .or. doubles(3) .lt. 4.4d0) stop 11
      call fsion_feof(sid, eof)
      if (eof .ne. 1) stop 12
      call fsion_seek(sid, 1, 0, 60_8, ierr)
      call fsion_read_complex(pairs, 8_8, 1_8, sid, rc)
      call fsion_read_logical(switch, 4_8, 2_8, sid, rc)
      call fsion_fread_character(word, 1_8, 8_8, sid, rc)
      if (.not. switch(1) .or. word .ne. 'abcdefgh') stop 13
      call fsion_close(sid, ierr)
      call fsion_swap(numbers, numbers, 4, 5, 1, rc)
      if (numbers(1) .ne. 16777216) stop 14
      end
